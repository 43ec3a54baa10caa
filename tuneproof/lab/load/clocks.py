"""Clocks of programs on several machines, each mapped to the clock of the calling machine.

A program reads its clock at some time between the call and the response: halfway, plus or minus half of the round trip.
Nothing else is assumed about another machine's clock.
"""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Clock:
    """A program's CLOCK_MONOTONIC, compared with that of the calling machine."""

    ahead_s: float = 0.0  # how far the program's clock is ahead of the calling machine's; 0 if all share one clock
    doubt_s: float = 0.0  # the maximum error of that, in either direction

    @classmethod
    def from_response(cls, own_s: float, *, asked_s: float, answered_s: float, took_s: float = 0.0) -> Self:
        """Build from the time in a program's response; took_s: how long the program worked before it read its clock."""
        earliest_s = asked_s + took_s
        return cls(ahead_s=own_s - (earliest_s + answered_s) / 2, doubt_s=max(0.0, answered_s - earliest_s) / 2)

    def own_s(self, asking_s: float) -> float:
        """Convert a time on the calling machine's clock to the program's clock."""
        return asking_s + self.ahead_s

    def asking_s(self, own_s: float) -> float:
        """Convert a time on the program's clock to the calling machine's clock."""
        return own_s - self.ahead_s


COMMON = Clock()
"""The clock that several programs share, which need not be the calling machine's."""
