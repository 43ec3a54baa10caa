"""An observer's texts are parsed into figures."""

import dataclasses
from typing import Any

import pytest

from tests.support.observed import IO, STATUS, texts
from tuneproof.errors import LabError
from tuneproof.lab.load.observer import Counters, WorkerFigures
from tuneproof.lab.protocol.observer import CounterTexts, ProcessTexts, WorkerTexts

ZOMBIE = "Name:\tnginx\nState:\tZ (zombie)\nPid:\t{pid}\nvoluntary_ctxt_switches:\t17\n"
FIGURES: dict[str, Any] = {
    "rss_bytes": 4096,
    "rss_anon_bytes": 1024,
    "voluntary_switches": 17,
    "run_s": 1.5,
    "wait_s": 0.25,
    "write_bytes": 8192,
    "is_leaving": False,
    "is_asleep": True,
}
SOFTNET = "00000009 00000001 00000002" + " 00000000" * 6 + " {:08x} 00000000 00000000 {:08x} 00000000 00000000\n"
COUNTERS = CounterTexts(
    counters="TcpExt: ListenDrops\nTcpExt: 3\nTcp: MaxConn ActiveOpens\nTcp: -1 40\n",
    softnet=SOFTNET.format(9, 0) + SOFTNET.format(4096, 3),
    at_s=12.5,
)


def counters(*, at_s: float, steered: tuple[int, ...] = (), **values: int) -> Counters:
    return Counters(counters=values, steered=steered, at_s=at_s)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"title": "nginx: worker process is shutting down"}, {"is_leaving": True}),
        *(
            ({"status": STATUS.replace("S (sleeping)", state)}, {"is_asleep": False})
            for state in ("R (running)", "D (disk sleep)", "T (stopped)")
        ),
    ],
    ids=["asleep", "leaving", "running", "disk-wait", "stopped"],
)
def test_each_worker_has_its_figures_and_the_time_of_the_reading(
    changes: dict[str, str], expected: dict[str, Any]
) -> None:
    assert WorkerFigures.of(WorkerTexts(workers=(texts(9, **changes), texts(12)), at_s=12.5)) == (
        WorkerFigures(pid=9, at_s=12.5, **{**FIGURES, **expected}),
        WorkerFigures(pid=12, at_s=12.5, **FIGURES),
    )


def test_the_counters_include_those_of_each_cpu() -> None:
    assert Counters.of(COUNTERS) == Counters(
        counters={"TcpExt.ListenDrops": 3, "Tcp.MaxConn": -1, "Tcp.ActiveOpens": 40},
        steered=(9, 4096),
        at_s=12.5,
    )


@pytest.mark.parametrize(
    "unreadable",
    [
        dataclasses.replace(COUNTERS, counters="no such file\n"),
        dataclasses.replace(COUNTERS, counters="TcpExt: ListenDrops\nTcpExt: 3 4\n"),
    ],
    ids=["no-counters", "a-value-without-a-name"],
)
def test_counters_in_another_format_are_an_error(unreadable: CounterTexts) -> None:
    with pytest.raises(LabError, match=r"the kernel's counters cannot be read: .*expected"):
        Counters.of(unreadable)


def test_a_worker_that_has_ended_is_left_out() -> None:
    """A zombie still has its files in /proc, but no memory."""
    read = WorkerTexts(workers=(texts(9, status=ZOMBIE), texts(12)), at_s=12.5)
    assert [worker.pid for worker in WorkerFigures.of(read)] == [12]


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
def test_a_worker_in_another_format_is_an_error(worker: ProcessTexts, expected: str) -> None:
    """A zero in place of a missing figure would look like a measurement."""
    with pytest.raises(LabError, match=f"nginx's workers cannot be read: .*{expected}"):
        WorkerFigures.of(WorkerTexts(workers=(worker,), at_s=12.5))


def test_the_difference_of_two_readings_contains_the_increments() -> None:
    """Gauges may fall, an ICMP counter appears once it is not zero, and the 32-bit counters of a CPU wrap."""
    earlier = counters(at_s=10.0, drops=3, established=50, steered=(1, 2**32 - 5))
    later = counters(at_s=12.5, drops=10, established=20, unreachable=4, steered=(5, 10))
    assert later.since(earlier) == counters(at_s=2.5, drops=7, established=-30, unreachable=4, steered=(4, 15))


def test_readings_of_different_numbers_of_cpus_cannot_be_subtracted() -> None:
    """If a CPU went offline between the readings, the rows of the others may have shifted."""
    with pytest.raises(ValueError, match="longer"):
        counters(at_s=2.0, steered=(1,)).since(counters(at_s=1.0, steered=(1, 1)))
