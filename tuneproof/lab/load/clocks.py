"""The clocks of programs on several machines, each mapped to that of the machine that asks them.

A program that reports its time between a question and its answer read it at some moment between the two: halfway, give
or take half of what the way there and back took. Nothing else is known of another machine's clock, or assumed.
"""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Clock:
    """A program's CLOCK_MONOTONIC beside that of the machine that asks it."""

    ahead_s: float = 0.0  # how far it is ahead of the asking machine's; 0 where all programs share one clock
    doubt_s: float = 0.0  # how much that may be wrong, either way

    @classmethod
    def told(cls, own_s: float, *, asked_s: float, answered_s: float, took_s: float = 0.0) -> Self:
        """Build from an answer."""
        earliest_s = asked_s + took_s
        return cls(ahead_s=own_s - (earliest_s + answered_s) / 2, doubt_s=max(0.0, answered_s - earliest_s) / 2)

    def own_s(self, asking_s: float) -> float:
        """Return what the program calls a moment of the asking machine's."""
        return asking_s + self.ahead_s

    def asking_s(self, own_s: float) -> float:
        """Return what the asking machine calls a moment of the program's."""
        return own_s - self.ahead_s


COMMON = Clock()
"""Of programs that share one clock, whatever that of the asking machine is."""
