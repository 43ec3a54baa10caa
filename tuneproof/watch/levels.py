"""Chooses one of the two levels of detail by the workers' load, without I/O."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from tuneproof.watch.program import Level

MOST_CALLS_PER_S: Final = 50_000
"""Above this number of system calls per second in one worker, calls are not timed. Timing a call takes about 0.5 us at
2.6 GHz, including the kernel's overhead; this many calls take 2.5 % of a CPU."""
# System calls in an iteration that serves a small file, without those that /proc/PID/io counts (which leaves out
# recvfrom): epoll_wait, recvfrom twice, openat, fstat, setsockopt twice, close.
_OTHER_CALLS: Final = 8
_CALM_PART: Final = 0.5
_CALM_S: Final = 10


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A worker's iterations and calls per second."""

    iterations: float
    reads_and_writes: float

    @property
    def calls(self) -> float:
        """The worker's approximate number of system calls per second."""
        return self.reads_and_writes + _OTHER_CALLS * self.iterations


@dataclass(kw_only=True)
class Levels:
    """Switches to the coarse level at once and back after ten calm seconds, so a short pause changes nothing."""

    most_calls_per_s: float = MOST_CALLS_PER_S
    level: Level = Level.CALLS
    _calm_s: int = 0

    def adapt(self, rates: Collection[Rate]) -> bool:
        """Take the current rates of all workers, once a second, and return whether the level changed."""
        before, most = self.level, max((rate.calls for rate in rates), default=0.0)
        if most > self.most_calls_per_s:
            self.level = Level.ITERATIONS
        self._calm_s = self._calm_s + 1 if most < _CALM_PART * self.most_calls_per_s else 0
        if self._calm_s >= _CALM_S:
            self.level = Level.CALLS
        return self.level is not before
