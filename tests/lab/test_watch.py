"""``watch`` on the lab's own stall and beside it: what it names, on which worker, and what it leaves behind."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from fixtures.engine import BuiltImages, PlaceCpus
from tests.lab.test_turns import started
from tuneproof.explain.parse.event_loop import LoopRecording
from tuneproof.explain.parse.event_loop_summary import WorkerLoop, summarise
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.load.stall_load import StallLoad, run_trial
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.scenario.arms import Subject
from tuneproof.watch.diagnosis import diagnosis, table
from tuneproof.watch.tracer import check_host
from tuneproof.watch.watching import Watching
from tuneproof.watch.workers import find

pytestmark = [pytest.mark.engine, pytest.mark.timing]


def watched(wanted: str, lasts_s: float) -> tuple[tuple[WorkerLoop, ...], tuple[str, ...]]:
    watching = Watching(find=partial(find, wanted), lasts_s=lasts_s)
    seconds = [second for made in watching.run() for second in made]
    return summarise(LoopRecording(began="", seconds=tuple(seconds))), watching.told()


def test_the_stalled_worker_is_named(
    place_cpus: PlaceCpus, lab_session: Session, images: BuiltImages, nginx: str
) -> None:
    check_host()
    own = Subject(name="subject", config=SubjectConfig(upstream="backend:8000", reuseport=True), records_turns=True)
    with started(place_cpus(()), lab_session, images, nginx, own) as (_, stage):
        for bulk in ((4, 0), (0, 0)):
            plan = StallLoad(bulk_per_worker=bulk, settle_s=1, measure_s=12, counts_turns=True)
            with ThreadPoolExecutor(1) as pool:
                load = pool.submit(
                    run_trial,
                    stage.programs.loadgen,
                    plan,
                    address=stage.address,
                    port=stage.port,
                    label="watch",
                    observer=stage.observer,
                )
                loops, told = watched(stage.subject.id, 5)
                record = load.result()
            print(*table(loops), *diagnosis(loops), *told, sep="\n")
            print(record.turns)
