"""Watches an nginx in a container from this machine, and checks the findings."""

import ctypes
import math
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from images.netadmin.netadmin import recorder
from tests.lab.children import wait_until
from tests.support.places import CHECKOUT
from tuneproof.errors import LabError
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.diagnosis.signs.event_loops import LoopSign, signs
from tuneproof.explain.parse.event_loop import LoopRecording, LoopSecond
from tuneproof.explain.parse.event_loop_summary import Reason, WorkerLoop, summarise
from tuneproof.lab.load.stage import CLIENT, Stage
from tuneproof.lab.load.stall_load import StallLoad, run_trial
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.watch.diagnosis import diagnosis, table
from tuneproof.watch.levels import Levels
from tuneproof.watch.program import ARCHITECTURES
from tuneproof.watch.watching import Watching
from tuneproof.watch.workers import find

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

    @property
    def found(self) -> dict[int, set[Reason]]:
        """Return the reasons of the signs with the verdict FOUND, by worker."""
        made: dict[int, set[Reason]] = {}
        for sign in self.signs:
            if sign.verdict is CauseVerdict.FOUND:
                made.setdefault(sign.worker, set()).add(sign.reason)
        return made

    @property
    def text(self) -> str:
        return "\n".join(("", *table(self.loops), *diagnosis(self.loops), *self.notes))

    @property
    def signs(self) -> tuple[LoopSign, ...]:
        return tuple(signs(self.loops))


def watched(
    of: Stage, lasts_s: float | None, during: Callable[[], object] = lambda: None, *, levels: Levels | None = None
) -> Watched:
    """Watch the subject for ``lasts_s`` (None: until ``during`` ends); ``during`` begins once watch's program runs."""
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
    return Watched(loops=loops, notes=watching.notes)


@contextmanager
def loaded(of: Stage, plan: StallLoad = STALL) -> Iterator[None]:
    """Run a load during the context, and wait for its end."""
    with ThreadPoolExecutor(1) as pool:
        load = pool.submit(run_trial, of.client, plan, address=of.address, port=of.port, label="watch")
        # First, the load places its connections, and receive buffers grow.
        time.sleep(2 * plan.settle_s)
        yield
        load.result()


def pids(of: Stage) -> tuple[int, ...]:
    """Return the workers' process ids on the host, in the order of their ids in the container."""
    return tuple(sorted((each.pid for each in find(of.subject.id)), key=inside))


def inside(pid: int) -> int:
    """Return the process id that a process of this host has in its container."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1])


def wrk(of: Stage, *, connections: int, lasts_s: int) -> float:
    """Load the subject with small requests; return requests per second."""
    url = f"http://{of.address}:{of.port}{STATIC_PATH}"
    said = of.lab[CLIENT].run(["wrk", "-t1", f"-c{connections}", f"-d{lasts_s}", url]).decode()
    return float(next(line for line in said.splitlines() if line.startswith("Requests/sec:")).split()[1])


def stall_is_named(of: Stage) -> Watched:
    """Check that five seconds of watch show a stall in readv from the upstream, and only in the loaded worker."""
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(watched, of, LATE_IN_S)
        # If bpftrace takes long to start, a single load would end before watching does.
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


def nothing_is_found(of: Stage, *, lasts_s: int = 5) -> Watched:
    """Check that watch reports nothing but a lack of CPU under full load with small requests."""
    seen = watched(of, lasts_s, partial(wrk, of, connections=50, lasts_s=lasts_s + 1))
    assert {
        pid: reasons - {Reason.STARVED} for pid, reasons in seen.found.items() if reasons - {Reason.STARVED}
    } == {}, seen.text
    assert sum(loop.iterations for loop in seen.loops) > 20
    return seen


def recorded(of: Stage) -> dict[int, recorder.Record]:
    """Return the recorder's counts of each worker, from a moment when no worker is busy."""
    known: dict[int, recorder.Record] = {}
    while True:
        time.sleep(0.3)
        before, known = (
            known,
            {
                worker.pid: recorder.parse(of.subject.run(["cat", f"/{recorder.FOLDER}/tuneproof.{worker.pid}"]))
                for worker in of.workers()
            },
        )
        if known == before:
            return known


def bytes_agree(of: Stage) -> None:
    """Check that watch and the recorder count the same bytes per iteration of the loaded worker, within 2 %."""
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
    watched_bytes = loop.read_per_iteration_bytes, loop.written_per_iteration_bytes
    counted = (
        counters["read_bytes"] / counters["turns"],
        (counters["write_bytes"] + counters["file_write_bytes"]) / counters["turns"],
    )
    assert watched_bytes == pytest.approx(counted, rel=0.02), f"{watched_bytes}, and the recorder {counted}"


FILES: Final = "/var/lib/subject/files"

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


@contextmanager
def many_workers(of: Stage) -> Iterator[Callable[[], set[int]]]:
    """Start 128 workers that serve a small file and a large compressed one; yield a function for their process ids."""
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


# Sends requests on several connections until standard input ends, and prints each connection's last worker.
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
    """Request a file repeatedly from the container's network namespace, since this host cannot reach nginx.

    Yields a function that ends the requests and returns the last worker of each connection.
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
    """Watch 128 workers under a light load; with ``stalls``, also return the one that compresses a large file."""
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


def only_the_stalled_of_many_is_named(of: Stage) -> str:
    """Check that only the stalled worker is reported, with its cause."""
    seen, stalled = among_many(of, stalls=True)
    assert len(seen.loops) >= MANY, seen.text
    found = {(sign.worker, sign.reason) for sign in seen.signs if sign.is_stall}
    assert found == {(stalled, Reason.COMPUTING)}, seen.text
    return f"worker {stalled} of {len(seen.loops)}; {seen.notes[-1]}"


def no_stall_is_found_among_many(of: Stage) -> str:
    """Check that no stall is reported, not even a rare one; the machine may be reported as short of CPU."""
    seen, _ = among_many(of, stalls=False)
    assert len(seen.loops) >= MANY, seen.text
    assert sum(loop.iterations for loop in seen.loops) > QUIET_CONNECTIONS, seen.text
    assert not [sign for sign in seen.signs if sign.is_stall], seen.text
    starved = sum(sign.reason is Reason.STARVED for sign in seen.signs)
    return f"{len(seen.loops)} workers, {starved} starved of CPU; {seen.notes[-1]}"


def killed(of: Stage, after_s: float) -> None:
    """Kill watch this long after its start, and wait until its bpftrace process, programs and maps are gone."""
    pid = find(of.subject.id)[0].pid
    child = subprocess.Popen(
        [sys.executable, "-m", "tuneproof.cli", "watch", str(pid)], stdout=subprocess.DEVNULL, cwd=CHECKOUT
    )
    with suppress(subprocess.TimeoutExpired):
        child.wait(after_s)
    assert child.poll() is None, "watch ended by itself"
    made = made_by(child.pid)
    child.kill()
    child.wait()
    wait_until(lambda: made.isdisjoint(in_the_kernel()), within_s=10)


def made_by(watch: int) -> set[tuple[str, int]]:
    """Return the bpftrace process of a watch, and its programs and maps, by number."""
    made = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and f"\nPPid:\t{watch}\n" in _read(entry / "status"):
            made.add(("process", int(entry.name)))
            described = "".join(map(_read, (entry / "fdinfo").iterdir()))
            made |= {(what, int(number)) for what, number in _OBJECT.findall(described)}
    return made


def in_the_kernel() -> set[tuple[str, int]]:
    """Return all processes, BPF programs and maps on this machine, by number."""
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
    """Return the report of watch on a URL."""
    url = f"http://{of.address}:{of.port}{STATIC_PATH}"
    return subprocess.run(
        [sys.executable, "-m", "tuneproof.cli", "watch", url], capture_output=True, text=True, check=True, cwd=CHECKOUT
    ).stdout
