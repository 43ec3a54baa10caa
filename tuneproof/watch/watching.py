"""Watches workers: one program after the other as workers come and go, and as its cost allows."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tuneproof.explain.parse.event_loop import LoopSecond
from tuneproof.watch.collector import Collector
from tuneproof.watch.plan import Plan, Rate, costs
from tuneproof.watch.program import program
from tuneproof.watch.tracer import Accounting, Tracer, architecture, check_host, check_namespace
from tuneproof.watch.workers import PROC, Worker, doing, moved, targets
from tuneproof.wording import count, seconds, share

_LOOKS_FIRST_S: Final = 0.3
# Answers to ordinary requests; a bulk transfer's calls move more, and many of them share an iteration.
_SMALL_BYTES: Final = 2048
_STEP_S: Final = 0.2
_POLL_S: Final = 0.001
_ACCOUNT_EVERY: Final = 5
_LEAST_ACCOUNT_NS: Final = 500_000_000
_NS_PER_S: Final = 1e9


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A program that runs, and what it prints."""

    tracer: Tracer
    collector: Collector


@dataclass(kw_only=True)
class Watching:
    """Yields seconds of workers, and collects what must be told about how they were watched."""

    find: Callable[[], tuple[Worker, ...]]
    lasts_s: float | None  # None: until it is interrupted
    notes: list[str] = field(default_factory=list)
    cost_share: float | None = None  # the largest share of a CPU per worker so far; None where it is not known
    cost_everywhere: float = 0.0  # the largest share of a CPU in all processes together
    origin_ns: int = field(default_factory=time.monotonic_ns)
    plan: Plan = field(default_factory=Plan)
    _ends_s: float = math.inf
    _running: _Run | None = None
    _coming: _Run | None = None
    _lost: int = 0
    _turn: int = 0
    _moved: dict[int, tuple[float, int, int]] = field(default_factory=dict)  # when; calls and bytes by then
    _accounting: Accounting | None = None
    _runs: tuple[tuple[int, int], ...] = ()
    _own_before: tuple[int, int, int] = (0, 0, 0)
    _accounted_at_ns: int = 0

    def run(self) -> Iterator[tuple[LoopSecond, ...]]:
        """Yield each second of all workers, the last one perhaps shorter; ends when its time has come, or by `stop`.

        TuneproofError: It cannot be done here, or there is no worker (any more).
        """
        check_host()
        self.plan.workers = self.find()
        try:
            self._rates({})
            time.sleep(_LOOKS_FIRST_S)
            self.plan.begin(self._rates({}))
            self._coming = self._start()
            while time.monotonic() < self._ends_s:
                if made := self._next():
                    yield made
                    self._adapt(made)
            # What ends in the last, broken second counts as well.
            if self._running is not None and (made := self._finish(self._running)):
                yield made
        finally:
            self.close()

    def stop(self) -> None:
        """End soon, with what was seen so far."""
        self._ends_s = 0.0

    def told(self) -> tuple[str, ...]:
        """Return what must be told about how it was watched."""
        lost = self._lost
        return (
            *self.notes,
            *([f"{count(lost, 'event')} lost: the figures are too small by those"] if lost else ()),
            "the kernel keeps no account of what watching costs"
            if self.cost_share is None
            else f"watching cost at most {share(round(self.cost_share, 4))} of a CPU per worker (bpf_stats), "
            f"and {share(round(self.cost_everywhere, 4))} of a CPU with what other processes paid",
        )

    def close(self) -> None:
        """Leave nothing behind; may be called more than once."""
        self._end_account()
        for run in (self._running, self._coming):
            if run is not None:
                run.tracer.close()
        self._running = self._coming = None

    def _start(self) -> _Run:
        """Start a program for the plan as it is; it takes a second or more until it runs."""
        here = architecture()
        workers = self.plan.workers
        return _Run(
            tracer=Tracer(
                program(
                    here,
                    watched=[each.pid for each in workers],
                    detailed=self.plan.detailed,
                    every=self.plan.every,
                    timed=self.plan.timed,
                )
            ),
            collector=Collector(
                names={each.pid: each.name for each in workers},
                detailed=self.plan.detailed,
                every=self.plan.every,
                timed=self.plan.timed,
                here=here,
                targets=targets,
                run_times=run_times,
                doing=doing,
                origin_ns=self.origin_ns,
            ),
        )

    def _next(self) -> tuple[LoopSecond, ...]:
        """Read on; a program for a changed plan takes over once it knows what every worker is at."""
        if (coming := self._coming) is not None and (line := coming.tracer.line(_POLL_S)) is not None:
            made = coming.collector.feed(line)
            if self._running is None and coming.collector.began_as is not None:
                check_namespace(coming.tracer, coming.collector.began_as)
                self._begin(coming)
                if self.lasts_s is not None:
                    self._ends_s = min(self._ends_s, time.monotonic() + self.lasts_s)
            elif self._running is not None and made and coming.collector.knows(self._running.collector):
                made = self._finish(self._running)
                coming.collector.take_over(self._running.collector)
                self._begin(coming)
                return made
        if (running := self._running) is None:
            return ()
        line = running.tracer.line(_STEP_S)
        return running.collector.feed(line) if line else ()

    def _begin(self, run: _Run) -> None:
        self._running, self._coming, self._turn = run, None, 0
        self._begin_account(run)

    def _finish(self, run: _Run) -> tuple[LoopSecond, ...]:
        """End a program; return what it still had to tell."""
        self._end_account()
        ended_ns = time.monotonic_ns()
        whole = [each for line in run.tracer.finish() for each in run.collector.feed(line)]
        made = (*whole, *run.collector.end(ended_ns))
        self._lost += run.collector.lost_events
        run.tracer.close()
        return made

    def _adapt(self, made: tuple[LoopSecond, ...]) -> None:
        rates = self._rates({each.worker: each.iterations / each.lasted_s for each in made if each.lasted_s})
        changed = self._look_for_workers()
        cost_share = self._account(rates)
        if cost_share is not None:
            self.cost_share = max(cost_share, self.cost_share or 0.0)
        if self._coming is None and self.plan.adapt(rates, cost_share):
            changed = True
            cost = "" if cost_share is None else f"watching cost {share(round(cost_share, 4))} of a CPU per worker; "
            self.notes.append(f"{self._at()}: {cost}from here on {self.plan.told}")
        if changed:
            if self._coming is not None:
                self._coming.tracer.close()
            self._coming = self._start()

    def _rates(self, iterations: Mapping[int, float]) -> dict[int, Rate]:
        """Return what each worker did since this was asked last; iterations that are not known are guessed."""
        before, self._moved = (
            self._moved,
            {each.pid: (time.monotonic(), *moved(each.pid)) for each in self.plan.workers},
        )
        rates = {}
        for pid in before.keys() & self._moved.keys():
            passed_s, calls, size = (now - then for now, then in zip(self._moved[pid], before[pid], strict=True))
            guess = calls / passed_s if size < _SMALL_BYTES * calls else 0.0
            rates[pid] = Rate(iterations=iterations.get(pid, guess), reads_and_writes=calls / passed_s)
        return rates

    def _look_for_workers(self) -> bool:
        """Take in which workers there are now, and tell whether they are others than before."""
        workers = self.find()
        known = self.plan.workers
        self.notes += [f"{self._at()}: worker {each.pid} of {each.name} ended" for each in known if each not in workers]
        self.notes += [
            f"{self._at()}: worker {each.pid} of {each.name} is new" for each in workers if each not in known
        ]
        self.plan.workers = workers
        return workers != known

    def _account(self, rates: Mapping[int, Rate]) -> float | None:
        """Return what the second cost, where the kernel kept account of it: of the first one, and then now and then."""
        if (run := self._running) is None:
            return None
        self._turn += 1
        if self._accounting is None:
            if self._turn % _ACCOUNT_EVERY == 0 and self._coming is None:
                self._begin_account(run)
            return None
        passed_ns = time.monotonic_ns() - self._accounted_at_ns
        if passed_ns < _LEAST_ACCOUNT_NS:
            # A program has just taken over: the account goes on, and is taken at the end of its first second.
            return None
        runs = [
            (after[0] - before[0], after[1] - before[1])
            for before, after in zip(self._runs, run.tracer.runs(), strict=False)
        ]
        own = zip(self._own(run), self._own_before, strict=True)
        own_iterations, own_switches, own_calls = (now - then for now, then in own)
        self._end_account()
        if not any(number for _, number in runs):
            return None
        everywhere_ns, in_workers_ns = costs(
            runs,
            own_iterations=own_iterations,
            own_switches=own_switches,
            own_calls=own_calls,
            times_calls=bool(run.collector.detailed),
        )
        self.cost_everywhere = max(self.cost_everywhere, everywhere_ns / passed_ns)
        # The account has no worker: each pays by what it does.
        all_calls = sum(rate.calls for rate in rates.values())
        most = max((rate.calls for rate in rates.values()), default=0.0) / all_calls if all_calls else 1.0
        return most * in_workers_ns / passed_ns

    def _begin_account(self, run: _Run) -> None:
        self._accounting = Accounting(architecture())
        self._runs = run.tracer.runs()
        self._own_before = self._own(run)
        self._accounted_at_ns = time.monotonic_ns()

    def _own(self, run: _Run) -> tuple[int, int, int]:
        """Return how often the workers iterated, switched and called so far."""
        stays = (schedstat(each.pid) for each in self.plan.workers)
        switches = 2 * sum(stay[2] for stay in stays if stay is not None)
        return run.collector.iterations, switches, run.collector.calls_made

    def _end_account(self) -> None:
        if self._accounting is not None:
            self._accounting.close()
            self._accounting = None

    def _at(self) -> str:
        return f"at {seconds((time.monotonic_ns() - self.origin_ns) / _NS_PER_S)}"


def run_times(pid: int) -> tuple[float, float] | None:
    """Return how long a process ran and waited for a CPU; None where the kernel does not say, or it has ended."""
    found = schedstat(pid)
    return None if found is None else (found[0] / _NS_PER_S, found[1] / _NS_PER_S)


def schedstat(pid: int) -> tuple[int, int, int] | None:
    """Return nanoseconds that a process ran and waited for a CPU, and how often it got one; None as above."""
    try:
        run, wait, times = (PROC / str(pid) / "schedstat").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    return int(run), int(wait), int(times)
