"""How the library talks to an observer, and what it makes of the answers."""

import dataclasses
import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.support import canned_turns
from tuneproof.errors import LabError
from tuneproof.lab.load.observer import (
    Counters,
    ListenerFigures,
    Observer,
    SocketFigures,
    SoftnetFigures,
    WatchSample,
    WorkerFigures,
)

if TYPE_CHECKING:
    from tuneproof.lab.topology.channel import Channel

FIGURES: dict[str, Any] = {
    "rss_bytes": 4096,
    "rss_anon_bytes": 1024,
    "voluntary_switches": 17,
    "nonvoluntary_switches": 3,
    "run_s": 1.5,
    "wait_s": 0.25,
    "write_bytes": 8192,
}
ANSWERS: dict[str, dict[str, Any]] = {
    "counters": {
        "counters": {"TcpExt.ListenDrops": 3},
        "softnet": [{"processed": 9, "dropped": 1, "squeezed": 2}, {"processed": 8, "dropped": 0, "squeezed": 0}],
        "at_s": 12.5,
    },
    "workers": {
        "workers": [{"pid": 9, **FIGURES}, {"pid": 12, **FIGURES}],
        "master": {"pid": 1, **FIGURES},
        "at_s": 12.5,
    },
    "sockets": {
        "listeners": [{"queued": 3, "backlog": 511}],
        "local": {"LISTEN": 1, "ESTAB": 4},
        "others": {"TIME-WAIT": 2},
        "send_queue_bytes": 1234,
    },
    "watch": {"watching": True},
    "signal": {"signalled": [9, 12]},
    "turns": {
        "workers": [canned_turns.raw_worker(9, read=[[67, 2, 3000]]), canned_turns.raw_worker(12)],
        "start_s": 12.5,
        "end_s": 13.75,
    },
    "watched": {
        "samples": [
            {"at_s": 12.5, "rss_bytes": [4096, 8192], "queued": 0},
            {"at_s": 12.55, "rss_bytes": [4096], "queued": 7},
        ]
    },
}


# Every method of the library's side, with the task that it asks for.
TASKS = {
    **{task: task for task in ANSWERS if task != "signal"},
    **dict.fromkeys(("stop_workers", "continue_workers", "reload"), "signal"),
}


class Program:
    """An observer's channel that knows its answers by heart.

    Attributes:
        asked: Every question.
        timeouts_s: How long each answer may take.
        errors: By task what is answered instead.
        closed: Whether the conversation has ended.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.timeouts_s: list[float] = []
        self.errors: dict[str, str] = {}
        self.closed = False

    def ask(self, question: dict[str, Any], *, timeout_s: float) -> Any:
        """Answer."""
        assert timeout_s > 0
        self.timeouts_s.append(timeout_s)
        self.asked.append(json.loads(json.dumps(question)))
        task = question["task"]
        # As over the wire: nobody shares an object with the one who asked.
        answer = {"error": self.errors[task]} if task in self.errors else ANSWERS[task]
        return json.loads(json.dumps(answer))

    def close(self) -> None:
        """End."""
        self.closed = True


@pytest.fixture
def program() -> Program:
    """A program that answers everything."""
    return Program()


@pytest.fixture
def observer(program: Program) -> Observer:
    """The library's side of it."""
    return Observer(cast("Channel", program))


def counters(*, at_s: float, softnet: tuple[SoftnetFigures, ...] = (), **values: int) -> Counters:
    """Return a reading."""
    return Counters(counters=values, softnet=softnet, at_s=at_s)


def cpu(processed: int, dropped: int = 0, squeezed: int = 0) -> SoftnetFigures:
    """Return one CPU's figures."""
    return SoftnetFigures(processed=processed, dropped=dropped, squeezed=squeezed)


def test_counters_are_read_with_those_of_each_cpu(observer: Observer, program: Program) -> None:
    """CPUs keep their order."""
    assert observer.counters() == Counters(
        counters={"TcpExt.ListenDrops": 3}, softnet=(cpu(9, 1, 2), cpu(8)), at_s=12.5
    )
    assert program.asked == [{"task": "counters"}]


def test_each_worker_has_the_time_of_its_reading(observer: Observer, program: Program) -> None:
    """Rates are taken between two readings; the master is no worker."""
    assert observer.workers() == (
        WorkerFigures(pid=9, at_s=12.5, **FIGURES),
        WorkerFigures(pid=12, at_s=12.5, **FIGURES),
    )
    assert program.asked == [{"task": "workers"}]


def test_sockets_are_counted_around_the_port_that_was_asked_for(observer: Observer, program: Program) -> None:
    """The port's sockets, the others, and the listeners by themselves."""
    assert observer.sockets(8000) == SocketFigures(
        listeners=(ListenerFigures(queued=3, backlog=511),),
        local={"LISTEN": 1, "ESTAB": 4},
        others={"TIME-WAIT": 2},
        send_queue_bytes=1234,
    )
    assert program.asked == [{"task": "sockets", "port": 8000}]


def test_a_watch_has_its_samples_in_order(observer: Observer, program: Program) -> None:
    """A worker that came to its end is not in the later ones."""
    observer.watch(8000)
    assert observer.watched() == (
        WatchSample(at_s=12.5, rss_bytes=(4096, 8192), queued=0),
        WatchSample(at_s=12.55, rss_bytes=(4096,), queued=7),
    )
    assert program.asked == [{"task": "watch", "port": 8000, "interval_s": 0.05}, {"task": "watched"}]


def test_a_watch_is_as_fine_as_was_asked_for(observer: Observer, program: Program) -> None:
    """The interval goes to the program as it is."""
    observer.watch(8001, interval_s=0.2)
    assert program.asked == [{"task": "watch", "port": 8001, "interval_s": 0.2}]


def test_turns_are_read_over_a_time_that_is_longer_than_an_answer_may_take(
    observer: Observer, program: Program
) -> None:
    """The observer answers when it is over."""
    turns = observer.turns(12.5, 112.5)
    assert turns.to_json() == ANSWERS["turns"]
    assert [(worker.pid, worker.turn_bytes_p50) for worker in turns.workers] == [(9, 1500), (12, None)]
    assert program.asked == [{"task": "turns", "start_s": 12.5, "end_s": 112.5}]
    assert program.timeouts_s[-1] > 100


@pytest.mark.parametrize(
    ("method", "name", "to"),
    [("stop_workers", "STOP", "workers"), ("continue_workers", "CONT", "workers"), ("reload", "HUP", "master")],
)
def test_signals_go_to_workers_or_to_the_master(
    method: str, name: str, to: str, observer: Observer, program: Program
) -> None:
    """Workers stop and go on; only the master can reload."""
    getattr(observer, method)()
    assert program.asked == [{"task": "signal", "name": name, "to": to}]


@pytest.mark.parametrize(("method", "task"), TASKS.items())
def test_an_error_is_an_error_of_the_lab(method: str, task: str, observer: Observer, program: Program) -> None:
    """The program's own words are the message, for every task; where it was is said, too."""
    program.errors[task] = "PermissionError: [Errno 13] Permission denied: '/proc/1/io'"
    arguments = {"sockets": (8000,), "watch": (8000,), "turns": (12.5, 13.5)}.get(method, ())
    with pytest.raises(LabError) as caught:
        getattr(observer, method)(*arguments)
    assert caught.value.what == "PermissionError: [Errno 13] Permission denied: '/proc/1/io'"
    assert caught.value.where == f"observer beside nginx, task {task}"


def test_closing_ends_the_conversation(observer: Observer, program: Program) -> None:
    """The program sees the end of its input."""
    assert not program.closed
    observer.close()
    assert program.closed


def test_a_difference_is_what_was_added_in_between() -> None:
    """Name by name, CPU by CPU, and the seconds; a level may fall."""
    earlier = counters(at_s=10.0, drops=3, established=50, softnet=(cpu(1, 2, 3), cpu(10, 20, 30)))
    later = counters(at_s=12.5, drops=10, established=20, softnet=(cpu(5, 2, 4), cpu(11, 22, 33)))
    assert later.since(earlier) == counters(at_s=2.5, drops=7, established=-30, softnet=(cpu(4, 0, 1), cpu(1, 2, 3)))


def test_a_counter_that_first_appears_began_at_zero() -> None:
    """The kernel shows those of ICMP's types only once they have counted something."""
    assert counters(at_s=2.0, unreachable=4).since(counters(at_s=1.0)).counters == {"unreachable": 4}


def test_a_cpus_counters_may_start_again() -> None:
    """They have 32 bits, which a busy machine fills in days."""
    earlier, later = cpu(2**32 - 5, 2**32 - 1, 2**32 - 2), cpu(10, 0, 2**32 - 1)
    assert later.since(earlier) == cpu(15, 1, 1)


def test_readings_of_different_cpus_have_no_difference() -> None:
    """One that was switched on in between would shift all others."""
    with pytest.raises(ValueError, match="longer"):
        counters(at_s=2.0, softnet=(cpu(1),)).since(counters(at_s=1.0, softnet=(cpu(1), cpu(1))))


def test_what_was_seen_can_be_kept_as_evidence(observer: Observer) -> None:
    """All of it goes into JSON, and what comes back is what the program said."""
    assert json.loads(json.dumps(observer.counters().to_json())) == ANSWERS["counters"]
    assert json.loads(json.dumps(observer.sockets(8000).to_json())) == ANSWERS["sockets"]
    assert [worker.to_json() for worker in observer.workers()] == [
        {**worker, "at_s": 12.5} for worker in ANSWERS["workers"]["workers"]
    ]
    samples = [json.loads(json.dumps(sample.to_json())) for sample in observer.watched()]
    assert samples == ANSWERS["watched"]["samples"]


def test_what_was_seen_does_not_change(observer: Observer) -> None:
    """Readings are kept and compared later."""
    reading = observer.workers()[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(reading, "rss_bytes", 0)  # noqa: B010 - as an assignment the type checker refuses it already
