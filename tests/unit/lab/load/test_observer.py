"""How the library talks to an observer, and what it makes of the answers."""

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.support import canned_turns
from tests.support.joined import Joined
from tuneproof.errors import LabError
from tuneproof.lab.load.observer import Counters, Observer, SocketFigures, SoftnetFigures, WorkerFigures
from tuneproof.lab.protocol import observer as protocol
from tuneproof.lab.protocol.observer import (
    Calls,
    CounterTexts,
    ListenerFigures,
    ProcessTexts,
    SocketCounts,
    WatchSample,
    WorkerTexts,
)
from tuneproof.lab.protocol.turns import Turns

if TYPE_CHECKING:
    from tuneproof.lab.topology.channel import Channel

# Some of the lines that the kernel prints.
STATUS = """\
Name:\tnginx
State:\tS (sleeping)
Pid:\t{pid}
VmRSS:\t       4 kB
RssAnon:\t       1 kB
voluntary_ctxt_switches:\t17
nonvoluntary_ctxt_switches:\t3
"""
ZOMBIE = "Name:\tnginx\nState:\tZ (zombie)\nPid:\t{pid}\nvoluntary_ctxt_switches:\t17\n"
SCHEDSTAT = "1500000000 250000000 20\n"
IO = "rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"
FIGURES: dict[str, Any] = {
    "rss_bytes": 4096,
    "rss_anon_bytes": 1024,
    "voluntary_switches": 17,
    "nonvoluntary_switches": 3,
    "run_s": 1.5,
    "wait_s": 0.25,
    "write_bytes": 8192,
    "is_leaving": False,
    "is_asleep": True,
}
SOFTNET = "{:08x} {:08x} {:08x}" + " 00000000" * 9 + " {:08x} 00000000 00000000\n"
COUNTERS = CounterTexts(
    counters="TcpExt: ListenDrops\nTcpExt: 3\nTcp: MaxConn ActiveOpens\nTcp: -1 40\n",
    softnet=SOFTNET.format(9, 1, 2, 0) + SOFTNET.format(8, 0, 0, 3),
    at_s=12.5,
)


def texts(
    pid: int,
    *,
    title: str = "nginx: worker process",
    status: str = STATUS,
    schedstat: str = SCHEDSTAT,
    io: str = IO,
) -> ProcessTexts:
    return ProcessTexts(pid=pid, title=title, status=status.format(pid=pid), schedstat=schedstat, io=io)


SAMPLES = (
    WatchSample(at_s=12.5, rss_bytes=(4096, 8192), queued=0),
    WatchSample(at_s=12.55, rss_bytes=(4096,), queued=7),
)
TURNS = Turns(
    workers=(canned_turns.worker(9, read=[(67, 2, 3000)]), canned_turns.worker(12)), start_s=12.5, end_s=13.75
)
CALLS = {"read": Calls(made=7, failed=1, moved_bytes=4096)}
SOCKETS = SocketCounts(
    listeners=(ListenerFigures(queued=3, backlog=511),),
    local={10: 1, 1: 4},
    others={6: 2, 1: 1},
    send_queue_bytes=1234,
    unread_bytes=(77,),
)


class Canned:
    """An observer's program that knows its answers by heart."""

    def __init__(self) -> None:
        self.read_counters = COUNTERS
        self.read_workers = WorkerTexts(workers=(texts(9), texts(12)), at_s=12.5)
        self.signals: list[tuple[str, str]] = []  # what was sent, to whom
        self.watches: list[tuple[int, float]] = []  # ports and intervals

    def counters(self) -> CounterTexts:
        return self.read_counters

    def workers(self) -> WorkerTexts:
        return self.read_workers

    def sockets(self, port: int) -> SocketCounts:
        return {8000: SOCKETS}[port]

    def sysctl(self, name: str) -> str | None:
        return {"net.core.somaxconn": "4096"}.get(name)

    def printed(self, what: str) -> str:
        return {"sockets": "State Recv-Q\n"}[what]

    def watch(self, port: int, interval_s: float) -> None:
        self.watches.append((port, interval_s))

    def watched(self) -> tuple[WatchSample, ...]:
        return SAMPLES

    def turns(self, start_s: float, end_s: float) -> Turns:
        return dataclasses.replace(TURNS, start_s=start_s, end_s=end_s)

    def calls(self) -> dict[str, Calls]:
        return CALLS

    def signal(self, name: str, to: str) -> None:
        self.signals.append((name, to))

    def masters_wait(self) -> bool:
        return bool(self.signals)


@pytest.fixture
def program() -> Canned:
    return Canned()


@pytest.fixture
def channel(program: Canned) -> Joined:
    return Joined(protocol.Observer, program)


@pytest.fixture
def observer(channel: Joined) -> Observer:
    return Observer(cast("Channel", channel))


def counters(*, at_s: float, softnet: tuple[SoftnetFigures, ...] = (), **values: int) -> Counters:
    return Counters(counters=values, softnet=softnet, at_s=at_s)


def cpu(processed: int, dropped: int = 0, squeezed: int = 0) -> SoftnetFigures:
    return SoftnetFigures(processed=processed, dropped=dropped, squeezed=squeezed)


def test_signals_go_to_workers_or_to_the_master(observer: Observer, program: Canned) -> None:
    assert not observer.masters_wait()
    observer.signal_master("USR2")
    assert observer.masters_wait()
    observer.stop_workers()
    observer.continue_workers()
    observer.reload()
    observer.end_leaving_workers()
    assert program.signals[1:] == [("STOP", "workers"), ("CONT", "workers"), ("HUP", "master"), ("TERM", "leaving")]


@pytest.mark.parametrize(
    ("told", "changed"),
    [
        ({}, {}),
        ({"title": "nginx: worker process is shutting down"}, {"is_leaving": True}),
        *(
            ({"status": STATUS.replace("S (sleeping)", state)}, {"is_asleep": False})
            for state in ("R (running)", "D (disk sleep)", "T (stopped)")
        ),
    ],
    ids=["asleep", "leaving", "running", "on-a-disk", "stopped"],
)
def test_each_worker_has_its_figures_and_the_time_of_their_reading(
    told: dict[str, str], changed: dict[str, Any], observer: Observer, program: Canned
) -> None:
    """And whether it is about to leave, or could go on with something."""
    program.read_workers = WorkerTexts(workers=(texts(9, **told), texts(12)), at_s=12.5)
    assert observer.workers() == (
        WorkerFigures(pid=9, at_s=12.5, **{**FIGURES, **changed}),
        WorkerFigures(pid=12, at_s=12.5, **FIGURES),
    )


def test_counters_are_read_with_those_of_each_cpu(observer: Observer) -> None:
    assert observer.counters() == Counters(
        counters={"TcpExt.ListenDrops": 3, "Tcp.MaxConn": -1, "Tcp.ActiveOpens": 40},
        softnet=(cpu(9, 1, 2), cpu(8)),
        at_s=12.5,
    )


@pytest.mark.parametrize(
    "told",
    [
        dataclasses.replace(COUNTERS, counters="no such file\n"),
        dataclasses.replace(COUNTERS, counters="TcpExt: ListenDrops\nTcpExt: 3 4\n"),
        dataclasses.replace(COUNTERS, softnet="9 1 2\n"),
    ],
    ids=["no-counters", "no-names", "no-softnet"],
)
def test_counters_in_another_format_are_an_error(told: CounterTexts, observer: Observer, program: Canned) -> None:
    """Of a kernel that nobody knows yet; the message says what was expected."""
    program.read_counters = told
    with pytest.raises(LabError, match=r"the kernel's counters cannot be read: .*expected"):
        observer.counters()


def test_a_worker_that_has_ended_is_left_out(observer: Observer, program: Canned) -> None:
    """A zombie still has its files, but no memory any more."""
    program.read_workers = WorkerTexts(workers=(texts(9, status=ZOMBIE), texts(12)), at_s=12.5)
    assert [worker.pid for worker in observer.workers()] == [12]


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (texts(9, status="nothing\n"), "/proc/PID/status"),
        (texts(9, status=STATUS.replace("4 kB", "4 MB")), "kB"),
        (texts(9, status=STATUS.replace("RssAnon", "RssOther")), "RssAnon"),
        (texts(9, status=STATUS.replace("\nvoluntary", "\nother")), "voluntary_ctxt_switches"),
        (texts(9, schedstat="1500000000 250000000\n"), "3 numbers"),
        (texts(9, io=IO.replace("\nwrite_bytes", "\nother_bytes")), "/proc/PID/io"),
    ],
    ids=["status", "unit", "own-memory", "switches", "schedstat", "io"],
)
def test_a_worker_in_another_format_is_an_error(
    worker: ProcessTexts, expected: str, observer: Observer, program: Canned
) -> None:
    """A zero in the place of a figure that is not there would be believed."""
    program.read_workers = WorkerTexts(workers=(worker,), at_s=12.5)
    with pytest.raises(LabError, match=f"nginx's workers cannot be read: .*{expected}"):
        observer.workers()


def test_sockets_are_counted_by_the_names_of_their_states(observer: Observer) -> None:
    assert observer.sockets(8000) == SocketFigures(
        listeners=(ListenerFigures(queued=3, backlog=511),),
        local={"LISTEN": 1, "ESTAB": 4},
        others={"TIME-WAIT": 2, "ESTAB": 1},
        send_queue_bytes=1234,
        unread_bytes=(77,),
    )


def test_a_watch_is_as_fine_as_was_asked_for(observer: Observer, program: Canned) -> None:
    observer.watch(8000)
    observer.watch(8001, interval_s=0.2)
    assert program.watches == [(8000, 0.05), (8001, 0.2)]
    assert observer.watched() == SAMPLES


def test_turns_are_those_of_each_worker(observer: Observer, channel: Joined) -> None:
    turns = observer.turns(12.5, 112.5)
    assert (turns.workers, turns.start_s, turns.end_s) == (TURNS.workers, 12.5, 112.5)
    assert channel.lasts_s == [100.0]
    assert [(worker.pid, worker.turn_bytes_p50) for worker in turns.workers] == [(9, 1500), (12, None)]


def test_settings_calls_and_texts_come_back_as_values(observer: Observer, channel: Joined) -> None:
    """A sysctl that the kernel does not have is None."""
    assert observer.sysctl("net.core.somaxconn") == "4096"
    assert observer.sysctl("net.core.none") is None
    assert observer.calls() == CALLS
    assert observer.printed("sockets") == b"State Recv-Q\n"
    observer.close()
    assert channel.closed


def test_a_difference_is_what_was_added_in_between() -> None:
    """Name by name, CPU by CPU, and the seconds.

    A level may fall; ICMP's types are shown once they have counted something; a CPU's counters may start again.
    """
    wrapped, again = cpu(2**32 - 5, 2**32 - 1, 2**32 - 2), cpu(10, 0, 2**32 - 1)
    earlier = counters(at_s=10.0, drops=3, established=50, softnet=(cpu(1, 2, 3), wrapped))
    later = counters(at_s=12.5, drops=10, established=20, unreachable=4, softnet=(cpu(5, 2, 4), again))
    assert later.since(earlier) == counters(
        at_s=2.5, drops=7, established=-30, unreachable=4, softnet=(cpu(4, 0, 1), cpu(15, 1, 1))
    )


def test_readings_of_different_cpus_have_no_difference() -> None:
    """One that was switched on in between would shift all others."""
    with pytest.raises(ValueError, match="longer"):
        counters(at_s=2.0, softnet=(cpu(1),)).since(counters(at_s=1.0, softnet=(cpu(1), cpu(1))))
