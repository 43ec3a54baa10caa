"""An exact sequential sign test: when to examine the blocks, and how many must agree."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import comb

ERROR_RATE = 0.05
"""The maximum chance of a wrong *holds* over all looks together if the claim is just false; the same for *refuted*."""
COIN = 0.5  # the order of arms is random, so an effect at the threshold is equally often above and below it
FEWEST_BLOCKS = 5
"""Blocks before the first look: with fewer, all would agree by chance in more than 1 in 20 cases."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at the data."""

    units: int  # number of blocks, or of units in them, at this look
    needed: int  # how many of them must agree
    tail: float  # chance that this many or more agree, for this look alone


@dataclass(frozen=True, kw_only=True)
class Side:
    """The looks for one side of a threshold, and the exact chance that any of them is wrong."""

    looks: tuple[Look, ...]
    error: float


@lru_cache(maxsize=1024)
def side(units: tuple[int, ...], chance: float = COIN, rate: float = ERROR_RATE) -> Side:
    """Return how many units must agree at each look.

    Each look requires the smallest number for which the chance of a wrong decision so far stays within ``rate``. That
    chance is summed over every sequence of outcomes, without approximation: if 5 of 5 or later 8 of 9 must agree, it is
    4.1 %, for any distribution of the effects.

    Args:
        units: Units seen at each look, strictly increasing.
        chance: Probability that a unit agrees if the claim is only just false; one half for an effect at its threshold.
        rate: The error allowed for all looks together.

    ValueError: No look, or looks that do not increase from ``FEWEST_BLOCKS`` or more.
    """
    if not units or units[0] < FEWEST_BLOCKS or any(later <= earlier for earlier, later in pairwise(units)):
        raise ValueError(f"looks must increase from {FEWEST_BLOCKS} or more, got {units!r}")
    undecided = {0: 1.0}  # by number of agreeing units: the chance of this number without a decision so far
    looks, error, seen = [], 0.0, 0
    for total in units:
        further, seen = total - seen, total
        reached: dict[int, float] = {}
        for agree, probability in undecided.items():
            for more in range(further + 1):
                step = _binomial(more, further, chance)
                reached[agree + more] = reached.get(agree + more, 0.0) + probability * step
        needed = total + 1  # more units than there are: this look cannot decide
        for agree in sorted(reached, reverse=True):
            if error + reached[agree] > rate:
                break
            error += reached.pop(agree)
            needed = agree
        undecided = reached
        tail = sum(_binomial(agree, total, chance) for agree in range(needed, total + 1))
        looks.append(Look(units=total, needed=needed, tail=tail))
    return Side(looks=tuple(looks), error=error)


def _binomial(agree: int, of: int, chance: float) -> float:
    return comb(of, agree) * chance**agree * (1 - chance) ** (of - agree)
