"""How closely each worker is watched, so that watching stays cheap: no input or output of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tuneproof.watch.program import PROGRAMS_OF_CALLS
from tuneproof.watch.workers import Worker

MOST_COST_SHARE: Final = 0.01
"""Of a CPU, for each worker."""
_COARSER: Final = 4
_COARSEST: Final = 256
# Fewer iterations have their many calls to blame: of their calls some are timed instead of none.
_BUSY_PER_S: Final = 3_000
# A worker's calls are timed again at a quarter of the rate at which that was too much.
_AGAIN: Final = 4


@dataclass(kw_only=True)
class Plan:
    """What the next program does."""

    workers: tuple[Worker, ...] = ()
    every: int = 1  # of as many short iterations one is counted
    timed: int = 4  # in one of as many iterations calls are timed
    _limits: dict[int, float] = field(default_factory=dict)  # rates at which timing a worker's calls cost too much

    @property
    def detailed(self) -> frozenset[int]:
        """The workers whose calls are timed."""
        return frozenset(each.pid for each in self.workers) - self._limits.keys()

    @property
    def told(self) -> str:
        """Say how closely it looks."""
        timed = f"of one in {self.timed} iterations of {len(self.detailed)} of {len(self.workers)} workers"
        return f"the calls {timed} are timed, and one in {self.every} iterations under 5 ms is counted"

    def adapt(self, rates: Mapping[int, float], cost_share: float) -> bool:
        """Take in what a second cost, and tell whether another program is needed.

        Args:
            rates: Iterations per second of each worker.
            cost_share: Of a CPU, on average over the workers.
        """
        before = self.detailed, self.every, self.timed
        busy = {pid: rate for pid, rate in rates.items() if pid in self.detailed and rate >= _BUSY_PER_S}
        if cost_share <= MOST_COST_SHARE:
            for pid, limit in list(self._limits.items()):
                if rates.get(pid, 0.0) < limit / _AGAIN:
                    del self._limits[pid]
            if cost_share < MOST_COST_SHARE / _AGAIN / _COARSER:
                self.every, self.timed = max(1, self.every // _COARSER), max(1, self.timed // _COARSER)
        elif busy:
            self._limits.update({pid: rate for pid, rate in busy.items() if rate >= max(busy.values()) / 2})
        elif self.detailed:
            self.timed = min(_COARSEST, self.timed * _COARSER)
        else:
            self.every = min(_COARSEST, self.every * _COARSER)
        return (self.detailed, self.every, self.timed) != before


def costs(runs: Sequence[tuple[int, int]], *, own_calls: int, times_calls: bool) -> tuple[int, float]:
    """Return what the programs cost everywhere and, of that, in the workers, in nanoseconds.

    The programs that time calls also run, and return at once, at the calls of all other processes. The kernel's account
    has one sum for both; returning at once costs what the cheapest of all the programs costs on average.

    Args:
        runs: Nanoseconds and number of runs of each program.
        own_calls: How many calls the workers made.
        times_calls: Whether calls are timed at all.
    """
    everywhere_ns = sum(ran_ns for ran_ns, _ in runs)
    if not times_calls:
        return everywhere_ns, everywhere_ns
    return_ns = min(ran_ns / number for ran_ns, number in runs if number)
    others = sum(max(0, number - own_calls) for _, number in runs[-PROGRAMS_OF_CALLS:])
    return everywhere_ns, max(0.0, everywhere_ns - others * return_ns)
