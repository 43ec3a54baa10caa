"""The recorder counts the same iterations and bytes as nginx's own debug log, and about the same as the tracer."""

import re
import shlex
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from fixtures.engine import BuiltImages, PlaceCpus
from images.netadmin.netadmin import recorder
from tests.lab.turn_stages import PLAN, started, subject
from tuneproof.errors import LabError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.load.stall_load import StallLoad, run_trial
from tuneproof.lab.subject.config import ERROR_LOG_PATH, RECORDER_PATH, SubjectConfig
from tuneproof.lab.subject.versions import MAINLINE
from tuneproof.proof.scenario.arms import Arm

pytestmark = pytest.mark.engine

IDLE_WITHIN_S = 20.0
TRACED_PORT = 8001
# The lines of a debug log for each call (ngx_epoll_module.c, ngx_recv.c, ngx_readv_chain.c, ngx_event_pipe.c). A line
# for a call that would block has -1 bytes; readv's caller logs its bytes.
WAIT = re.compile(r"epoll timer: ")
READ = re.compile(r"(?:recv: fd:\d+ (-?\d+) of \d+)|(?:pipe recv chain: (-?\d+))")
PROCESS = re.compile(r"^\S+ \S+ \[debug\] (\d+)#", re.ASCII)


@pytest.fixture(scope="module")
def unrecorded(place_cpus: PlaceCpus, lab_session: Session, images: BuiltImages, nginx: str) -> Iterator[Stage]:
    """The stage of a lab in which nginx runs without the recorder."""
    with started(place_cpus(()), lab_session, images, nginx, subject(records_turns=False)) as (_, stage):
        yield stage


@pytest.fixture
def traced(unrecorded: Stage) -> Iterator[list[int]]:
    """The workers of a second nginx in the lab of ``unrecorded``, which both the recorder and the tracer record."""
    run, pid_file = unrecorded.subject.run, "/var/lib/subject/traced.pid"
    text = SubjectConfig(upstream="backend:8000", port=TRACED_PORT).render()
    text = text.replace("/var/lib/subject/nginx.pid", pid_file)
    start = "mkdir /dev/shm/traced && cat >/dev/shm/traced.conf && TUNEPROOF_TRACER_FOLDER=/dev/shm/traced "
    start += f"LD_PRELOAD={RECORDER_PATH} /usr/lib/tuneproof/tracer nginx -c /dev/shm/traced.conf >/dev/null 2>&1"
    run(["sh", "-c", f"printf %s {shlex.quote(text)} | {{ {start}; }}"])
    master = run(["cat", pid_file]).decode().strip()
    yield [int(pid) for pid in run(["cat", f"/proc/{master}/task/{master}/children"]).split()]
    ended = f"for _ in $(seq 500); do [ -e {pid_file} ] || break; sleep 0.02; done"
    run(["sh", "-c", f"kill {master}; {ended}; rm -r /dev/shm/*"])


def records_in(stage: Stage, pids: Sequence[int], folder: str = recorder.FOLDER) -> dict[int, recorder.Record]:
    return {pid: recorder.parse(stage.subject.run(["cat", f"/{folder}/tuneproof.{pid}"])) for pid in pids}


def idle(stage: Stage) -> tuple[dict[int, recorder.Record], bytes]:
    """Return each worker's record by process id, and the debug log, from a moment when all workers wait."""
    pids = [worker.pid for worker in stage.workers()]

    def records() -> dict[int, recorder.Record]:
        return records_in(stage, pids)

    deadline_s = time.monotonic() + IDLE_WITHIN_S
    while time.monotonic() < deadline_s:
        before = records()
        log = stage.subject.fetch(ERROR_LOG_PATH)
        if before == records() and all(record.begun == record.counters["turns"] for record in before.values()):
            return before, log
    raise AssertionError(f"the workers were busy for {IDLE_WITHIN_S:g} s")


def recorded_load(stage: Stage) -> tuple[dict[int, recorder.Record], list[str]]:
    """Run a load from one idle moment to the next; return the growth of each record, and the log's new lines."""
    before, log_before = idle(stage)
    run_trial(stage.client, PLAN, address=stage.address, port=stage.port, label="turns")
    after, log_after = idle(stage)
    log = log_after[len(log_before) :].decode("utf-8", errors="replace")
    return {pid: record.since(before[pid]) for pid, record in after.items()}, log.splitlines()


def counted(lines: Sequence[str], call: re.Pattern[str]) -> int:
    return sum(call.search(line) is not None for line in lines)


def moved(lines: Sequence[str], call: re.Pattern[str]) -> list[int]:
    matches = [match for line in lines if (match := call.search(line))]
    return [max(0, int(next(each for each in match.groups() if each is not None))) for match in matches]


def test_the_recorder_agrees_with_the_debug_log(
    place_cpus: PlaceCpus, lab_session: Session, images: BuiltImages, nginx: str
) -> None:
    """Each worker's iterations and bytes read agree exactly, and a trial's observation contains its iterations."""
    with started(
        place_cpus(()), lab_session, images, nginx, subject(records_turns=True, error_log_level="debug")
    ) as lab:
        bench, stage = lab
        workers, lines = recorded_load(stage)
        assert len(workers) == 2
        for pid, record in workers.items():
            own_lines = [line for line in lines if _process(line) == pid]
            assert record.counters["turns"] == counted(own_lines, WAIT)
            assert record.counters["read_bytes"] == sum(moved(own_lines, READ))
        assert sum(record.counters["read_bytes"] for record in workers.values()) > 1 << 20, "too few bytes were read"
        arm = Arm(name="recorded", subject=bench.subjects["subject"], plan=StallLoad(measure_s=0.3, counts_turns=True))
        observation = arm.plan.observe(bench.run(arm, label="trial"))
        for lag in observation.workers:
            assert lag.turns is not None
            # The exact number of iterations is not known: on a busy machine, the window's start and end are late.
            assert lag.turns.pid == lag.worker_pid
            assert lag.turns.turns > 0


@pytest.mark.skipif(f"'{MAINLINE}' in config.getoption('nginx')", reason="the recorder cannot be loaded into mainline")
def test_the_tracers_and_the_recorders_counts_differ_by_at_most_2_percent(traced: list[int], unrecorded: Stage) -> None:
    """Both record the same nginx, from inside and from outside, under bulk downloads and small requests."""

    def both() -> tuple[dict[int, recorder.Record], dict[int, recorder.Record]]:
        """Return both records from a moment when all workers wait."""
        deadline_s = time.monotonic() + IDLE_WITHIN_S
        while time.monotonic() < deadline_s:
            seen = records_in(unrecorded, traced), records_in(unrecorded, traced, "dev/shm/traced")
            if seen == (records_in(unrecorded, traced), records_in(unrecorded, traced, "dev/shm/traced")):
                return seen
        raise AssertionError(f"the workers were busy for {IDLE_WITHIN_S:g} s")

    before = both()
    plan = replace(PLAN, bulk_per_worker=(2, 2))
    run_trial(unrecorded.client, plan, address=unrecorded.address, port=TRACED_PORT, label="turns")
    inside, outside = (
        {pid: now[pid].since(then[pid]) for pid in traced} for then, now in zip(before, both(), strict=True)
    )
    for pid in traced:
        untimed = [name for name in recorder.COUNTERS if not name.endswith("_ns")]
        counts = {name: inside[pid].counters[name] for name in untimed}
        assert {name: outside[pid].counters[name] for name in untimed} == pytest.approx(counts, rel=0.02)
        calls = {name: call.made for name, call in inside[pid].calls.items()}
        assert {name: call.made for name, call in outside[pid].calls.items()} == pytest.approx(calls, rel=0.02)
        seconds = [record[pid].counters["cpu_ns"] / 1e9 for record in (inside, outside)]
        print(f"\nworker {pid}: {counts}; CPU seconds, inside and outside: {seconds}")  # noqa: T201 - a result
    assert sum(inside[pid].counters["read_bytes"] for pid in traced) > 1 << 20, "too few bytes were read"


def test_without_the_recorder_there_is_no_record(unrecorded: Stage) -> None:
    assert unrecorded.subject.run(["sh", "-c", "ls /dev/shm"]) == b""
    with pytest.raises(LabError, match=r"process \d+ keeps no record"):
        unrecorded.observer.turns(0.0, 0.0)


@pytest.mark.slow
def test_the_loop_probe_shows_which_worker_was_stopped(unrecorded: Stage) -> None:
    plan = StallLoad(settle_s=0.0, measure_s=1.5)
    stopped_pid = plan.observe(plan.run(unrecorded, label="first")).workers[0].worker_pid
    stop = f"kill -STOP {stopped_pid}; sleep 0.08; kill -CONT {stopped_pid}; sleep 0.04; "
    with ThreadPoolExecutor(max_workers=1) as pool:
        stops = pool.submit(unrecorded.subject.run, ["sh", "-c", stop * 8])
        probes = plan.run(unrecorded, label="second").record.probe
        stops.result()
    stopped, other = (sum(lag_ms >= 50 for lag_ms in probe.lag_ms) for probe in probes)
    assert stopped >= 6
    assert other <= stopped / 2


def _process(line: str) -> int | None:
    match = PROCESS.match(line)
    return int(match[1]) if match else None
