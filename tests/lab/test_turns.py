"""The recorder of turns against nginx's own debug log: the same calls and the same bytes, to the last one."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import docker
import pytest

from fixtures.engine.labels import Session
from fixtures.errors import LabError
from fixtures.load.stage import Stage
from fixtures.load.trial import TrialPlan, run_trial
from fixtures.load.turns import WorkerTurns
from fixtures.pytest_plugin.engine import BuiltImages
from fixtures.scenario import bench as bench_module
from fixtures.scenario.arms import Arm, Subject
from fixtures.scenario.bench import Bench
from fixtures.scenario.placement import CpuPlacement
from fixtures.scenario.preconditions import PreconditionError
from fixtures.scenario.scenarios import Scenario
from fixtures.subject.config import ERROR_LOG_PATH, SubjectConfig
from fixtures.topology.lab import Lab

pytestmark = pytest.mark.engine

# Long enough for a load of a second on a busy machine.
WINDOW_S = 6.0
PLAN = TrialPlan(fast_rate_hz=10, settle_s=0.1, measure_s=0.5)
# What a debug log says of each call (ngx_epoll_module.c, ngx_recv.c, ngx_event_pipe.c, ngx_writev_chain.c,
# ngx_linux_sendfile_chain.c, ngx_send.c, ngx_files.c), with the bytes that it moved, if any.
WAIT = re.compile(r"epoll timer: ")
READ = re.compile(r"(?:recv: fd:\d+ (-?\d+) of \d+)|(?:pipe recv chain: (-?\d+))")
WRITE = re.compile(r"(?:writev: (-?\d+) of )|(?:sendfile: (-?\d+) of )|(?:send: fd:\d+ (-?\d+) of )")
PROCESS = re.compile(r"^\S+ \S+ \[debug\] (\d+)#", re.ASCII)


@contextmanager
def started(
    engine: docker.DockerClient, session: Session, images: BuiltImages, nginx: str, subject: Subject
) -> Iterator[tuple[Bench, Stage]]:
    """The lab of one subject, and its stage."""
    stages: list[Stage] = []
    arm = Arm(name="recorded", subject=subject, plan=PLAN)
    scenario = Scenario(name="turns", arms=(arm,), claims=(), check=stages.append)
    with Lab(session) as lab:
        bench = Bench(
            lab,
            scenario=scenario,
            arms=scenario.arms,
            nginx=nginx,
            images=images.of_bench(nginx),
            placement=CpuPlacement.on(engine.info()["NCPU"]),
        )
        bench.prepare()
        yield bench, stages[0]


def subject(*, records_turns: bool, error_log_level: str = "") -> Subject:
    """An nginx before the usual backend."""
    config = SubjectConfig(upstream="backend:8000", error_log_level=error_log_level)
    return Subject(name="subject", config=config, records_turns=records_turns)


def recorded_load(stage: Stage) -> tuple[tuple[WorkerTurns, ...], list[str]]:
    """Run a load from an idle moment to an idle moment; return the turns in it, and the debug log's new lines."""
    at_s = stage.observer.counters().at_s
    seen_bytes = len(stage.subject.fetch(ERROR_LOG_PATH))
    with ThreadPoolExecutor(max_workers=1) as pool:
        window = pool.submit(stage.observer.turns, at_s, at_s + WINDOW_S)
        run_trial(stage.programs.loadgen, PLAN, address=stage.address, port=stage.port, label="turns")
        # The client closes its connections before it answers: all that follows is a few turns away.
        assert not window.done(), "the load took longer than the window"
        turns = window.result()
    log = stage.subject.fetch(ERROR_LOG_PATH)[seen_bytes:].decode("utf-8", errors="replace")
    return turns.workers, log.splitlines()


def moved(lines: Sequence[str], call: re.Pattern[str]) -> list[int]:
    """Return what each call moved; one that failed moved nothing."""
    matches = [match for line in lines if (match := call.search(line))]
    return [max(0, int(next(each for each in match.groups() if each is not None))) for match in matches]


def test_the_recorder_counts_what_the_debug_log_tells(
    engine: docker.DockerClient, lab_session: Session, images: BuiltImages, nginx: str
) -> None:
    """Turns, bytes read and bytes written of every worker, exactly; and a trial's observation has its turns."""
    with started(engine, lab_session, images, nginx, subject(records_turns=True, error_log_level="debug")) as lab:
        bench, stage = lab
        workers, lines = recorded_load(stage)
        by_process = {worker.pid: [line for line in lines if _process(line) == worker.pid] for worker in workers}
        assert len(workers) == 2
        for worker in workers:
            told = by_process[worker.pid]
            assert worker.turns == sum(WAIT.search(line) is not None for line in told)
            assert worker.read_bytes == sum(moved(told, READ))
            assert worker.write_bytes == sum(moved(told, WRITE))
            assert worker.write_calls == len(moved(told, WRITE))
        assert sum(worker.read_bytes for worker in workers) > 1 << 20, "small files came through"
        arm = Arm(name="recorded", subject=bench.subjects["subject"], plan=TrialPlan(measure_s=0.3, counts_turns=True))
        observation = arm.plan.observe(bench.run(arm, label="trial"))
        for lag in observation.workers:
            assert lag.turns is not None
            # Each probe wakes its worker; a stall may let two of them wait for the same turn's end.
            assert lag.turns.turns >= lag.probes


def test_without_the_recorder_there_is_no_record(
    engine: docker.DockerClient, lab_session: Session, images: BuiltImages, nginx: str
) -> None:
    """And who asks for it is told which worker has none."""
    with started(engine, lab_session, images, nginx, subject(records_turns=False)) as (_, stage):
        assert stage.subject.run(["sh", "-c", "ls /dev/shm"]) == b""
        with pytest.raises(LabError, match=r"process \d+ keeps no record of its turns"):
            stage.observer.turns(0.0, 0.0)


def test_a_recorder_that_cannot_be_loaded_is_a_precondition_that_fails(
    engine: docker.DockerClient,
    lab_session: Session,
    images: BuiltImages,
    nginx: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The subject runs, unrecorded; the loader's reason is told."""
    monkeypatch.setattr(bench_module, "TURNS_LIBRARY_PATH", "/nowhere/turns.so")
    lab = started(engine, lab_session, images, nginx, subject(records_turns=True))
    with pytest.raises(PreconditionError, match=r"no record of turns.*ld\.so: object '/nowhere/turns\.so'"), lab:
        pytest.fail("the lab started")


def _process(line: str) -> int | None:
    match = PROCESS.match(line)
    return int(match[1]) if match else None
