"""Turns bpftrace's lines into the figures of each worker in each second, without I/O."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tuneproof.explain.parse.event_loop import Call, LongIteration, LoopSecond
from tuneproof.watch.program import CLOSED, LONG_NS, Architecture, Level
from tuneproof.watch.workers import Descriptors, Doing, Worker, peer

_NS_PER_S: Final = 1e9
Targets = Callable[[Mapping[int, set[int] | None]], Descriptors]
"""Returns the files and peers of processes' descriptors; None stands for all descriptors of a process."""
RunTimes = Callable[[int], tuple[float, float] | None]
"""Returns how long a process has run, and waited for a CPU, since its start, in seconds; None if unknown."""
_SHORTEST_NS: Final = 200_000_000
# Values of sched_switch's prev_state (include/linux/sched.h): __TASK_STOPPED and __TASK_TRACED; sleeping or exiting.
_STOPPED: Final = 0xC
_ASLEEP: Final = 0xF3
_CallKey = tuple[int, int, int, int]  # a call's number, its descriptor, the peer's address, its nanoseconds
_STOPS: Final = frozenset("Tt")
_GONE: Final = frozenset({"", "Z", "X"})
_SLEEPS: Final = frozenset("DS")


@dataclass(kw_only=True)
class _Since:
    """Totals of a worker at the end of its last second."""

    histogram: dict[int, int] = field(default_factory=dict)
    busy_ns: int = 0
    read: int = 0
    written: int = 0
    times: tuple[float, float] | None = None


@dataclass(kw_only=True)
class Collector:
    """Collects the output of one program."""

    level: Level
    here: Architecture
    targets: Targets
    run_times: RunTimes
    doing: Callable[[int], Doing]
    origin_ns: int  # when the recording started (monotonic clock)
    began_as: int | None = None  # bpftrace's process id in the kernel; None until its program runs
    lost_events: int = 0
    _last_ns: int = 0
    _names: dict[int, str] = field(default_factory=dict)  # of the workers, by process id
    _seen_since_ns: dict[int, int] = field(default_factory=dict)  # when watching began, by process id
    _waited_before_s: dict[int, float] = field(default_factory=dict)  # earlier waits for a CPU, by process id
    _maps: dict[str, dict[tuple[int, ...], Any]] = field(default_factory=lambda: defaultdict(dict))
    _since: dict[int, _Since] = field(default_factory=lambda: defaultdict(_Since))
    _long: dict[int, list[list[int]]] = field(default_factory=lambda: defaultdict(list))
    _paths: dict[tuple[int, int], tuple[int, str]] = field(default_factory=dict)
    _at_first: dict[int, Mapping[int, str]] = field(default_factory=dict)  # descriptors when watching began
    _away: set[int] = field(default_factory=set)  # workers outside of epoll_wait: their iteration began unseen

    def begin(self, now_ns: int) -> None:
        """Set the beginning of the first second (monotonic clock), when all probes are attached."""
        self._last_ns = now_ns

    def add(self, *workers: Worker) -> None:
        """Add workers that the program has just begun to watch."""
        for each in workers:
            self._names[each.pid] = each.name
            self._seen_since_ns[each.pid] = self._last_ns
            self._since[each.pid].times = times = self.run_times(each.pid)
            if times is not None:
                self._waited_before_s[each.pid] = times[1]
        if self.level is Level.CALLS:
            # From now on, the program itself tracks descriptors.
            self._at_first |= self.targets({each.pid: None for each in workers})

    def drop(self, *workers: Worker) -> None:
        """Forget ended workers; a later process may have the same id."""
        for each in workers:
            self._names.pop(each.pid, None)
            self._waited_before_s.pop(each.pid, None)
            self._at_first.pop(each.pid, None)
            self._away.discard(each.pid)

    def feed(self, line: str) -> tuple[LoopSecond, ...]:
        """Process a line; after the last line of a second, return the figures of each worker in it."""
        try:
            record = json.loads(line)
        except ValueError:
            # A path may contain bytes that are not valid in JSON; blank lines are bpftrace's own.
            return ()
        kind, data = record["type"], record["data"]
        if kind in {"map", "hist"}:
            for name, entries in data.items():
                if isinstance(entries, dict):
                    self._maps[name] = {_key(key): value for key, value in entries.items()}
        elif kind == "lost_events":
            self.lost_events += int(data["events"])
        elif kind == "printf":
            return self._printed(*data.split(" ", 1))
        return ()

    def end(self, now_ns: int) -> tuple[LoopSecond, ...]:
        """Return the partial second after the last full one; empty if under 0.2 s and without a long iteration."""
        # bpftrace may take more than a second to end, and meanwhile print another second.
        now_ns = max(now_ns, self._last_ns)
        is_long = now_ns - self._last_ns >= _SHORTEST_NS
        made = () if self.began_as is None else self._second(now_ns)
        return made if is_long or any(each.long or (each.unfinished and each.lasted_s) for each in made) else ()

    def _printed(self, word: str, rest: str = "") -> tuple[LoopSecond, ...]:
        if word == "began":
            self.began_as = int(rest)
        elif word == "long":
            worker, *numbers = map(int, rest.split())
            self._long[worker].append(numbers)
        elif word == "path":
            of, call, took_ns, path = rest.split(" ", 3)
            key = int(of), int(call)
            self._paths[key] = max(self._paths.get(key, (0, "")), (int(took_ns), path))
        elif word == "second":
            return self._second(int(rest))
        return ()

    def _second(self, now_ns: int) -> tuple[LoopSecond, ...]:
        last_ns, self._last_ns = self._last_ns, now_ns
        calls: dict[int, list[_CallKey]] = defaultdict(list)
        for (pid, call, on, sockaddr), took_ns in self._maps["@calls_ns"].items():
            if took_ns:
                calls[pid].append((call, on, sockaddr, took_ns))
        used = {
            pid: {on for _, on, _, _ in calls[pid]} | {each[10] for each in self._long[pid]}
            for pid in self._names
            if calls[pid] or self._long[pid]
        }
        known = self.targets(used) if used else {}
        lasted_s = (now_ns - last_ns) / _NS_PER_S
        made = tuple(self._worker(pid, now_ns, lasted_s, calls[pid], known.get(pid, {})) for pid in self._names)
        for name in ("@calls_ns", "@calls_bytes"):
            self._maps[name] = {}
        self._long.clear()
        self._paths.clear()
        return made

    def _worker(
        self, pid: int, now_ns: int, lasted_s: float, calls: list[_CallKey], known: Mapping[int, str]
    ) -> LoopSecond:
        since, every = self._since[pid], self.level.every
        histogram = {bucket["min"].bit_length() - 1: bucket["count"] for bucket in self._maps["@took"].get((pid,), ())}
        grown = {
            exponent: every * (number - since.histogram.get(exponent, 0))
            for exponent, number in histogram.items()
            if number > since.histogram.get(exponent, 0)
        }
        busy, read, written = (self._maps[name].get((pid,), 0) for name in ("@busy", "@read", "@written"))
        times = self.run_times(pid)
        passed = (
            None if times is None or since.times is None else (times[0] - since.times[0], times[1] - since.times[1])
        )
        is_timed = self.level is Level.CALLS
        second = LoopSecond(
            at_s=(now_ns - self.origin_ns) / _NS_PER_S,
            lasted_s=lasted_s,
            worker=pid,
            name=self._names[pid],
            iterations=sum(grown.values()),
            busy_s=every * (busy - since.busy_ns) / _NS_PER_S,
            histogram=grown,
            read_bytes=read - since.read if is_timed else None,
            written_bytes=written - since.written if is_timed else None,
            run_s=passed and passed[0],
            wait_s=passed and passed[1],
            calls=tuple(
                Call(
                    name=self._call(call),
                    on=self._on(pid, call, self._was(pid, on, sockaddr, known)),
                    took_s=took_ns / _NS_PER_S,
                    moved_bytes=self._maps["@calls_bytes"].get((pid, call, on, sockaddr), 0),
                )
                for call, on, sockaddr, took_ns in calls
            ),
            long=tuple(self._iteration(pid, each, known) for each in self._long[pid]),
            unfinished=self._unfinished(pid, now_ns, times),
        )
        self._since[pid] = _Since(histogram=histogram, busy_ns=busy, read=read, written=written, times=times)
        return second

    def _iteration(self, pid: int, numbers: list[int], known: Mapping[int, str]) -> LongIteration:
        start, took, events, waited, blocked, stopped, called, read, written, longest, which, on, sockaddr = numbers
        return LongIteration(
            at_s=(start - self.origin_ns) / _NS_PER_S,
            took_s=took / _NS_PER_S,
            events=_events(events),
            waited_s=waited / _NS_PER_S,
            blocked_s=blocked / _NS_PER_S,
            stopped_s=stopped / _NS_PER_S,
            called_s=called / _NS_PER_S if self.level is Level.CALLS else None,
            read_bytes=read,
            written_bytes=written,
            longest_call=self._call(which) if longest else "",
            longest_on=self._on(pid, which, self._was(pid, on, sockaddr, known)) if longest else "",
            longest_s=longest / _NS_PER_S,
        )

    def _unfinished(self, pid: int, now_ns: int, times: tuple[float, float] | None) -> LongIteration | None:
        """Return a worker's current iteration so far; None if it is not long yet, or if the worker has ended.

        ``times``: how long the worker has run, and waited for a CPU, since its start; None if unknown.
        """
        start, events = self._maps["@start"].get((pid,), (0, 0))
        left, state = self._maps["@off"].get((pid,), (0, 0))
        stopped, sleeps, unseen_wait_ns = bool(state & _STOPPED), bool(state & _ASLEEP), 0
        if (pid,) in self._maps["@start"]:
            if not start or now_ns - start < LONG_NS:
                return None
            now = self.doing(pid)
            # The iteration in which a worker exits never ends, and delays no request.
            if now.state in _GONE:
                return None
        else:
            # The start of its iteration is unknown, and the worker may be about to wait: only one that is busy in two
            # seconds in a row is reported.
            now = self.doing(pid)
            was_away = pid in self._away
            is_away = now.call not in self.here.waits and now.state not in _GONE
            (self._away.add if is_away else self._away.discard)(pid)
            start = self._seen_since_ns[pid]
            if not is_away or not was_away or now_ns - start < LONG_NS:
                return None
            stopped, sleeps = now.state in _STOPS, now.state in _SLEEPS
            left = start if stopped or sleeps else 0
            # The program did not see the worker lose its CPU, but schedstat has the wait.
            if times is not None and (before_s := self._waited_before_s.get(pid)) is not None:
                unseen_wait_ns = max(0, round(_NS_PER_S * (times[1] - before_s)))
        took = now_ns - start
        gap = max(0, now_ns - left) if left else 0
        waited, blocked, ended_stops = (
            self._maps[name].get((pid,), 0) if self._maps["@gaps_of"].get((pid,)) == start else 0
            for name in ("@waited", "@blocked", "@stopped")
        )
        # A program that is ending prints its maps after ``now_ns``, so the sums may be larger than the duration.
        stopped_ns = min(took, ended_stops + (gap if stopped else 0))
        waited_ns = min(took - stopped_ns, unseen_wait_ns + waited + (0 if stopped or sleeps else gap))
        own_ns = took - stopped_ns - waited_ns
        blocked_ns = min(own_ns, blocked + (gap if sleeps else 0))
        called_ns = min(own_ns, self._maps["@called"].get((pid,), 0) + (gap if sleeps else 0))
        call = now.call if left and sleeps else None
        target = "" if call is None else self.targets({pid: {now.on}}).get(pid, {}).get(now.on, "")
        return LongIteration(
            at_s=(start - self.origin_ns) / _NS_PER_S,
            took_s=took / _NS_PER_S,
            events=_events(events),
            waited_s=waited_ns / _NS_PER_S,
            blocked_s=blocked_ns / _NS_PER_S,
            stopped_s=stopped_ns / _NS_PER_S,
            called_s=called_ns / _NS_PER_S if self.level is Level.CALLS else None,
            read_bytes=0,
            written_bytes=0,
            longest_call="" if call is None else self._call(call),
            longest_on="" if call is None else self._on(pid, call, target),
            longest_s=0.0 if call is None else gap / _NS_PER_S,
            ended=False,
        )

    def _call(self, number: int) -> str:
        return self.here.names.get(number, f"system call {number}")

    def _was(self, pid: int, on: int, sockaddr: int, known: Mapping[int, str]) -> str:
        """Return what a descriptor referred to when it was used; its number may have been reused since."""
        now = known.get(on, "")
        is_full = self._maps["@full"].get((pid,))
        if not sockaddr and not is_full and (at_first := self._at_first.get(pid, {}).get(on)):
            return at_first
        # A descriptor that did not exist at first, and has no address in the program's maps, is a file.
        return peer(sockaddr or CLOSED, now)

    def _on(self, pid: int, call: int, target: str) -> str:
        if call in self.here.path_calls:
            return self._paths.get((pid, call), (0, ""))[1]
        return target if call in self.here.file_calls else ""


def _key(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _events(returned: int) -> int:
    """Return the number of events from epoll_wait's unsigned result; 0 if a signal interrupted it."""
    return returned if returned < 1 << 31 else 0
