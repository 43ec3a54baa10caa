"""What bpftrace prints becomes seconds of workers."""

import json

from tuneproof.explain.parse.event_loop import LoopSecond
from tuneproof.explain.parse.event_loop_summary import Reason, parts
from tuneproof.watch.collector import Collector
from tuneproof.watch.program import X86_64
from tuneproof.watch.workers import Doing

WORKER = 4711
START_NS = 5_000_000_000
READV, OPENAT = 19, 257


WAITS = Doing(state="S", call=232, on=8)


def collector(
    *, timed: int = 1, every: int = 1, detailed: frozenset[int] = frozenset({WORKER}), now: Doing = WAITS
) -> Collector:
    """A collector of one worker that runs half of the time; the recording began a second before it was started."""
    clock = iter(range(100))
    return Collector(
        names={WORKER: "nginx"},
        detailed=detailed,
        every=every,
        timed=timed,
        here=X86_64,
        targets=lambda _, numbers: {number: f"file {number}" for number in numbers or () if number < 100},
        run_times=lambda _: (0.5 * (tick := next(clock)), 0.1 * tick),
        doing=lambda _: now,
        origin_ns=START_NS - 1_000_000_000,
    )


def printed(text: str) -> str:
    return json.dumps({"type": "printf", "data": text})


def mapped(name: str, **entries: object) -> str:
    """A map, its keys without the at sign."""
    return json.dumps(
        {"type": "map", "data": {f"@{name}": {key[1:].replace("_", ","): each for key, each in entries.items()}}}
    )


def second(of: Collector, number: int, *lines: str) -> tuple[LoopSecond, ...]:
    for line in lines:
        assert of.feed(line) == ()
    return of.feed(printed(f"second {START_NS + number * 1_000_000_000}"))


def histogram(**counts: int) -> str:
    buckets = [{"min": 1 << int(name[1:]), "max": (2 << int(name[1:])) - 1, "count": n} for name, n in counts.items()]
    return json.dumps({"type": "hist", "data": {"@took": {str(WORKER): buckets}}})


def begun(**options: object) -> Collector:
    made = collector(**options)  # type: ignore[arg-type]  # passed on as they are
    assert made.feed(printed(f"began 99 {START_NS}")) == ()
    assert made.began_as == 99
    return made


def long(*, start: int = START_NS, which: int = READV, on: int = 7, called: int = 30_000_000, of: int = 0) -> str:
    """An iteration of 40 ms: 2 ms without a CPU, 3 ms asleep."""
    return printed(
        f"long {WORKER} {start} 40000000 4 2000000 3000000 0 {called} 8388608 4096 1000000 {which} {on} {of}"
    )


def test_a_second_is_what_was_added_since_the_one_before() -> None:
    """Bpftrace prints totals: of the histogram, of time, of bytes; and /proc has totals as well."""
    of = begun()
    first = second(of, 1, histogram(e16=10), mapped("busy", _4711=2_000_000), mapped("read", _0=0, _4711=500))
    again = second(of, 2, histogram(e16=15, e20=1), mapped("busy", _4711=5_000_000), mapped("read", _4711=900))
    (one,), (two,) = first, again
    assert (one.at_s, one.lasted_s, one.iterations, one.busy_s, one.read_bytes) == (2.0, 1.0, 10, 0.002, 500)
    assert (two.at_s, two.iterations, two.busy_s, two.read_bytes) == (3.0, 6, 0.003, 400)
    assert two.histogram == {16: 5, 20: 1}
    assert (two.run_s, two.wait_s) == (0.5, 0.1)


def test_a_long_iteration_has_its_parts_and_its_file() -> None:
    """Times in seconds since the recording's start; what the kernel calls by number has a name."""
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


def test_a_path_is_told_by_its_own_line() -> None:
    """The program passes a pointer, and prints the slowest paths; a name with blanks stays whole."""
    of = begun()
    path = printed(f"path {WORKER} {OPENAT} 20000000 /mnt/slow disk/a b")
    shorter = printed(f"path {WORKER} {OPENAT} 2000000 /other")
    (one,) = second(of, 1, path, shorter, long(which=OPENAT, on=0x7F0012345678))
    assert one.long[0].longest_on == "/mnt/slow disk/a b"


def test_a_descriptor_is_told_as_what_it_was_when_it_was_used() -> None:
    """By the end of the second it is a client's: before, an upstream's, since the start or by connect, or a file's."""
    of = begun()
    opened = {7: "upstream 10.0.0.3:8000"}
    of.targets = lambda _, numbers: opened if numbers is None else dict.fromkeys(numbers, "client 10.0.0.2:54321")
    of.feed(long())
    opened = {}
    (one,) = second(of, 1, long(of=0x0300000A401F0002), mapped("calls_ns", _4711_19_7_65535=1, _4711_19_8_0=2))
    assert [each.longest_on for each in one.long] == ["upstream 10.0.0.3:8000"] * 2
    assert [call.on for call in one.calls] == ["", ""]


def test_calls_that_were_not_timed_are_not_told_as_none() -> None:
    """Neither of a worker whose calls are not timed, nor of an iteration that was left out."""
    (one,) = second(begun(detailed=frozenset()), 1, long(called=0))
    assert one.long[0].called_s is None
    assert one.read_bytes is None
    of = begun(timed=4)
    (two,) = second(of, 1, long(start=START_NS & ~0x3F), long(start=START_NS & ~0x3F | 0x10), mapped("read", _4711=10))
    assert [each.called_s for each in two.long] == [0.03, None]
    assert two.read_bytes == 40


def test_short_iterations_of_which_one_in_many_was_counted_stand_for_all() -> None:
    of = begun(every=16)
    (one,) = second(of, 1, histogram(e14=10), mapped("busy", _4711=1_000_000))
    assert of.iterations == 160
    assert (one.iterations, one.busy_s) == (160, 0.016)


def test_lost_events_are_counted_and_other_lines_are_none() -> None:
    """Bpftrace prints blank lines, and a path may be no JSON."""
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


def test_a_stop_in_epoll_wait_ends_it_with_an_error_and_is_no_stall() -> None:
    """SIGSTOP interrupts epoll_wait, which returns -EINTR: no events, and the time is that of the stop."""
    of = begun()
    stop = printed(f"long {WORKER} {START_NS} 1000200000 {2**64 - 4} 0 0 1000000000 0 0 0 0 0 0 0")
    (one,) = second(of, 1, stop)
    assert one.long[0].events == 0
    assert parts(one.long[0]) == {Reason.STOPPED: 1.0}


def test_an_iteration_that_has_not_ended_is_told_with_the_call_that_it_sleeps_in() -> None:
    """A worker that is away for good would look idle otherwise; once it has ended only its own line counts."""
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


def test_a_worker_that_never_comes_back_is_told_though_no_program_saw_its_iteration_begin() -> None:
    """By what it does at two ends of seconds: at one it may be about to wait."""
    of = begun(now=Doing(state="T", call=None, on=0))
    (one,), (two,) = second(of, 1), second(of, 2)
    assert one.unfinished is None
    assert two.unfinished is not None
    assert parts(two.unfinished) == {Reason.STOPPED: 2.0}
    idle = begun()
    assert [made.unfinished for number in (1, 2) for made in second(idle, number)] == [None, None]


def test_what_two_programs_saw_is_told_once() -> None:
    """One takes over from the other while both run; each sees the start of an iteration at its own moment."""
    before, after = begun(), begun()
    (told,) = second(before, 1, long(), mapped("start", _4711=[START_NS, 3]))
    second(after, 1)
    assert not after.knows(before)
    second(after, 2, mapped("start", _4711=[0, 0]))
    assert after.knows(before)
    after.feed(long(start=START_NS + 700))
    after.take_over(before)
    (again,) = second(after, 3, long(start=START_NS - 700), long(start=START_NS + 90_000_000))
    assert len(told.long) == 1
    assert [each.at_s for each in again.long] == [1.09]


def test_the_last_part_of_a_second_is_told_where_it_has_something_to_tell() -> None:
    """An iteration that ended in it would be lost; a few milliseconds without one are none."""
    of = begun()
    second(of, 1)
    of.feed(long(start=START_NS + 1_000_000_000))
    (last,) = of.end(START_NS + 1_050_000_000)
    assert len(last.long) == 1
    assert of.end(START_NS + 1_060_000_000) == ()


def test_what_an_ending_program_adds_after_the_end_is_no_more_than_the_iteration() -> None:
    """Its maps are printed a moment later: more waiting than time would make the worker's own time negative."""
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
