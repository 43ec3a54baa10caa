"""Watches workers: one program after the other as workers come and go, and as its cost allows."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from tuneproof.explain.parse.event_loop import LoopSecond
from tuneproof.watch.collector import Collector
from tuneproof.watch.plan import Plan, costs
from tuneproof.watch.program import program
from tuneproof.watch.tracer import Accounting, Tracer, architecture, check_host, check_namespace
from tuneproof.watch.workers import PROC, Worker, targets
from tuneproof.wording import count, seconds, share

_STEP_S: Final = 0.2
_POLL_S: Final = 0.001
_ACCOUNT_EVERY: Final = 5
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
    _running: _Run | None = None
    _coming: _Run | None = None
    _lost: int = 0
    _turn: int = 0
    _accounting: Accounting | None = None
    _runs: tuple[tuple[int, int], ...] = ()
    _calls_made: int = 0
    _accounted_at_ns: int = 0

    def run(self) -> Iterator[tuple[LoopSecond, ...]]:
        """Yield each second of all workers; ends after the time that was asked for, and by KeyboardInterrupt.

        TuneproofError: It cannot be done here, or there is no worker (any more).
        """
        check_host()
        self.plan.workers = self.find()
        self._coming = self._start()
        ends_s = None
        try:
            while ends_s is None or time.monotonic() < ends_s:
                if ends_s is None and self.lasts_s is not None and self._running is not None:
                    ends_s = time.monotonic() + self.lasts_s
                if made := self._next():
                    yield made
                    self._adapt(made)
        finally:
            self.close()

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

    def close(self, *, but: _Run | None = None) -> None:
        """Leave nothing behind, but a program that takes over; may be called more than once."""
        if self._accounting is not None:
            self._accounting.close()
            self._accounting = None
        for run in (self._running, self._coming):
            if run is not None and run is not but:
                self._lost += run.collector.lost_events
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
                origin_ns=self.origin_ns,
            ),
        )

    def _next(self) -> tuple[LoopSecond, ...]:
        """Read on; a program that was started for a changed plan takes over when it runs, so that nothing is missed."""
        if (coming := self._coming) is not None and (line := coming.tracer.line(_POLL_S)) is not None:
            coming.collector.feed(line)
            if coming.collector.began_as is not None:
                check_namespace(coming.tracer, coming.collector.began_as)
                self.close(but=coming)
                self._running, self._coming, self._turn = coming, None, 0
        if (running := self._running) is None:
            return ()
        line = running.tracer.line(_STEP_S)
        return running.collector.feed(line) if line else ()

    def _adapt(self, made: tuple[LoopSecond, ...]) -> None:
        rates = {each.worker: each.iterations / each.lasted_s for each in made}
        changed = self._look_for_workers()
        if (cost_share := self._account()) is not None:
            self.cost_share = max(cost_share, self.cost_share or 0.0)
            if self.plan.adapt(rates, cost_share):
                changed = True
                self.notes.append(
                    f"{self._at()}: watching cost {share(round(cost_share, 4))} of a CPU per worker; from here on "
                    f"{self.plan.told}"
                )
        if changed:
            if self._coming is not None:
                self._coming.tracer.close()
            self._coming = self._start()

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

    def _account(self) -> float | None:
        """Ask the kernel now and then for a second what the program costs; None in all other seconds."""
        if self._running is None or self._coming is not None:
            return None
        self._turn += 1
        if self._accounting is not None:
            passed_ns = time.monotonic_ns() - self._accounted_at_ns
            runs = [
                (after[0] - before[0], after[1] - before[1])
                for before, after in zip(self._runs, self._running.tracer.runs(), strict=False)
            ]
            own_calls = self._running.collector.calls_made - self._calls_made
            self._accounting.close()
            self._accounting = None
            if not any(number for _, number in runs):
                return None
            everywhere_ns, in_workers_ns = costs(runs, own_calls=own_calls, times_calls=bool(self.plan.detailed))
            self.cost_everywhere = max(self.cost_everywhere, everywhere_ns / passed_ns)
            return in_workers_ns / passed_ns / len(self.plan.workers)
        if self._turn % _ACCOUNT_EVERY == 1:
            self._accounting = Accounting(architecture())
            self._runs = self._running.tracer.runs()
            self._calls_made = self._running.collector.calls_made
            self._accounted_at_ns = time.monotonic_ns()
        return None

    def _at(self) -> str:
        return f"at {seconds((time.monotonic_ns() - self.origin_ns) / _NS_PER_S)}"


def run_times(pid: int) -> tuple[float, float] | None:
    """Return how long a process ran and waited for a CPU; None where the kernel does not say, or it has ended."""
    try:
        run, wait, _ = (PROC / str(pid) / "schedstat").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    return int(run) / _NS_PER_S, int(wait) / _NS_PER_S
