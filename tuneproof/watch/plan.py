"""How closely each worker is watched, so that watching stays cheap: no input or output of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tuneproof.watch.program import PROGRAM_OF_SWITCHES, PROGRAMS_OF_CALLS, PROGRAMS_OF_ITERATIONS
from tuneproof.watch.workers import Worker

MOST_COST_SHARE: Final = 0.01
"""Of a CPU, for each worker; twice that of one that iterates seldom."""
# What the kernel takes for an iteration, for a program that is entered at a call, and for one that times it besides
# (bpf_stats at 2.5 GHz: 250 to 350, 43 to 60, about 250 ns). A first guess, which the account corrects.
_ITERATION_NS: Final = 300
_ENTERED_NS: Final = 50
_TIMED_NS: Final = 250
_NS_PER_S: Final = 1e9
# Of an iteration besides those that the kernel counts for a process: epoll_wait, recvfrom, accept4, close.
_OTHER_CALLS: Final = 3
# The rarest that still meets long iterations: a worker that stands still has few of them in a second.
_RARELY_TIMED: Final = 4
_RARELY_COUNTED: Final = 16
_RAREST_COUNTED: Final = 256
# A worker with few iterations pays by its calls: what they do is what is looked for, and may cost twice as much.
_FEW_ITERATIONS_PER_S: Final = 3_000
_FOR_FEW: Final = 2
_MANY_ITERATIONS_PER_S: Final = 10_000
# More is looked at only where that leaves as much of the limit: else it would come and go.
_WIDENS_BELOW: Final = 0.8
_LEAST_TO_COMPARE: Final = 0.001


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What a worker does in a second."""

    iterations: float
    reads_and_writes: float

    @property
    def calls(self) -> float:
        """About how many system calls it makes."""
        return self.reads_and_writes + _OTHER_CALLS * self.iterations

    def cost_share(self, timed: int | None) -> float:
        """Return what it costs to watch the worker, of a CPU.

        ``timed``: In one of as many iterations calls are timed; None: in none of them.
        """
        of_calls = 0.0 if timed is None else 2 * self.calls * (_ENTERED_NS + _TIMED_NS / timed)
        return (_ITERATION_NS * self.iterations + of_calls) / _NS_PER_S


@dataclass(kw_only=True)
class Plan:
    """What the next program does: at first what is cheap for certain, then more where the account allows."""

    workers: tuple[Worker, ...] = ()
    most_share: float = MOST_COST_SHARE
    every: int = 16  # of as many short iterations one is counted
    timed: int = 1  # in one of as many iterations calls are timed
    detailed: frozenset[int] = frozenset()  # the workers whose calls are timed
    _dearer: float = 1.0  # what it costs here, as a multiple of what was guessed

    @property
    def told(self) -> str:
        """Say how closely it looks."""
        timed = f"of one in {self.timed} iterations of {len(self.detailed)} of {len(self.workers)} workers"
        return f"the calls {timed} are timed, and one in {self.every} iterations under 5 ms is counted"

    def begin(self, rates: Mapping[int, Rate]) -> None:
        """Choose the first program by what the workers were seen to do before it."""
        self._choose(rates, _WIDENS_BELOW)

    def adapt(self, rates: Mapping[int, Rate], cost_share: float | None) -> bool:
        """Take in a second, and tell whether another program is needed.

        Args:
            rates: What the workers do.
            cost_share: What watching cost in it, of a CPU in the worker that paid most; None where nobody counted.
        """
        self.detailed &= {each.pid for each in self.workers}
        before = self.detailed, self.timed, self.every
        shares = {pid: self._cost_share(pid, rate) for pid, rate in rates.items()}
        dearest = max(shares, key=lambda pid: shares[pid], default=None)
        if dearest is None:
            return False
        guess = shares[dearest]
        if cost_share is not None and guess >= _LEAST_TO_COMPARE:
            self._dearer *= cost_share / guess
            guess = cost_share
        if guess > self._most(rates[dearest]):
            self._choose(rates, 1)
        elif cost_share is not None:
            self._choose(rates, _WIDENS_BELOW)
            if (-len(self.detailed), self.timed, self.every) > (-len(before[0]), *before[1:]):
                self.detailed, self.timed, self.every = before
        return (self.detailed, self.timed, self.every) != before

    def _cost_share(self, pid: int, rate: Rate) -> float:
        return self._dearer * rate.cost_share(self.timed if pid in self.detailed else None)

    def _most(self, rate: Rate) -> float:
        """Return what watching a worker may cost, of a CPU."""
        return self.most_share * (_FOR_FEW if rate.iterations < _FEW_ITERATIONS_PER_S else 1)

    def _choose(self, rates: Mapping[int, Rate], part: float) -> None:
        """Time as many calls of as many workers as cost no more than a part of what they may.

        Of short iterations all are counted where there are few.
        """
        fits = {
            pid: next(
                (
                    timed
                    for timed in (1, _RARELY_TIMED)
                    if self._dearer * rate.cost_share(timed) <= part * self._most(rate)
                ),
                None,
            )
            for pid, rate in rates.items()
        }
        self.detailed = frozenset(pid for pid, timed in fits.items() if timed is not None)
        self.timed = max((timed for timed in fits.values() if timed is not None), default=1)
        if any(self._dearer * rate.cost_share(None) > self._most(rate) for rate in rates.values()):
            self.every = _RAREST_COUNTED
        else:
            many = any(rate.iterations >= _MANY_ITERATIONS_PER_S for rate in rates.values())
            self.every = _RARELY_COUNTED if many else 1


def costs(
    runs: Sequence[tuple[int, int]], *, own_iterations: int, own_switches: int, own_calls: int, times_calls: bool
) -> tuple[int, float]:
    """Return what the programs cost everywhere and, of that, in the workers, in nanoseconds.

    They also run, and return at once, where other processes wait for events, switch and call. The kernel's account
    has one sum for both; returning at once costs what the cheapest of all costs on average.

    Args:
        runs: Nanoseconds and number of runs of each program.
        own_iterations: How many iterations the workers made.
        own_switches: How often the workers left a CPU, or came to one.
        own_calls: How many calls they made.
        times_calls: Whether calls are timed at all.
    """
    everywhere_ns = sum(ran_ns for ran_ns, _ in runs)
    return_ns = min((ran_ns / number for ran_ns, number in runs if number), default=0.0)
    others = max(0, runs[PROGRAM_OF_SWITCHES][1] - own_switches)
    others += max(0, sum(number for _, number in runs[:PROGRAMS_OF_ITERATIONS]) - 2 * own_iterations)
    if times_calls:
        others += sum(max(0, number - own_calls) for _, number in runs[-PROGRAMS_OF_CALLS:])
    return everywhere_ns, max(0.0, everywhere_ns - others * return_ns)
