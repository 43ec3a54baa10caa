"""``watch`` reports the stalls that these tests cause, with their workers, and no others; it leaves nothing behind.

tests/lab/watch_series.py repeats these tests for the figures of docs/watch.md.
"""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from fixtures.engine import BuiltImages, PlaceCpus
from tests.lab import slow_files
from tests.lab.children import wait_until
from tests.lab.turn_stages import started
from tests.lab.watched_nginx import (
    CONFIG,
    FILES,
    FINE,
    LATE_IN_S,
    MANY,
    STALL,
    asking,
    bytes_agree,
    inside,
    killed,
    loaded,
    many_workers,
    no_stall_is_found_among_many,
    nothing_is_found,
    only_the_stalled_of_many_is_named,
    pids,
    watched,
    wrk,
)
from tuneproof.errors import CannotRunHereError
from tuneproof.explain.parse.event_loop_summary import Reason
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.load.stage import Stage
from tuneproof.proof.scenario.arms import Subject
from tuneproof.watch.levels import Levels
from tuneproof.watch.program import READS
from tuneproof.watch.tracer import Tracer, check_host
from tuneproof.watch.workers import doing

pytestmark = [pytest.mark.engine, pytest.mark.timing]


@pytest.fixture(scope="module")
def stage(place_cpus: PlaceCpus, lab_session: Session, images: BuiltImages, nginx: str) -> Iterator[Stage]:
    """The stage of a lab in which nginx has two workers and the recorder."""
    try:
        check_host()
        attaches()
    except CannotRunHereError as error:
        pytest.skip(str(error))
    own = Subject(name="subject", config=CONFIG, records_turns=True)
    with started(place_cpus(()), lab_session, images, nginx, own) as (_, stage):
        yield stage


SMALLEST: Final = """\
BEGIN { printf("attached"); }
tracepoint:syscalls:sys_exit_epoll_wait { @[tid] = count(); }
tracepoint:raw_syscalls:sys_enter { @[tid] = count(); }
tracepoint:sched:sched_switch { @[tid] = count(); }
"""


def attaches() -> None:
    """Check that this host allows a small program on these tracepoints; then watch's programs must load, too."""
    tracer = Tracer(SMALLEST)
    try:
        wait_until(lambda: "attached" in (tracer.line(0.1) or ""), within_s=30)
    finally:
        tracer.close()


def test_the_loaded_worker_reads_over_100_times_as_much_per_iteration(stage: Stage) -> None:
    """Other programs on the machine change the length of iterations, but not their bytes."""

    def load() -> None:
        with loaded(stage, replace(STALL, measure_s=1.5)):
            pass

    seen = watched(stage, None, load, levels=FINE())
    by_pid = {loop.worker: loop for loop in seen.loops}
    loop, other = (by_pid[pid] for pid in pids(stage)[:2])
    assert (loop.read_per_iteration_bytes or 0) > 100 * (other.read_per_iteration_bytes or 0), seen.text
    read: Counter[str] = Counter()
    for call in loop.calls:
        if call.name in READS:
            kind, _, peer = call.on.partition(" ")
            assert kind != "upstream" or peer.endswith(":8000"), call
            read[kind] += call.moved_bytes
    assert read["upstream"] > 100 * read["client"], read


def test_no_stall_is_reported_for_a_healthy_nginx(stage: Stage) -> None:
    """Full load is not a stall; the report may contain only a lack of CPU."""
    nothing_is_found(stage, lasts_s=3)


@pytest.mark.slow
def test_bytes_per_iteration_equal_the_recorders(stage: Stage) -> None:
    """The counts agree within 2 %. Without a limit on its own cost, watch does not sample."""
    bytes_agree(stage)


@pytest.mark.slow
@pytest.mark.parametrize("stopped_ms", [10, 100, 1000])
def test_a_stopped_worker_is_reported_as_not_running(stage: Stage, stopped_ms: int) -> None:
    pid = pids(stage)[1]

    times_s: list[float] = []

    def stop() -> None:
        times_s.append(time.monotonic())
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: doing(pid).state == "T", within_s=10)
        times_s.append(time.monotonic())
        time.sleep(stopped_ms / 1000)
        times_s.append(time.monotonic())
        os.kill(pid, signal.SIGCONT)
        times_s.append(time.monotonic())

    seen = watched(stage, 3, stop)
    assert Reason.STOPPED in seen.found[pid], seen.text
    assert seen.found[pid] <= {Reason.STOPPED, Reason.STARVED}
    (loop,) = (loop for loop in seen.loops if loop.worker == pid)
    stopped_s = sum(each.stopped_s for each in loop.long)
    # After SIGCONT the worker waits for a CPU, which counts as part of its stop.
    waited_s = loop.ready_s * (loop.cpu_wait_share or 0.0)
    assert times_s[2] - times_s[1] <= stopped_s <= times_s[3] - times_s[0] + waited_s


@pytest.mark.slow
def test_a_throttled_worker_is_starved_of_cpu(stage: Stage) -> None:
    """The container has a tenth of a CPU; the resulting delays are not stalls."""
    own = pids(stage)[:2]
    client = connect()
    container = client.containers.get(stage.subject.id)
    container.update(cpu_period=100_000, cpu_quota=10_000)
    try:
        seen = watched(stage, 5, partial(wrk, stage, connections=50, lasts_s=4))
    finally:
        container.update(cpu_period=100_000, cpu_quota=-1)
        client.close()
    assert seen.found == {pid: {Reason.STARVED} for pid in own}, seen.text


@pytest.fixture(scope="module")
def many(stage: Stage) -> Iterator[Callable[[], set[int]]]:
    """A second nginx with 128 workers in the subject's container, and their process ids."""
    with many_workers(stage) as now:
        yield now


@pytest.mark.slow
@pytest.mark.parametrize(
    "check", [only_the_stalled_of_many_is_named, no_stall_is_found_among_many], ids=["a stall", "no stall"]
)
def test_only_the_stalled_worker_of_128_is_named(
    stage: Stage, many: Callable[[], set[int]], check: Callable[[Stage], str]
) -> None:
    assert len(many()) == MANY
    check(stage)


@pytest.mark.slow
@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(("at", "call"), [(slow_files.OPEN, "openat"), (slow_files.READ, "pread64")])
def test_a_file_on_a_slow_disk_blocks(stage: Stage, at: int, call: str) -> None:
    file = Path(f"/proc/{pids(stage)[0]}/root{FILES}/small.bin")
    with slow_files.slow(file, at=at, delay_s=0.03), asking(stage, "small.bin") as asked:
        seen = watched(stage, LATE_IN_S)
        (answered,) = asked()
    (worker,) = (loop.worker for loop in seen.loops if inside(loop.worker) == answered)
    assert Reason.BLOCKED in seen.found.get(worker, set()), seen.text
    assert seen.found[worker] <= {Reason.BLOCKED, Reason.STARVED}, seen.text
    (sign,) = (sign for sign in seen.signs if sign.worker == worker and sign.reason is Reason.BLOCKED)
    assert f"in {call}" in sign.text, seen.text
    assert f"{call} on {FILES}/small.bin" in seen.text, seen.text


@pytest.mark.slow
def test_new_workers_after_a_reload_are_watched(stage: Stage, many: Callable[[], set[int]]) -> None:
    before = many()

    def reload_and_stall() -> int:
        stage.subject.run(["nginx", "-c", "/var/lib/subject/many.conf", "-s", "reload"])
        wait_until(lambda: len(many() - before) == MANY and not many() & before, within_s=30)
        with asking(stage, "large.txt") as large:
            time.sleep(LATE_IN_S)
            return large()[0]

    stalled: list[int] = []
    seen = watched(stage, None, lambda: stalled.append(reload_and_stall()))
    found = {sign.worker for sign in seen.signs if sign.is_stall}
    assert found <= many(), seen.text
    assert [inside(pid) for pid in found] == stalled, seen.text
    # Several notes may report the new workers, since they do not all start between two looks.
    for change in ("ended", "started"):
        numbers = re.findall(rf"(\d+) workers? {change}", "\n".join(seen.notes))
        assert sum(map(int, numbers)) == MANY, seen.notes


@pytest.mark.slow
def test_later_load_changes_the_level_of_detail(stage: Stage) -> None:
    """The programs of both levels of detail load, and iterations are recorded."""
    load = partial(wrk, stage, connections=4, lasts_s=6)
    seen = watched(stage, None, load, levels=Levels(most_calls_per_s=500))
    assert any("from here on one in 16 iterations" in note for note in seen.notes), seen.notes
    busy = [loop for loop in seen.loops if loop.iterations > 100]
    assert busy, seen.text


@pytest.mark.parametrize(
    "after_s", [0.7, pytest.param(1.5, marks=pytest.mark.slow), pytest.param(4.0, marks=pytest.mark.slow)]
)
def test_a_killed_watch_leaves_nothing(stage: Stage, after_s: float) -> None:
    """The kill comes before bpftrace runs, while it compiles or attaches its program, and while it watches."""
    killed(stage, after_s)
