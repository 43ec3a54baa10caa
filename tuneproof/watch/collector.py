"""From the lines that bpftrace prints to seconds of workers: no input or output of its own."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tuneproof.explain.parse.event_loop import Call, LongIteration, LoopSecond
from tuneproof.watch.program import CLOSED, LONG_NS, Architecture
from tuneproof.watch.workers import Doing, peer

_NS_PER_S: Final = 1e9
Targets = Callable[[int, set[int] | None], Mapping[int, str]]
"""What descriptors of a process are: files and peers; None: all of them."""
RunTimes = Callable[[int], tuple[float, float] | None]
"""Seconds that a process ran and waited for a CPU since its start; None where that is not known."""
# Two programs see the start of an iteration one after the other; those that are listed last longer than this.
_SAME_NS: Final = 1_000_000
_BOTH_RUN_NS: Final = 10_000_000_000
_SHORTEST_NS: Final = 200_000_000
_Same = tuple[int, int]  # a worker, and the start of an iteration of its in these units
# Of sched_switch's prev_state (include/linux/sched.h): __TASK_STOPPED and __TASK_TRACED; asleep, of any kind.
_STOPPED: Final = 0xC
_ASLEEP: Final = 0xF3
_STOPS: Final = frozenset("Tt")
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
    """What one program prints, put together."""

    names: Mapping[int, str]  # of the workers, by process id
    detailed: Collection[int]
    every: int
    timed: int
    here: Architecture
    targets: Targets
    run_times: RunTimes
    doing: Callable[[int], Doing]
    origin_ns: int  # the recording's start, by the monotonic clock
    began_as: int | None = None  # bpftrace's process id as the kernel sees it; None until its program runs
    lost_events: int = 0
    _last_ns: int = 0
    _maps: dict[str, dict[tuple[int, ...], Any]] = field(default_factory=lambda: defaultdict(dict))
    _since: dict[int, _Since] = field(default_factory=lambda: defaultdict(_Since))
    _long: dict[int, list[list[int]]] = field(default_factory=lambda: defaultdict(list))
    _paths: dict[tuple[int, int], tuple[int, str]] = field(default_factory=dict)
    began_ns: int = 0  # since when its program or one before it saw the workers
    _at_first: dict[int, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))  # by process id
    _is_attached: bool = False
    _away: set[int] = field(default_factory=set)  # workers that no program saw, and that were not in epoll_wait
    told: set[_Same] = field(default_factory=set)  # in the last seconds
    _told_before: set[_Same] = field(default_factory=set)  # by the program before this one

    def feed(self, line: str) -> tuple[LoopSecond, ...]:
        """Take a line; the last one of a second gives that second of each worker."""
        try:
            told = json.loads(line)
        except ValueError:
            # A path's bytes may be no JSON; blank lines are bpftrace's own.
            return ()
        kind, data = told["type"], told["data"]
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
        """Return the part of a second since the last one, after the program's last lines; none if it has nothing."""
        is_long = now_ns - self._last_ns >= _SHORTEST_NS
        made = () if self.began_as is None else self._second(now_ns)
        return made if is_long or any(each.long or each.unfinished for each in made) else ()

    def take_over(self, before: "Collector") -> None:
        """Go on where another program's lines ended: what both saw counts once."""
        self._told_before = before.told
        self.began_ns = before.began_ns
        for pid, long in self._long.items():
            self._long[pid] = [each for each in long if not self._is_known(pid, each)]

    def knows(self, before: "Collector") -> bool:
        """Tell whether nothing is missed if the program before this one ends: no worker is in an iteration unknown."""
        return all(
            self.started(pid) is not None or not before.started(pid) for pid in self.names if pid in before.names
        )

    def _is_known(self, pid: int, numbers: list[int]) -> bool:
        """Tell whether the program before this one told of an iteration."""
        start = numbers[0] // _SAME_NS
        return not self._told_before.isdisjoint({(pid, start - 1), (pid, start), (pid, start + 1)})

    def started(self, pid: int) -> int | None:
        """Return when the iteration began that a worker was in; 0 for epoll_wait; None for a worker not seen yet."""
        found = self._maps["@start"].get((pid,))
        return None if found is None else int(found[0])

    @property
    def iterations(self) -> int:
        """How many iterations the workers made by the end of the last second; an estimate where not all are counted."""
        counted: list[int] = [bucket["count"] for pid in self.names for bucket in self._maps["@took"].get((pid,), ())]
        return self.every * sum(counted)

    @property
    def calls_made(self) -> int:
        """How many system calls the workers made; an estimate where those of one in several iterations are timed."""
        return self.timed * sum(int(self._maps["@made"].get((pid,), 0)) for pid in self.names)

    def _printed(self, word: str, rest: str = "") -> tuple[LoopSecond, ...]:
        if word == "began":
            self.began_as, self._last_ns = map(int, rest.split())
            self.began_ns = self._last_ns
            for pid in self.names:
                self._since[pid].times = self.run_times(pid)
            self._look()
            return ()
        if not self._is_attached:
            self._is_attached = True
            self._look()
        if word == "long":
            worker, *numbers = map(int, rest.split())
            self.told.add((worker, numbers[0] // _SAME_NS))
            if not self._is_known(worker, numbers):
                self._long[worker].append(numbers)
        elif word == "path":
            of, call, took_ns, path = rest.split(" ", 3)
            key = int(of), int(call)
            self._paths[key] = max(self._paths.get(key, (0, "")), (int(took_ns), path))
        elif word == "second":
            return self._second(int(rest))
        return ()

    def _look(self) -> None:
        """Note what descriptors are, as the program begins and when all of its probes are there: between, some end."""
        for pid in self.detailed:
            self._at_first[pid] |= self.targets(pid, None)

    def _second(self, now_ns: int) -> tuple[LoopSecond, ...]:
        last_ns, self._last_ns = self._last_ns, now_ns
        made = tuple(self._worker(pid, now_ns, (now_ns - last_ns) / _NS_PER_S) for pid in self.names)
        for name in ("@calls_ns", "@calls_bytes"):
            self._maps[name] = {}
        self._long.clear()
        self.told = {each for each in self.told if each[1] >= (now_ns - _BOTH_RUN_NS) // _SAME_NS}
        self._paths.clear()
        return made

    def _worker(self, pid: int, now_ns: int, lasted_s: float) -> LoopSecond:
        since = self._since[pid]
        histogram = {bucket["min"].bit_length() - 1: bucket["count"] for bucket in self._maps["@took"].get((pid,), ())}
        grown = {
            exponent: self.every * (number - since.histogram.get(exponent, 0))
            for exponent, number in histogram.items()
            if number > since.histogram.get(exponent, 0)
        }
        busy, read, written = (self._maps[name].get((pid,), 0) for name in ("@busy", "@read", "@written"))
        times = self.run_times(pid)
        passed = (
            None if times is None or since.times is None else (times[0] - since.times[0], times[1] - since.times[1])
        )
        is_detailed = pid in self.detailed
        calls = [(*key, took_ns) for (of, *key), took_ns in self._maps["@calls_ns"].items() if of == pid and took_ns]
        long = self._long[pid]
        known = self.targets(pid, {on for _, on, _, _ in calls} | {each[10] for each in long}) if calls or long else {}
        second = LoopSecond(
            at_s=(now_ns - self.origin_ns) / _NS_PER_S,
            lasted_s=lasted_s,
            worker=pid,
            name=self.names[pid],
            iterations=sum(grown.values()),
            busy_s=self.every * (busy - since.busy_ns) / _NS_PER_S,
            histogram=grown,
            read_bytes=self.timed * (read - since.read) if is_detailed else None,
            written_bytes=self.timed * (written - since.written) if is_detailed else None,
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
            long=tuple(self._iteration(pid, each, known) for each in long),
            unfinished=self._unfinished(pid, now_ns),
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
            called_s=called / _NS_PER_S if self._is_timed(pid, start) else None,
            read_bytes=read,
            written_bytes=written,
            longest_call=self._call(which) if longest else "",
            longest_on=self._on(pid, which, self._was(pid, on, sockaddr, known)) if longest else "",
            longest_s=longest / _NS_PER_S,
        )

    def _unfinished(self, pid: int, now_ns: int) -> LongIteration | None:
        """Return the iteration that a worker is in, so far."""
        now = self.doing(pid)
        start, events = self._maps["@start"].get((pid,), (0, 0))
        left, state = self._maps["@off"].get((pid,), (0, 0))
        stopped, sleeps = bool(state & _STOPPED), bool(state & _ASLEEP)
        if (pid,) not in self._maps["@start"]:
            # Nothing tells when it began, nor that it was not about to begin: it must be away twice.
            is_away = now.call not in self.here.waits and bool(now.state)
            was_away = pid in self._away
            (self._away.add if is_away else self._away.discard)(pid)
            if is_away and was_away:
                start = self.began_ns
                stopped, sleeps = now.state in _STOPS, now.state in _SLEEPS
                left = start if stopped or sleeps else 0
        if not start or now_ns - start < LONG_NS:
            return None
        took = now_ns - start
        gap = max(0, now_ns - left) if left else 0
        waited, blocked, ended_stops = (
            self._maps[name].get((pid,), 0) if self._maps["@gaps_of"].get((pid,)) == start else 0
            for name in ("@waited", "@blocked", "@stopped")
        )
        # A program that ends prints its maps a moment later, with what has been added by then.
        stopped_ns = min(took, ended_stops + (gap if stopped else 0))
        waited_ns = min(took - stopped_ns, waited + (0 if stopped or sleeps else gap))
        own_ns = took - stopped_ns - waited_ns
        blocked_ns = min(own_ns, blocked + (gap if sleeps else 0))
        called_ns = min(own_ns, self._maps["@called"].get((pid,), 0) + (gap if sleeps else 0))
        call = now.call if left and sleeps else None
        return LongIteration(
            at_s=(start - self.origin_ns) / _NS_PER_S,
            took_s=took / _NS_PER_S,
            events=_events(events),
            waited_s=waited_ns / _NS_PER_S,
            blocked_s=blocked_ns / _NS_PER_S,
            stopped_s=stopped_ns / _NS_PER_S,
            called_s=called_ns / _NS_PER_S if self._is_timed(pid, start) else None,
            read_bytes=0,
            written_bytes=0,
            longest_call="" if call is None else self._call(call),
            longest_on="" if call is None else self._on(pid, call, self.targets(pid, {now.on}).get(now.on, "")),
            longest_s=0.0 if call is None else gap / _NS_PER_S,
            ended=False,
        )

    def _is_timed(self, pid: int, start: int) -> bool:
        return pid in self.detailed and not (start >> 4) & (self.timed - 1)

    def _call(self, number: int) -> str:
        return self.here.names.get(number, f"system call {number}")

    def _was(self, pid: int, on: int, sockaddr: int, known: Mapping[int, str]) -> str:
        """Return what a descriptor was when it was used; by now it may be another one's."""
        now = known.get(on, "")
        if not sockaddr and (at_first := self._at_first[pid].get(on)):
            return at_first
        # What the program has seen no address of, and was not there at first, is a file.
        return peer(sockaddr or CLOSED, now)

    def _on(self, pid: int, call: int, target: str) -> str:
        if call in self.here.path_calls:
            return self._paths.get((pid, call), (0, ""))[1]
        return target if call in self.here.file_calls else ""


def _key(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _events(returned: int) -> int:
    """Return how many events epoll_wait has told of; where a signal ends it, it returns a negative number."""
    return returned if returned < 1 << 31 else 0
