"""Starts a lab in which a recorder may record nginx's loop iterations."""

from collections.abc import Iterator
from contextlib import contextmanager

from fixtures.engine import BuiltImages
from tests.lab.benches import bench_of
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.bench import Bench
from tuneproof.proof.scenario.placement import CpuPlacement
from tuneproof.proof.scenario.scenarios import Scenario

PLAN = StallLoad(fast_rate_hz=10, settle_s=0.1, measure_s=0.5)


@contextmanager
def started(
    placement: CpuPlacement, session: Session, images: BuiltImages, nginx: str, subject: Subject
) -> Iterator[tuple[Bench, Stage]]:
    arm = Arm(name="recorded", subject=subject, plan=PLAN)
    scenario = Scenario(name="turns", arms=(arm,), claims=())
    with bench_of(session, scenario, nginx=nginx, images=images.of_bench(nginx), placement=placement) as (_, bench):
        bench.prepare()
        yield bench, bench.stage(subject.name)


def subject(*, records_turns: bool, error_log_level: str = "") -> Subject:
    """An nginx in front of the usual backend."""
    config = SubjectConfig(upstream="backend:8000", error_log_level=error_log_level)
    return Subject(name="subject", config=config, records_turns=records_turns)
