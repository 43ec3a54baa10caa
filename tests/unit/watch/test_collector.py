"""The collector turns bpftrace's output into figures for each worker and second."""

import json

import pytest

from tests.support.printed_maps import WORKER, histogram, printed
from tuneproof.explain.parse.event_loop import LoopSecond
from tuneproof.explain.parse.event_loop_summary import Reason, parts
from tuneproof.watch.collector import Collector
from tuneproof.watch.program import X86_64, Level
from tuneproof.watch.workers import Doing, Worker

START_NS = 5_000_000_000
READV, OPENAT = 19, 257


WAITS = Doing(state="S", call=232, on=8)


def collector(*, level: Level = Level.CALLS, now: Doing = WAITS) -> Collector:
    """Return a collector for one worker that runs half of the time; the recording began a second ago."""
    clock = iter(range(100))
    return Collector(
        level=level,
        here=X86_64,
        targets=lambda wanted: {
            pid: {number: f"file {number}" for number in numbers or () if number < 100}
            for pid, numbers in wanted.items()
        },
        run_times=lambda _: (0.5 * (tick := next(clock)), 0.1 * tick),
        doing=lambda _: now,
        origin_ns=START_NS - 1_000_000_000,
    )


def mapped(name: str, **entries: object) -> str:
    """Return a map as bpftrace prints it; ``_4711_19`` stands for the key 4711,19."""
    return json.dumps(
        {"type": "map", "data": {f"@{name}": {key[1:].replace("_", ","): each for key, each in entries.items()}}}
    )


def second(of: Collector, number: int, *lines: str) -> tuple[LoopSecond, ...]:
    for line in lines:
        assert of.feed(line) == ()
    return of.feed(printed(f"second {START_NS + number * 1_000_000_000}"))


def begun(**options: object) -> Collector:
    made = collector(**options)  # type: ignore[arg-type]  # passed on as they are
    assert made.feed(printed("began 99")) == ()
    assert made.began_as == 99
    made.begin(START_NS)
    made.add(Worker(pid=WORKER, name="nginx"))
    return made


def long(*, start: int = START_NS, which: int = READV, on: int = 7, called: int = 30_000_000, of: int = 0) -> str:
    """Return the line of an iteration of 40 ms, of which 2 ms were without a CPU and 3 ms asleep."""
    return printed(
        f"long {WORKER} {start} 40000000 4 2000000 3000000 0 {called} 8388608 4096 1000000 {which} {on} {of}"
    )


def test_a_second_is_the_increase_since_the_previous_one() -> None:
    """Bpftrace prints totals of the histogram, times and bytes; times in /proc are totals, too."""
    of = begun()
    first = second(of, 1, histogram(e16=10), mapped("busy", _4711=2_000_000), mapped("read", _0=0, _4711=500))
    again = second(of, 2, histogram(e16=15, e20=1), mapped("busy", _4711=5_000_000), mapped("read", _4711=900))
    (one,), (two,) = first, again
    assert (one.at_s, one.lasted_s, one.iterations, one.busy_s, one.read_bytes) == (2.0, 1.0, 10, 0.002, 500)
    assert (two.at_s, two.iterations, two.busy_s, two.read_bytes) == (3.0, 6, 0.003, 400)
    assert two.histogram == {16: 5, 20: 1}
    assert (two.run_s, two.wait_s) == (0.5, 0.1)


def test_a_long_iteration_is_reported_with_its_parts_and_its_file() -> None:
    """Times are in seconds since the start of the recording; calls have names instead of the kernel's numbers."""
    of = begun()
    (one,) = second(
        of,
        1,
        long(),
        mapped("calls_ns", _4711_19_7_0=20_000_000, _0_0_0_0=0),
        mapped("calls_bytes", _4711_19_7_0=8_388_608),
    )
    (iteration,) = one.long
    assert (iteration.at_s, iteration.took_s, iteration.events) == (1.0, 0.04, 4)
    assert (iteration.waited_s, iteration.blocked_s, iteration.called_s) == (0.002, 0.003, 0.03)
    assert (iteration.longest_call, iteration.longest_on, iteration.read_bytes) == ("readv", "file 7", 8_388_608)
    (call,) = one.calls
    assert (call.name, call.on, call.took_s, call.moved_bytes) == ("readv", "file 7", 0.02, 8_388_608)
    (after,) = second(of, 2)
    assert (after.long, after.calls) == ((), ())


def test_a_path_is_printed_on_a_separate_line() -> None:
    """The line of a long iteration contains only a pointer. A path may contain blanks."""
    of = begun()
    path = printed(f"path {WORKER} {OPENAT} 20000000 /mnt/slow disk/a b")
    shorter = printed(f"path {WORKER} {OPENAT} 2000000 /other")
    (one,) = second(of, 1, path, shorter, long(which=OPENAT, on=0x7F0012345678))
    assert one.long[0].longest_on == "/mnt/slow disk/a b"


def test_a_descriptor_is_named_after_its_use_at_that_time() -> None:
    """Now the descriptor is a client's; during the second, it was an upstream's or a file's."""
    of = collector()
    of.begin(START_NS)
    opened = {7: "upstream 10.0.0.3:8000"}
    of.targets = lambda wanted: {
        pid: opened if numbers is None else dict.fromkeys(numbers, "client 10.0.0.2:54321")
        for pid, numbers in wanted.items()
    }
    of.feed(printed("began 99"))
    of.add(Worker(pid=WORKER, name="nginx"))
    of.feed(long())
    opened = {}
    (one,) = second(of, 1, long(of=0x0300000A401F0002), mapped("calls_ns", _4711_19_7_65535=1, _4711_19_8_0=2))
    assert [each.longest_on for each in one.long] == ["upstream 10.0.0.3:8000"] * 2
    assert [call.on for call in one.calls] == ["", ""]
    # If the map of descriptors was full, a later use may be missing, so the first one is not reported.
    (two,) = second(of, 2, long(start=START_NS + 1_000_000_000), mapped("full", _4711=1))
    assert two.long[0].longest_on == ""


def test_calls_that_were_not_timed_are_not_reported_as_zero() -> None:
    (one,) = second(begun(level=Level.ITERATIONS), 1, long(called=0))
    assert one.long[0].called_s is None
    assert one.read_bytes is None


def test_sampled_short_iterations_are_scaled_up() -> None:
    (one,) = second(begun(level=Level.ITERATIONS), 1, histogram(e14=10), mapped("busy", _4711=1_000_000))
    assert (one.iterations, one.busy_s) == (160, 0.016)


def test_workers_come_and_go_with_a_reload() -> None:
    """A new worker counts from its own start; nothing more is reported for a worker that has ended."""
    of = begun()
    second(of, 1)
    of.add(Worker(pid=4712, name="nginx"))
    both = second(of, 2, mapped("busy", _4711=4_000_000, _4712=3_000_000))
    assert [(each.worker, each.busy_s) for each in both] == [(WORKER, 0.004), (4712, 0.003)]
    of.drop(Worker(pid=WORKER, name="nginx"))
    assert [each.worker for each in second(of, 3, long())] == [4712]


def test_lost_events_are_counted_and_other_lines_ignored() -> None:
    """Bpftrace prints blank lines, and a path may make its line invalid JSON."""
    of = begun()
    for line in (
        "",
        "\n",
        '{"type": "printf", "data": "path 1 \x01',
        '{"type": "attached_probes", "data": {"probes": 9}}',
    ):
        assert of.feed(line) == ()
    of.feed('{"type": "lost_events", "data": {"events": 3}}')
    assert of.lost_events == 3


def test_a_stop_ends_epoll_wait_with_an_error_and_its_time_counts_as_stopped() -> None:
    """A stop and the SIGCONT after it make epoll_wait return -EINTR on Linux (signal(7))."""
    of = begun()
    stop = printed(f"long {WORKER} {START_NS} 1000200000 {2**64 - 4} 0 0 1000000000 0 0 0 0 0 0 0")
    (one,) = second(of, 1, stop)
    assert one.long[0].events == 0
    assert parts(one.long[0]) == {Reason.STOPPED: 1.0}


def test_an_unfinished_iteration_is_reported_with_the_call_that_it_sleeps_in() -> None:
    """A worker that never returns must not look idle. An iteration that has ended has a separate line."""
    of = begun(now=Doing(state="D", call=OPENAT, on=0))
    off = mapped("off", _4711=[START_NS + 100_000_000, 2])
    (one,) = second(of, 1, mapped("start", _4711=[START_NS, 3]), off)
    assert one.unfinished is not None
    assert (one.unfinished.took_s, one.unfinished.blocked_s, one.unfinished.events) == (1.0, 0.9, 3)
    assert (one.unfinished.longest_call, one.unfinished.longest_s) == ("openat", 0.9)
    assert parts(one.unfinished) == {Reason.BLOCKED: 1.0}
    assert not one.unfinished.ended
    (two,) = second(of, 2, mapped("start", _4711=[0, 0]), mapped("off", _4711=[0, 0]))
    assert two.unfinished is None


@pytest.mark.parametrize("state", ["Z", "X", ""])
def test_the_iteration_in_which_a_worker_exits_is_not_a_stall(state: str) -> None:
    """A reload ends all workers: at a second's end, they are zombies or gone. The iteration's start may be unknown."""
    of = begun(now=Doing(state=state, call=None, on=0))
    left = mapped("off", _4711=[START_NS + 100_000_000, 0x20])
    (one,) = second(of, 1, mapped("start", _4711=[START_NS, 3]), left)
    assert one.unfinished is None
    unseen = begun(now=Doing(state=state, call=None, on=0))
    assert [made.unfinished for number in (1, 2) for made in second(unseen, number)] == [None, None]


def test_a_worker_that_never_returns_is_reported_even_if_its_iteration_began_earlier() -> None:
    """The worker's state at the end of two seconds in a row shows this; after one second, it may be about to wait."""
    of = begun(now=Doing(state="T", call=None, on=0))
    (one,), (two,) = second(of, 1), second(of, 2)
    assert one.unfinished is None
    assert two.unfinished is not None
    assert parts(two.unfinished) == {Reason.STOPPED: 2.0}
    busy = begun(now=Doing(state="R", call=None, on=0))
    (one,), (two,) = second(busy, 1), second(busy, 2)
    assert two.unfinished is not None
    assert parts(two.unfinished) == {Reason.STARVED: pytest.approx(0.2), Reason.COMPUTING: pytest.approx(1.8)}
    idle = begun()
    assert [made.unfinished for number in (1, 2) for made in second(idle, number)] == [None, None]


def test_the_last_part_of_a_second_is_reported_if_it_shows_something() -> None:
    """Otherwise, an iteration that ended in it would be lost; a few milliseconds without an iteration are ignored."""
    of = begun()
    second(of, 1)
    of.feed(long(start=START_NS + 1_000_000_000))
    (last,) = of.end(START_NS + 1_050_000_000)
    assert len(last.long) == 1
    assert of.end(START_NS + 1_060_000_000) == ()
    # While bpftrace ended, it printed another second.
    of.feed(long(start=START_NS + 1_020_000_000))
    (late,) = of.end(START_NS + 900_000_000)
    assert late.lasted_s == 0


def test_an_unfinished_iteration_is_not_reported_twice_at_the_end() -> None:
    """The last full second contains the iteration, and no time has passed since."""
    of = begun()
    (one,) = second(of, 2, mapped("start", _4711=[START_NS, 3]))
    assert one.unfinished is not None
    assert of.end(START_NS + 1_900_000_000) == ()


def test_waiting_time_added_after_the_end_is_limited_to_the_iteration() -> None:
    """Maps are printed a moment later: if waiting exceeded the iteration, the worker's own time would be negative."""
    of = begun()
    second(of, 1)
    of.feed(mapped("start", _4711=[START_NS + 1_000_000_000, 1]))
    of.feed(mapped("off", _4711=[START_NS + 1_300_000_000, 0]))
    of.feed(mapped("gaps_of", _4711=START_NS + 1_000_000_000))
    of.feed(mapped("waited", _4711=150_000_000))
    of.feed(mapped("called", _4711=90_000_000))
    (last,) = of.end(START_NS + 1_100_000_000)
    assert last.unfinished is not None
    assert (last.unfinished.took_s, last.unfinished.waited_s, last.unfinished.called_s) == (0.1, 0.1, 0.0)
