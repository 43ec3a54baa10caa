"""``watch`` on stalls and beside them: what it names, on which of many workers, what it leaves behind.

tests/lab/watch_series.py repeats it for the figures of docs/watch.md.
"""

import ctypes
import math
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from fixtures.engine import BuiltImages, PlaceCpus
from images.netadmin.netadmin import recorder
from tests.lab import slow_files
from tests.lab.children import wait_until
from tests.lab.test_turns import started
from tests.support.places import CHECKOUT
from tuneproof.errors import CannotRunHereError, LabError
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.diagnosis.signs.event_loops import LoopSign, signs
from tuneproof.explain.parse.event_loop import LoopRecording, LoopSecond
from tuneproof.explain.parse.event_loop_summary import Reason, WorkerLoop, summarise
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.load.stage import CLIENT, Stage
from tuneproof.lab.load.stall_load import StallLoad, run_trial
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.scenario.arms import Subject
from tuneproof.watch.diagnosis import diagnosis, table
from tuneproof.watch.levels import Levels
from tuneproof.watch.program import ARCHITECTURES, READS
from tuneproof.watch.tracer import Tracer, check_host
from tuneproof.watch.watching import Watching
from tuneproof.watch.workers import doing, find

pytestmark = [pytest.mark.engine, pytest.mark.timing]

STALL: Final = StallLoad(bulk_per_worker=(4, 0), settle_s=0.5, measure_s=9, place_timeout_s=10)
CONFIG: Final = SubjectConfig(upstream="backend:8000", access_log=False)
LATE_IN_S: Final = 5.0
FINE: Final = partial(Levels, most_calls_per_s=math.inf)
_BPF_PROG_GET_NEXT_ID: Final = 11
_BPF_MAP_GET_NEXT_ID: Final = 12
_OBJECT: Final = re.compile(r"^(prog|map)_id:\s*(\d+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Watched:
    loops: tuple[WorkerLoop, ...]
    notes: tuple[str, ...]
    cost_share: float | None

    @property
    def found(self) -> dict[int, set[Reason]]:
        """By worker, what was found; what is rare is left out."""
        made: dict[int, set[Reason]] = {}
        for sign in self.signs:
            if sign.verdict is CauseVerdict.FOUND:
                made.setdefault(sign.worker, set()).add(sign.reason)
        return made

    @property
    def text(self) -> str:
        """What a person would have read."""
        return "\n".join(("", *table(self.loops), *diagnosis(self.loops), *self.notes))

    @property
    def signs(self) -> tuple[LoopSign, ...]:
        return tuple(signs(self.loops))


def watched(
    of: Stage, lasts_s: float | None, during: Callable[[], object] = lambda: None, *, levels: Levels | None = None
) -> Watched:
    """Watch the subject while something is done; it begins when the program runs. None: until it is done."""
    watching = Watching(find=partial(find, of.subject.id), lasts_s=lasts_s, levels=levels or Levels())
    seconds: list[LoopSecond] = []
    with ThreadPoolExecutor(1) as pool:
        doing = None
        for made in watching.run():
            doing = doing or pool.submit(during)
            seconds += made
            if lasts_s is None and doing.done():
                watching.stop()
        if doing is not None:
            doing.result()
    loops = summarise(LoopRecording(began="", seconds=tuple(seconds)))
    return Watched(loops=loops, notes=watching.notes, cost_share=watching.cost_share)


@contextmanager
def loaded(of: Stage, plan: StallLoad = STALL) -> Iterator[None]:
    """Have a load run, and wait for its end."""
    with ThreadPoolExecutor(1) as pool:
        load = pool.submit(run_trial, of.programs.loadgen, plan, address=of.address, port=of.port, label="watch")
        # Connections are placed and receive buffers grow first.
        time.sleep(2 * plan.settle_s)
        yield
        load.result()


def pids(of: Stage) -> tuple[int, ...]:
    """The workers' process ids on the host, in the order of those in the container."""
    return tuple(sorted((each.pid for each in find(of.subject.id)), key=inside))


def inside(pid: int) -> int:
    """What a process of this host is called in its container."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1])


@pytest.fixture(scope="module")
def stage(place_cpus: PlaceCpus, lab_session: Session, images: BuiltImages, nginx: str) -> Iterator[Stage]:
    """A subject with two workers and the recorder inside."""
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
    """Check that this host lets any program onto these tracepoints: where it does, ours must load, too."""
    tracer = Tracer(SMALLEST)
    try:
        wait_until(lambda: "attached" in (tracer.line(0.1) or ""), within_s=30)
    finally:
        tracer.close()


def wrk(of: Stage, *, connections: int, lasts_s: int) -> float:
    """Load the subject with small requests; return requests per second."""
    url = f"http://{of.address}:{of.port}{STATIC_PATH}"
    said = of.lab[CLIENT].run(["wrk", "-t1", f"-c{connections}", f"-d{lasts_s}", url]).decode()
    return float(next(line for line in said.splitlines() if line.startswith("Requests/sec:")).split()[1])


def stall_is_named(of: Stage) -> Watched:
    """The loaded worker stalls in reading and writing, the other one does not; told in five seconds."""
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(watched, of, LATE_IN_S)
        # Where bpftrace takes long to start, one load is over before watching is.
        while not looking.done():
            with loaded(of):
                pass
    seen = looking.result()
    if not any(loop.iterations for loop in seen.loops):
        raise LabError("The load had not begun.")
    loaded_pid, other_pid = pids(of)
    assert Reason.CALLS in seen.found.get(loaded_pid, set()), seen.text
    assert seen.found.get(other_pid, set()) <= {Reason.STARVED}, seen.text
    (sign,) = (sign for sign in seen.signs if sign.worker == loaded_pid and sign.reason is Reason.CALLS)
    assert "readv" in sign.text, sign.text
    assert ":8000" in sign.text, f"the upstream is not named: {sign.text}"
    return seen


def nothing_is_found(of: Stage) -> Watched:
    """Under full load with small requests."""
    seen = watched(of, LATE_IN_S, partial(wrk, of, connections=50, lasts_s=7))
    assert {
        pid: reasons - {Reason.STARVED} for pid, reasons in seen.found.items() if reasons - {Reason.STARVED}
    } == {}, seen.text
    assert sum(loop.iterations for loop in seen.loops) > 20
    return seen


def test_the_stalled_worker_is_named(stage: Stage) -> None:
    """By bytes, which no neighbour changes: how long iterations last is the machine's. Two loads share descriptors."""

    def load() -> None:
        for _ in range(2):
            with loaded(stage, replace(STALL, measure_s=3)):
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


def test_a_healthy_nginx_is_not_blamed(stage: Stage) -> None:
    """Full load is no stall. On a machine that is short of CPU that is said, and nothing else."""
    nothing_is_found(stage)


def recorded(of: Stage) -> dict[int, recorder.Record]:
    """What the recorder inside each worker counted, at a moment in which none of them is busy."""
    known: dict[int, recorder.Record] = {}
    while True:
        time.sleep(0.3)
        before, known = (
            known,
            {
                worker.pid: recorder.parse(of.subject.run(["cat", f"/{recorder.FOLDER}/tuneproof.{worker.pid}"]))
                for worker in of.observer.workers()
            },
        )
        if known == before:
            return known


def bytes_agree(of: Stage) -> None:
    """The recorder inside nginx counts every call; from an idle moment to an idle moment both have seen the same."""
    before = recorded(of)
    after = {}

    def load() -> None:
        with loaded(of, replace(STALL, measure_s=3)):
            pass
        after.update(recorded(of))

    seen = watched(of, None, load, levels=FINE())
    grown = [record.since(old) for record, old in zip(after.values(), before.values(), strict=True)]
    loops = {loop.worker: loop for loop in seen.loops}
    loop, counters = loops[pids(of)[0]], grown[0].counters
    told = loop.read_per_iteration_bytes, loop.written_per_iteration_bytes
    counted = (
        counters["read_bytes"] / counters["turns"],
        (counters["write_bytes"] + counters["file_write_bytes"]) / counters["turns"],
    )
    assert told == pytest.approx(counted, rel=0.02), f"{told}, and the recorder {counted}"


@pytest.mark.slow
def test_bytes_per_iteration_are_those_of_the_recorder(stage: Stage) -> None:
    """Where watching may cost what it takes, so that it samples nothing."""
    bytes_agree(stage)


@pytest.mark.slow
@pytest.mark.parametrize("stopped_ms", [10, 100, 1000])
def test_a_stopped_worker_is_reported_as_not_running(stage: Stage, stopped_ms: int) -> None:
    """And as no stall, on the right worker, for as long as it was stopped."""
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
    # After SIGCONT the worker waits for a CPU, which counts as its stop.
    waited_s = loop.ready_s * (loop.cpu_wait_share or 0.0)
    assert times_s[2] - times_s[1] <= stopped_s <= times_s[3] - times_s[0] + waited_s


FILES: Final = "/var/lib/subject/files"
OTHER_PORT: Final = 8100
OTHER: Final = f"""\
worker_processes 1;
pid /var/lib/subject/other.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path /var/lib/subject/other; proxy_temp_path /var/lib/subject/other;
    fastcgi_temp_path /var/lib/subject/other; uwsgi_temp_path /var/lib/subject/other;
    scgi_temp_path /var/lib/subject/other;
    output_buffers 1 4m;
    gzip_comp_level 9;
    gzip_types *;
    server {{ listen {OTHER_PORT}; gzip on; location / {{ alias {FILES}/; }} }}
}}
"""


@pytest.fixture(scope="module")
def other(stage: Stage) -> Iterator[int]:
    """The worker of a second nginx beside the subject's, which serves a small file, and a large one compressed."""
    words = f"head -c 24M /dev/urandom | base64 -w0 >{FILES}/large.txt; echo small >{FILES}/small.bin"
    known = set(pids(stage))
    stage.subject.run(["sh", "-c", f"mkdir -p {FILES}; {words}; echo '{OTHER}' >/var/lib/subject/other.conf"])
    stage.subject.run(["nginx", "-c", "/var/lib/subject/other.conf"])
    wait_until(lambda: len(find(stage.subject.id)) > len(known), within_s=10)
    (pid,) = {each.pid for each in find(stage.subject.id)} - known
    yield pid
    stage.subject.run(["sh", "-c", "kill $(cat /var/lib/subject/other.pid)"])


def asked(of: Stage, name: str) -> None:
    """Ask the second nginx for a file by two clients for four seconds."""
    url = f"http://{of.address}:{OTHER_PORT}/{name}"
    of.lab[CLIENT].run(["wrk", "-t1", "-c2", "-d4", "-H", "Accept-Encoding: gzip", url])


@pytest.mark.slow
@pytest.mark.parametrize(("at", "call"), [(slow_files.OPEN, "openat"), (slow_files.READ, "pread64")])
def test_a_file_on_a_slow_disk_blocks(stage: Stage, other: int, at: int, call: str) -> None:
    """Told with the call and the file."""
    file = Path(f"/proc/{other}/root{FILES}/small.bin")
    with slow_files.slow(file, at=at, delay_s=0.03):
        seen = watched(stage, 5, partial(asked, stage, "small.bin"))
    assert Reason.BLOCKED in seen.found.get(other, set()), seen.text
    assert seen.found[other] <= {Reason.BLOCKED, Reason.STARVED}, seen.text
    (sign,) = (sign for sign in seen.signs if sign.worker == other and sign.reason is Reason.BLOCKED)
    assert f"in {call}" in sign.text, seen.text
    assert f"{call} on {FILES}/small.bin" in seen.text, seen.text


@pytest.mark.slow
def test_compressing_a_large_file_is_user_space(stage: Stage, other: int) -> None:
    """Gzip at level 9, of 4 MiB in one go."""
    seen = watched(stage, 5, partial(asked, stage, "large.txt"))
    assert Reason.COMPUTING in seen.found.get(other, set()), seen.text
    assert seen.found[other] <= {Reason.COMPUTING, Reason.STARVED}, seen.text


@pytest.mark.slow
def test_a_throttled_worker_is_starved_of_cpu(stage: Stage) -> None:
    """Its cgroup has a tenth of a CPU; what it cannot do meanwhile is no stall."""
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


MANY: Final = 128
MANY_PORT: Final = 8200
MANY_CONF: Final = f"""\
worker_processes {MANY};
pid /var/lib/subject/many.pid;
error_log stderr;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path /var/lib/subject/many; proxy_temp_path /var/lib/subject/many;
    fastcgi_temp_path /var/lib/subject/many; uwsgi_temp_path /var/lib/subject/many;
    scgi_temp_path /var/lib/subject/many;
    add_header X-Worker $pid;
    output_buffers 1 4m;
    gzip_comp_level 9;
    gzip_types *;
    server {{ listen {MANY_PORT} reuseport; gzip on; location / {{ alias {FILES}/; }} }}
}}
"""
QUIET_CONNECTIONS: Final = 64
_PAUSE_S: Final = 0.2


@pytest.fixture(scope="module")
def many(stage: Stage) -> Iterator[Callable[[], set[int]]]:
    """A second nginx with 128 workers in the subject's container; who they are now."""
    with many_workers(stage) as now:
        yield now


@contextmanager
def many_workers(of: Stage) -> Iterator[Callable[[], set[int]]]:
    """Start 128 workers that serve a small file, and a large one compressed; yield who they are."""
    others = set(pids(of))
    words = f"head -c 24M /dev/urandom | base64 -w0 >{FILES}/large.txt; echo small >{FILES}/small.bin"
    of.subject.run(["sh", "-c", f"mkdir -p {FILES}; {words}; echo '{MANY_CONF}' >/var/lib/subject/many.conf"])
    of.subject.run(["nginx", "-c", "/var/lib/subject/many.conf"])

    def now() -> set[int]:
        return {each.pid for each in find(of.subject.id)} - others

    wait_until(lambda: len(now()) == MANY, within_s=30)
    yield now
    of.subject.run(["sh", "-c", "kill $(cat /var/lib/subject/many.pid)"])
    wait_until(lambda: not now(), within_s=30)


# On so many connections at once until its standard input ends; which worker answered on each, by its id inside.
_ASKING: Final = """
import http.client, sys, threading
port, name, connections, pause_s = sys.argv[1:]
until, workers = threading.Event(), []
def ask():
    connection, worker = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30), 0
    while not until.wait(float(pause_s)):
        connection.request("GET", "/" + name, headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        answer.read()
        worker = int(answer.headers["X-Worker"])
    workers.append(worker)
threads = [threading.Thread(target=ask) for _ in range(int(connections))]
for each in threads: each.start()
sys.stdin.read()
until.set()
for each in threads: each.join()
print(*workers)
"""


@contextmanager
def asking(of: Stage, name: str, *, connections: int = 1, pause_s: float = 0.0) -> Iterator[Callable[[], list[int]]]:
    """Ask for a file again and again, within the container's network: no other way leads there.

    Yields what ends that and returns which workers answered.
    """
    pid = next(iter(find(of.subject.id))).pid
    words = ["nsenter", "-t", str(pid), "-n", sys.executable, "-c", _ASKING]
    words += [str(MANY_PORT), name, str(connections), str(pause_s)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asks:

        def ended() -> list[int]:
            printed, _ = asks.communicate()
            assert asks.returncode == 0
            return list(map(int, printed.split()))

        try:
            yield ended
        finally:
            if asks.poll() is None:
                asks.kill()


def among_many(of: Stage, *, stalls: bool) -> tuple[Watched, int | None]:
    """Watch 128 workers under a light load, one of which compresses a large file if it ``stalls``; return which."""
    with asking(of, "small.bin", connections=QUIET_CONNECTIONS, pause_s=_PAUSE_S) as quiet:
        if not stalls:
            seen = watched(of, LATE_IN_S)
            quiet()
            return seen, None
        with asking(of, "large.txt") as large:
            seen = watched(of, LATE_IN_S)
            quiet()
            (worker,) = large()
    return seen, next(pid for pid in (each.worker for each in seen.loops) if inside(pid) == worker)


def one_of_many_is_named(of: Stage) -> str:
    """The stalled one, for what it does, and no other."""
    seen, stalled = among_many(of, stalls=True)
    assert len(seen.loops) >= MANY, seen.text
    found = {(sign.worker, sign.reason) for sign in seen.signs if sign.is_stall}
    assert found == {(stalled, Reason.COMPUTING)}, seen.text
    return f"worker {stalled} of {len(seen.loops)}; {seen.notes[-1]}"


def none_of_many_is_blamed(of: Stage) -> str:
    """Nor reported as rare; that this machine is short of CPU may be said."""
    seen, _ = among_many(of, stalls=False)
    assert len(seen.loops) >= MANY, seen.text
    assert sum(loop.iterations for loop in seen.loops) > QUIET_CONNECTIONS, seen.text
    assert not [sign for sign in seen.signs if sign.is_stall], seen.text
    starved = sum(sign.reason is Reason.STARVED for sign in seen.signs)
    return f"{len(seen.loops)} workers, {starved} starved of CPU; {seen.notes[-1]}"


@pytest.mark.slow
def test_one_of_128_workers_is_named(stage: Stage, many: Callable[[], set[int]]) -> None:
    assert len(many()) == MANY
    one_of_many_is_named(stage)


@pytest.mark.slow
def test_none_of_128_workers_is_blamed_without_a_stall(stage: Stage, many: Callable[[], set[int]]) -> None:
    assert len(many()) == MANY
    none_of_many_is_blamed(stage)


@pytest.mark.slow
def test_workers_of_a_reload_are_watched(stage: Stage, many: Callable[[], set[int]]) -> None:
    """They appear while watching, and one of them stalls: the program that runs takes them in."""
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
    # Not all of them start between two looks.
    for change in ("ended", "started"):
        numbers = re.findall(rf"(\d+) workers? {change}", "\n".join(seen.notes))
        assert sum(map(int, numbers)) == MANY, seen.notes


@pytest.mark.slow
def test_a_load_that_comes_later_changes_the_level(stage: Stage) -> None:
    """Both programs load, and nothing but the calls is missing then."""
    load = partial(wrk, stage, connections=4, lasts_s=6)
    seen = watched(stage, None, load, levels=Levels(most_calls_per_s=500))
    assert any("from here on one in 16 iterations" in note for note in seen.notes), seen.notes
    busy = [loop for loop in seen.loops if loop.iterations > 100]
    assert busy, seen.text


@pytest.mark.parametrize(
    "after_s", [0.7, pytest.param(1.5, marks=pytest.mark.slow), pytest.param(4.0, marks=pytest.mark.slow)]
)
def test_a_killed_watch_leaves_nothing(stage: Stage, after_s: float) -> None:
    """Before bpftrace runs, while it compiles or attaches its program, and while it watches."""
    killed(stage, after_s)


def killed(of: Stage, after_s: float) -> None:
    """Kill it so long after its start, and wait until everything of it is gone."""
    pid = find(of.subject.id)[0].pid
    child = subprocess.Popen(
        [sys.executable, "-m", "tuneproof.cli", "watch", str(pid)], stdout=subprocess.DEVNULL, cwd=CHECKOUT
    )
    with suppress(subprocess.TimeoutExpired):
        child.wait(after_s)
    assert child.poll() is None, "it ended by itself"
    made = made_by(child.pid)
    child.kill()
    child.wait()
    wait_until(lambda: made.isdisjoint(in_the_kernel()), within_s=10)


def made_by(watch: int) -> set[tuple[str, int]]:
    """What a watch has in the kernel: its bpftrace, and the programs and maps of that, by number."""
    made = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and f"\nPPid:\t{watch}\n" in _read(entry / "status"):
            made.add(("process", int(entry.name)))
            described = "".join(map(_read, (entry / "fdinfo").iterdir()))
            made |= {(what, int(number)) for what, number in _OBJECT.findall(described)}
    return made


def in_the_kernel() -> set[tuple[str, int]]:
    """All processes, BPF programs and maps of this machine, by number."""
    found = {("process", int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdecimal()}
    for what, command in (("prog", _BPF_PROG_GET_NEXT_ID), ("map", _BPF_MAP_GET_NEXT_ID)):
        attributes = (ctypes.c_uint32 * 3)(0)
        here = ARCHITECTURES[platform.machine()]
        while ctypes.CDLL(None).syscall(here.bpf, command, ctypes.byref(attributes), 12) == 0:
            found.add((what, attributes[1]))
            attributes[0] = attributes[1]
    return found


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def from_outside(of: Stage) -> str:
    """The report of thirty seconds by URL."""
    url = f"http://{of.address}:{of.port}{STATIC_PATH}"
    return subprocess.run(
        [sys.executable, "-m", "tuneproof.cli", "watch", url], capture_output=True, text=True, check=True, cwd=CHECKOUT
    ).stdout
