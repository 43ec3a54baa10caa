"""The effect in one block: a ratio, a share, counted independent units, or responses to doses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import scipy  # type: ignore[import-untyped]  # scipy ships no type information

_FEWEST_DOSES = 3
_MOST_DOSES = 8


class Scale(StrEnum):
    """The scale of a number: a ratio, or a share (or a difference of two shares)."""

    RATIO = "ratio"
    SHARE = "share"


@dataclass(frozen=True, kw_only=True)
class Tally:
    """A count of independent units out of a total, such as the trials with a certain outcome.

    The requests in one trial are not independent: their share counts as one number.

    ValueError: ``count`` is not between 0 and ``of``, or there are no units.
    """

    count: int
    of: int

    def __post_init__(self) -> None:
        if self.of < 1:
            raise ValueError(f"a share needs at least one unit, got {self.of!r}")
        if not 0 <= self.count <= self.of:
            raise ValueError(f"count must lie between 0 and {self.of}, got {self.count!r}")

    @classmethod
    def yes(cls, *, when: bool) -> "Tally":
        """Return a count of 0 or 1 out of one unit."""
        return cls(count=int(when), of=1)

    def __float__(self) -> float:
        """The share, from 0 to 1."""
        return self.count / self.of


@dataclass(frozen=True, kw_only=True)
class Ordered:
    """The responses of one block to three to eight doses, from the largest dose to the smallest; all are positive.

    As a number it is the share of dose pairs in which the smaller dose had the smaller response.

    ValueError: There are too few or too many responses, or one is not positive and finite.
    """

    responses: tuple[float, ...]

    def __post_init__(self) -> None:
        if not _FEWEST_DOSES <= len(self.responses) <= _MOST_DOSES:
            raise ValueError(f"a dose-response needs {_FEWEST_DOSES} to {_MOST_DOSES} doses, got {len(self.responses)}")
        if not all(0 < response < math.inf for response in self.responses):
            raise ValueError(f"responses must be positive and finite, got {self.responses!r}")

    def __float__(self) -> float:
        """The share of ordered pairs, from 0 to 1; chance gives one half."""
        doses = range(len(self.responses))
        pairs = [(self.responses[i], self.responses[j]) for i in doses for j in doses if i < j]
        return sum(smaller < larger for larger, smaller in pairs) / len(pairs)


Effect = float | Tally | Ordered


def ratio(part: float, whole: float) -> float:
    """Divide; if only ``whole`` is zero, the ratio is infinite.

    ValueError: Both are 0, or one is not a number: the measurement may be broken.
    """
    if math.isnan(part) or math.isnan(whole) or part == whole == 0:
        raise ValueError(f"{part:g} ÷ {whole:g}: nothing was counted in either variant")
    return part / whole if whole else math.inf


def number(effect: Effect, scale: Scale) -> float:
    """Return an effect as a number; ValueError: it is not on this scale (0 and infinity count as ratios)."""
    value = float(effect)
    lowest, highest = (0.0, math.inf) if scale is Scale.RATIO else (-1.0, 1.0)
    if math.isnan(value) or not lowest <= value <= highest:
        raise ValueError(f"{value!r} is not a {scale.value}")
    return value


def page_p_value(blocks: Sequence[Ordered]) -> float:
    """Return the probability of an order at least this clear if the dose has no effect: Page's exact test, one-sided.

    Page 1963, "Ordered Hypotheses for Multiple Treatments". Ties get mean ranks, which is conservative.
    """
    table = [block.responses for block in blocks]
    ranks = range(len(table[0]), 0, -1)
    return float(scipy.stats.page_trend_test(table, predicted_ranks=ranks, method="exact").pvalue)


def reversals(blocks: Sequence[Ordered], *, tolerance_ratio: float, needed: int) -> list[int]:
    """Return the steps (0: largest dose to the next) at which at least ``needed`` blocks rise beyond the tolerance."""
    steps = range(len(blocks[0].responses) - 1)
    rises = (
        sum(block.responses[step + 1] > tolerance_ratio * block.responses[step] for block in blocks) for step in steps
    )
    return [step for step, rise in zip(steps, rises, strict=True) if rise >= needed]
