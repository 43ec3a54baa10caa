"""Watches workers that start and end, at one of two levels of detail."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tuneproof.errors import TuneproofError
from tuneproof.explain.parse.event_loop import LoopSecond
from tuneproof.watch.collector import Collector
from tuneproof.watch.diagnosis import some
from tuneproof.watch.kernel import Accounting, KernelMap, run_time_ns
from tuneproof.watch.levels import Levels, Rate
from tuneproof.watch.program import STARTS, WATCHED, program
from tuneproof.watch.tracer import Tracer, architecture, check_host, check_namespace
from tuneproof.watch.workers import PROC, Worker, doing, is_there, moved, targets
from tuneproof.wording import count, seconds, share

_LOOKS_FIRST_S: Final = 0.3
_LOOKS_EVERY_S: Final = 1.0
# Bytes per call for ordinary responses; a bulk transfer's calls move more, and many share an iteration.
_SMALL_BYTES: Final = 2048
_STEP_S: Final = 0.2
_POLL_S: Final = 0.001
# The accounting itself takes time; one second in ten is enough.
_ACCOUNT_EVERY: Final = 10
_LEAST_ACCOUNT_NS: Final = 500_000_000
_MOST_NOTES: Final = 100
_NS_PER_S: Final = 1e9


@dataclass(kw_only=True)
class _Run:
    """A running program, and its output."""

    tracer: Tracer
    collector: Collector
    watched: KernelMap | None = None  # None until the program has begun
    starts: KernelMap | None = None

    @property
    def folder(self) -> Path:
        return PROC / str(self.tracer.pid)

    def begin(self, workers: tuple[Worker, ...]) -> None:
        """Set the workers, once the program runs."""
        self.watched = KernelMap(self.collector.here, owner=self.folder, name=WATCHED)
        self.starts = KernelMap(self.collector.here, owner=self.folder, name=STARTS)
        # bpftrace prints its first line when all probes are attached.
        self.collector.begin(time.monotonic_ns())
        self.add(*workers)

    def add(self, *workers: Worker) -> None:
        if self.watched is not None:
            for each in workers:
                self.watched.put(each.pid, 1)
            self.collector.add(*workers)

    def drop(self, *workers: Worker) -> None:
        """Stop watching workers that have ended: other processes may get their ids."""
        for each in workers:
            for map_ in (self.watched, self.starts):
                if map_ is not None:
                    map_.drop(each.pid)
        self.collector.drop(*workers)

    def close(self) -> None:
        for map_ in (self.watched, self.starts):
            if map_ is not None:
                map_.close()
        self.watched = self.starts = None
        self.tracer.close()


@dataclass(kw_only=True)
class Watching:
    """Yields the figures of all workers second by second, and collects notes about how they were watched."""

    find: Callable[[], tuple[Worker, ...]]
    lasts_s: float | None  # None to watch until an interrupt
    levels: Levels = field(default_factory=Levels)
    cost_share: float | None = None  # the highest cost so far, of all processes, as a share of one CPU; None if unknown
    origin_ns: int = field(default_factory=time.monotonic_ns)
    _notes: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_NOTES))
    _workers: tuple[Worker, ...] = ()
    _ends_s: float = math.inf
    _looks_at_s: float = 0.0
    _running: _Run | None = None
    _coming: _Run | None = None
    _lost: int = 0
    _seconds: int = 0
    _moved: dict[int, tuple[float, int, int]] = field(default_factory=dict)  # last time, calls and bytes, by process id
    _account: tuple[Accounting, int, int] | None = (
        None  # the accounting, when it began, and the programs' run time at that moment
    )

    def run(self) -> Iterator[tuple[LoopSecond, ...]]:
        """Yield each second of all workers, until the time is over or `stop` is called; the last one may be shorter.

        TuneproofError: This host does not allow watching, or there are no workers at the start.
        """
        check_host()
        self._workers = self.find()
        try:
            self._rates(())
            time.sleep(_LOOKS_FIRST_S)
            self.levels.adapt(self._rates(()))
            self._coming = self._start()
            while time.monotonic() < self._ends_s:
                if made := self._next():
                    yield made
                    self._adapt(made)
                elif not self._workers and time.monotonic() >= self._looks_at_s:
                    # nginx has ended, and may be restarted.
                    self._look_for_workers()
            # Iterations that end in the last, partial second count as well.
            if self._running is not None and (made := self._finish(self._running)):
                yield made
        finally:
            self.close()

    def stop(self) -> None:
        """End soon, and keep the data so far."""
        self._ends_s = 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about how workers were watched: the last hundred, then lost events and the cost."""
        return (
            *self._notes,
            *([f"{count(self._lost, 'event')} lost, so the figures lack them"] if self._lost else ()),
            "the kernel does not report the cost of watching"
            if self.cost_share is None
            else f"watching cost at most {share(round(self.cost_share, 4))} of one CPU, all processes together "
            "(bpf_stats)",
        )

    def close(self) -> None:
        """End all programs; may be called more than once."""
        self._end_account()
        for run in (self._running, self._coming):
            if run is not None:
                run.close()
        self._running = self._coming = None

    def _start(self) -> _Run:
        """Start a program at the current level; it takes a second or more until it runs."""
        here, level = architecture(), self.levels.level
        return _Run(
            tracer=Tracer(program(here, level)),
            collector=Collector(
                level=level,
                here=here,
                targets=targets,
                run_times=run_times,
                doing=doing,
                origin_ns=self.origin_ns,
            ),
        )

    def _next(self) -> tuple[LoopSecond, ...]:
        """Read further output; a program at another level takes over as soon as it runs."""
        if (coming := self._coming) is not None and (line := coming.tracer.line(_POLL_S)) is not None:
            coming.collector.feed(line)
            if coming.collector.began_as is not None:
                return self._take_over(coming)
        if (running := self._running) is None:
            return ()
        line = running.tracer.line(_STEP_S)
        return running.collector.feed(line) if line else ()

    def _take_over(self, coming: _Run) -> tuple[LoopSecond, ...]:
        check_namespace(coming.tracer, coming.collector.began_as or 0)
        coming.begin(self._workers)
        before, self._running, self._coming = self._running, coming, None
        if before is not None:
            made = self._finish(before)
        else:
            made = ()
            if self.lasts_s is not None:
                self._ends_s = min(self._ends_s, time.monotonic() + self.lasts_s)
        self._begin_account()
        return made

    def _finish(self, run: _Run) -> tuple[LoopSecond, ...]:
        self._end_account()
        ended_ns = time.monotonic_ns()
        whole = [each for line in run.tracer.finish() for each in run.collector.feed(line)]
        made = (*whole, *run.collector.end(ended_ns))
        self._lost += run.collector.lost_events
        run.close()
        return made

    def _adapt(self, made: tuple[LoopSecond, ...]) -> None:
        rates = self._rates(made)
        self._look_for_workers()
        self._keep_account()
        if self._coming is None and self.levels.adapt(rates):
            self._note(f"from here on {self.levels.level.value}")
            self._coming = self._start()

    def _rates(self, made: tuple[LoopSecond, ...]) -> list[Rate]:
        """Return each worker's rate since the last call; missing iterations are estimated."""
        iterations = {each.worker: each.iterations / each.lasted_s for each in made if each.lasted_s}
        before, self._moved = (
            self._moved,
            {each.pid: (time.monotonic(), *moved(each.pid)) for each in self._workers},
        )
        rates = []
        for pid in before.keys() & self._moved.keys():
            passed_s, calls, size = (now - then for now, then in zip(self._moved[pid], before[pid], strict=True))
            guess = calls / passed_s if size < _SMALL_BYTES * calls else 0.0
            rates.append(Rate(iterations=iterations.get(pid, guess), reads_and_writes=calls / passed_s))
        return rates

    def _look_for_workers(self) -> None:
        """Watch the current workers: a reload replaces all of them."""
        known, self._looks_at_s = self._workers, time.monotonic() + _LOOKS_EVERY_S
        try:
            self._workers = self.find()
        except TuneproofError:
            # nginx has ended, a second one was started, or an engine does not answer: continue with the known workers.
            self._workers = tuple(each for each in known if is_there(each))
        ended = [each for each in known if each not in self._workers]
        new = [each for each in self._workers if each not in known]
        for run in (self._running, self._coming):
            if run is not None:
                run.drop(*ended)
                run.add(*new)
        for what, workers in (("ended", ended), ("started", new)):
            if workers:
                pids = [each.pid for each in workers]
                self._note(f"{count(len(pids), f'worker {what}', f'workers {what}')}: {some(pids)}")

    def _keep_account(self) -> None:
        """Keep the cost of watching if it is the highest so far; start the next measurement in every tenth second."""
        self._seconds += 1
        if self._account is not None and (run := self._running) is not None:
            accounting, began_ns, before_ns = self._account
            passed_ns = time.monotonic_ns() - began_ns
            if passed_ns < _LEAST_ACCOUNT_NS:
                return
            if accounting.works:
                cost = (run_time_ns(run.folder) - before_ns) / passed_ns
                self.cost_share = max(cost, self.cost_share or 0.0)
            self._end_account()
        elif self._seconds % _ACCOUNT_EVERY == 0:
            self._begin_account()

    def _begin_account(self) -> None:
        if self._running is not None:
            before_ns = run_time_ns(self._running.folder)
            self._account = Accounting(architecture()), time.monotonic_ns(), before_ns

    def _end_account(self) -> None:
        if self._account is not None:
            self._account[0].close()
            self._account = None

    def _note(self, text: str) -> None:
        self._notes.append(f"at {seconds((time.monotonic_ns() - self.origin_ns) / _NS_PER_S)}: {text}")


def run_times(pid: int) -> tuple[float, float] | None:
    """Return how long a process has run, and waited for a CPU, in seconds; None if unknown, or if it has ended."""
    try:
        run, wait, _ = (PROC / str(pid) / "schedstat").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    return int(run) / _NS_PER_S, int(wait) / _NS_PER_S
