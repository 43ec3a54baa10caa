"""Summarises a recording of event loops: figures for each worker, and for its long iterations."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from tuneproof.explain.parse.event_loop import Call, LongIteration, LoopRecording, LoopSecond
from tuneproof.explain.parse.figures import MOST_FIGURES, Figure
from tuneproof.wording import count, seconds, share, size

# An ordinary event takes 10 to 100 microseconds. If events take less than a millisecond each, a long iteration means
# full load, not a stall.
_STALL_PER_EVENT_S: Final = 0.001
LONG_S: Final = 0.005
"""The duration from which the recording lists iterations one by one."""
_LONGEST_SHOWN: Final = 3
_SHOWN_SHARE: Final = 0.05
_NS_PER_S: Final = 1e9
_DELETED: Final = " (deleted)"
# The recorded starts of the same iteration differ by less than this.
_SAME_S: Final = 0.001


class Reason(StrEnum):
    """The reason for a long iteration."""

    STOPPED = "not running: stopped by a signal"
    STARVED = "ready to run, without a CPU"
    MANY_EVENTS = "many events in one iteration"
    BLOCKED = "blocked in a system call"
    CALLS = "busy in system calls"
    COMPUTING = "computing in user space"
    UNTIMED = "busy; its calls were not timed"


REASONS_OF_A_STALL: Final = frozenset({Reason.BLOCKED, Reason.CALLS, Reason.COMPUTING, Reason.UNTIMED})


def parts(iteration: LongIteration) -> dict[Reason, float]:
    """Return why an iteration was long: the seconds of each reason that alone would make it long."""
    own_s = iteration.took_s - iteration.stopped_s - iteration.waited_s
    found = {
        Reason.STOPPED: iteration.stopped_s,
        Reason.STARVED: iteration.waited_s,
        _own_reason(iteration, own_s): own_s,
    }
    return {reason: part_s for reason, part_s in found.items() if part_s >= LONG_S}


def _own_reason(iteration: LongIteration, own_s: float) -> Reason:
    if iteration.blocked_s >= own_s / 2:
        return Reason.BLOCKED
    if own_s < _STALL_PER_EVENT_S * iteration.events:
        return Reason.MANY_EVENTS
    if iteration.computed_s is None:
        return Reason.UNTIMED
    return Reason.COMPUTING if iteration.computed_s >= own_s / 2 else Reason.CALLS


@dataclass(frozen=True, kw_only=True)
class WorkerLoop:
    """One worker's event loop over a whole recording."""

    worker: int
    name: str
    watched_s: float
    iterations: int
    busy_share: float
    p50_s: float | None
    p99_s: float | None
    longest_s: float
    read_per_iteration_bytes: float | None
    written_per_iteration_bytes: float | None
    ready_s: float  # time in which it ran or was ready to run, by schedstat; 0 if unknown
    cpu_wait_share: float | None  # the share of that time without a CPU
    long: tuple[LongIteration, ...]
    calls: tuple[Call, ...]  # totals of its recorded calls, the longest first

    @property
    def timed(self) -> tuple[LongIteration, ...]:
        """The long iterations with timed calls."""
        return tuple(each for each in self.long if each.called_s is not None)

    def of(self, *reasons: Reason) -> tuple[LongIteration, ...]:
        """Return the long iterations with one of these reasons."""
        return tuple(each for each in self.long if not parts(each).keys().isdisjoint(reasons))

    def late_share(self, at_least_s: float, *reasons: Reason) -> float:
        """Return the probability that an event at a random moment must wait at least this long for these reasons alone.

        For reasons that are the worker's own work, the time that it waited for a CPU or was stopped is left out of
        the total time: otherwise a worker without enough CPU time would seem to stall less.
        """
        late_s = sum(
            max(0.0, part_s - at_least_s) for each in self.long for why, part_s in parts(each).items() if why in reasons
        )
        # The worker also waits for a CPU before its iterations begin, which only schedstat shows.
        waited_s = max(self.ready_s * (self.cpu_wait_share or 0.0), sum(each.waited_s for each in self.long))
        taken_s = waited_s + sum(each.stopped_s for each in self.long)
        # A wait that began before the recording counts in full, so the waits may be longer than the recording.
        ran_s = self.ready_s * (1 - (self.cpu_wait_share or 0.0))
        given_s = (
            self.watched_s if {Reason.STARVED, Reason.STOPPED} & set(reasons) else max(ran_s, self.watched_s - taken_s)
        )
        return min(1.0, late_s / given_s) if given_s > 0 else 0.0

    def spent(self, iterations: Sequence[LongIteration]) -> str:
        """List up to five parts of these iterations' own time, the largest first; parts below 5 % are omitted."""
        # If the calls of only some iterations were timed, these represent all.
        timed = [each for each in iterations if each.called_s is not None]
        own_s = sum(each.took_s - each.waited_s - each.stopped_s for each in timed or iterations)
        if own_s <= 0:
            return ""
        found = [(sum(each.blocked_s for each in iterations), "blocked in system calls")]
        if timed:
            called_s = sum(each.called_s or 0.0 for each in timed)
            noted_s = sum(call.took_s for call in self.calls) or 1.0
            found = [(sum(each.computed_s or 0.0 for each in timed), "in user space")]
            for call in self.calls:
                moved = f" {size(call.moved_bytes / len(self.timed))} each" if call.moved_bytes else ""
                found.append((called_s * call.took_s / noted_s, f"in {call.name}{moved}{on(call.on)}"))
        shares = [(part_s / own_s, what) for part_s, what in sorted(found, reverse=True)]
        return ", ".join(f"{share(round(part, 2))} {what}" for part, what in shares[:5] if part >= _SHOWN_SHARE)


def on(target: str) -> str:
    """Return the words for the target of a call; empty if unknown."""
    return f" on {target}" if target else ""


def summarise(recording: LoopRecording) -> tuple[WorkerLoop, ...]:
    """Return the workers of a recording, in order of name and process id."""
    of: dict[tuple[str, int], list[LoopSecond]] = defaultdict(list)
    for second in recording.seconds:
        of[second.name, second.worker].append(second)
    return tuple(_worker(name, worker, seconds) for (name, worker), seconds in sorted(of.items()))


def _worker(name: str, worker: int, of: Sequence[LoopSecond]) -> WorkerLoop:
    watched_s = sum(each.lasted_s for each in of)
    iterations = sum(each.iterations for each in of)
    long = [each for second in of for each in second.long]
    busy_s = sum(each.busy_s for each in of)
    # An unfinished iteration that ended later is already among the long ones.
    unfinished = {round(each.unfinished.at_s, 3): each.unfinished for each in of if each.unfinished is not None}
    for each in unfinished.values():
        if not any(abs(each.at_s - other.at_s) < _SAME_S for other in long):
            long.append(each)
            busy_s += each.took_s
    timed = [each for each in of if each.read_bytes is not None]
    timed_iterations = sum(each.iterations for each in timed)
    wanted_s = sum((each.run_s or 0.0) + (each.wait_s or 0.0) for each in of)
    histogram: Counter[int] = Counter()
    calls: dict[tuple[str, str], Call] = {}
    for second in of:
        histogram.update(second.histogram)
        for call in second.calls:
            key = call.name, _shared_name(call.on)
            known = calls.get(key)
            calls[key] = replace(call, on=key[1]) if known is None else _sum(known, call)
    return WorkerLoop(
        worker=worker,
        name=name,
        watched_s=watched_s,
        iterations=iterations,
        # An iteration counts in the second in which it ended, even if it began before the recording.
        busy_share=min(1.0, busy_s / watched_s) if watched_s else 0.0,
        p50_s=_percentile_s(histogram, long, 50),
        p99_s=_percentile_s(histogram, long, 99),
        longest_s=max((each.took_s for each in long), default=_largest_s(histogram)),
        read_per_iteration_bytes=_per(timed, timed_iterations, lambda each: each.read_bytes),
        written_per_iteration_bytes=_per(timed, timed_iterations, lambda each: each.written_bytes),
        ready_s=wanted_s,
        cpu_wait_share=sum(each.wait_s or 0.0 for each in of) / wanted_s if wanted_s else None,
        long=tuple(long),
        calls=tuple(sorted(calls.values(), key=lambda call: -call.took_s)),
    )


def _sum(one: Call, other: Call) -> Call:
    return Call(
        name=one.name,
        on=one.on,
        took_s=one.took_s + other.took_s,
        moved_bytes=one.moved_bytes + other.moved_bytes,
    )


def _shared_name(target: str) -> str:
    """Return the common part of targets of one kind: a client's address, the folder of nginx's temporary files."""
    if target.startswith("client "):
        return target.rpartition(":")[0]
    if target.endswith(_DELETED):
        folder = target.removesuffix(_DELETED)
        # Such as proxy_temp/3/00/0000000003 (https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_temp_path).
        while (name := folder.rpartition("/")[2]) and name.isdecimal():
            folder = folder.rpartition("/")[0]
        return folder
    return target


def _per(of: Iterable[LoopSecond], iterations: int, what: Callable[[LoopSecond], int | None]) -> float | None:
    return sum(what(each) or 0 for each in of) / iterations if iterations else None


def _percentile_s(histogram: Counter[int], long: Sequence[LongIteration], percent: int) -> float | None:
    """Return a percentile: exact for listed iterations (from 5 ms); others are rounded up to a power of two in ns."""
    total = histogram.total()
    if not total:
        return None
    rank = -(-percent * total // 100)
    from_top = total - rank
    if from_top < len(long):
        return sorted(each.took_s for each in long)[-1 - from_top]
    seen = 0
    for exponent in sorted(histogram):
        seen += histogram[exponent]
        if seen >= rank:
            return float(2 ** (exponent + 1)) / _NS_PER_S
    return _largest_s(histogram)


def _largest_s(histogram: Counter[int]) -> float:
    return float(2 ** (max(histogram) + 1)) / _NS_PER_S if histogram else 0.0


def figures(workers: Sequence[WorkerLoop]) -> tuple[Figure, ...]:
    """List the figures for each worker, and its longest iterations."""
    shown: list[Figure] = []
    names = Counter(loop.worker for loop in workers)
    for loop in workers:
        whole = f"worker {loop.worker} of {loop.name}"
        # Another program may have got the process id during the recording.
        of = f"worker {loop.worker}" if names[loop.worker] == 1 else whole
        prefix = f"{whole}: "
        for key, name, value, unit in (
            ("iterations_per_s", "iterations per second", _rate(loop), ""),
            ("busy_pct", "time outside epoll_wait", 100 * loop.busy_share, "%"),
            ("iteration_p50_s", "time of an iteration, p50", loop.p50_s, "s"),
            ("iteration_p99_s", "time of an iteration, p99", loop.p99_s, "s"),
            ("iteration_max_s", "longest iteration", loop.longest_s, "s"),
            ("read_per_iteration_bytes", "read per iteration", loop.read_per_iteration_bytes, "bytes"),
            ("written_per_iteration_bytes", "written per iteration", loop.written_per_iteration_bytes, "bytes"),
            ("cpu_wait_pct", "share of its ready time without a CPU", _percent(loop.cpu_wait_share), "%"),
            ("long_iterations", "iterations of 5 ms or longer", len(loop.long), ""),
        ):
            shown.append(Figure(key=key, name=prefix + name, value=value, unit=unit, of=of))
        for number, each in enumerate(longest(loop.long), start=1):
            shown.append(Figure(key=f"long_{number}", name=f"  at {seconds(each.at_s)}", value=describe(each), of=of))
    return tuple(shown[:MOST_FIGURES])


def _rate(loop: WorkerLoop) -> float:
    return loop.iterations / loop.watched_s if loop.watched_s else 0.0


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def longest(iterations: Iterable[LongIteration]) -> list[LongIteration]:
    """Return the three longest, the longest first."""
    return sorted(iterations, key=lambda each: -each.took_s)[:_LONGEST_SHOWN]


def describe(iteration: LongIteration) -> str:
    """Describe an iteration in one line."""
    so_far = "" if iteration.ended else " so far"
    text = f"{seconds(iteration.took_s)}{so_far}, {' and '.join(parts(iteration)) or 'for several reasons'}"
    if iteration.longest_call:
        text += f"; longest call: {iteration.longest_call}{on(iteration.longest_on)}, {seconds(iteration.longest_s)}"
    if iteration.read_bytes or iteration.written_bytes:
        text += f"; read {size(iteration.read_bytes)}, wrote {size(iteration.written_bytes)}"
    return f"{text}; {count(iteration.events, 'event')}"
