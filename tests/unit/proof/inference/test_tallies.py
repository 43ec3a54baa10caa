"""Exact limits of counted shares, against the textbook's answers and against counting."""

import math

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]  # scipy ships no type information

from tuneproof.proof.inference.tallies import Share, Tally, exact_limits, pooled


@pytest.mark.parametrize(("count", "of"), [(0, 10), (3, 10), (10, 10), (29, 29), (1, 1000)], ids=str)
def test_limits_are_those_of_the_exact_binomial_test(count: int, of: int) -> None:
    """As another implementation has them (scipy's binomtest, 90 % two-sided is 5 % on each side)."""
    interval = stats.binomtest(count, of).proportion_ci(confidence_level=0.9, method="exact")
    assert Tally(count=count, of=of).limits(0.05) == pytest.approx((interval.low, interval.high))


def test_limits_miss_no_more_often_than_declared_at_any_share() -> None:
    """By the exact probability of every count: no simulation, no luck."""
    limits = [Tally(count=count, of=12).limits(0.05) for count in range(13)]
    for share in np.linspace(0.01, 0.99, 99):
        chances = stats.binom.pmf(range(13), 12, share)
        assert sum(chance for chance, (low, _) in zip(chances, limits, strict=True) if low > share) <= 0.05
        assert sum(chance for chance, (_, high) in zip(chances, limits, strict=True) if high < share) <= 0.05


def test_a_difference_of_two_shares_misses_no_more_often_than_declared() -> None:
    """By the exact probability of every pair of counts; 30 units in each arm."""
    units, tail = 30, 0.05
    counts = range(units + 1)
    for first, second in ((0.5, 0.5), (0.9, 0.1), (1.0, 0.2), (0.97, 0.97), (0.3, 0.05)):
        difference = first - second
        missed_low = missed_high = 0.0
        for one in counts:
            for other in counts:
                chance = stats.binom.pmf(one, units, first) * stats.binom.pmf(other, units, second)
                if chance < 1e-9:
                    continue
                share = Share(of=Tally(count=one, of=units), less=Tally(count=other, of=units))
                low, high = exact_limits([share], tail=tail)
                missed_low += chance * (low > difference + 1e-12)
                missed_high += chance * (high < difference - 1e-12)
        assert missed_low <= tail, (first, second)
        assert missed_high <= tail, (first, second)


def test_tallies_are_pooled_by_their_units() -> None:
    """One of ten and nine of ninety are ten of a hundred."""
    assert pooled([Tally(count=1, of=10), Tally(count=9, of=90)]) == Tally(count=10, of=100)


def test_an_answer_is_one_unit() -> None:
    """Yes is one of one."""
    assert (Tally.yes(when=True), Tally.yes(when=False)) == (Tally(count=1, of=1), Tally(count=0, of=1))


def test_a_share_is_a_number_with_its_units() -> None:
    """By itself, or as a difference."""
    assert float(Share(of=Tally(count=3, of=4))) == 0.75
    assert float(Share(of=Tally(count=3, of=4), less=Tally(count=1, of=4))) == 0.5


@pytest.mark.parametrize(
    ("count", "of"), [(1, 0), (2, 1), (-1, 5), (math.nan, 5), (1, math.inf)], ids=["none", "more", "less", "nan", "inf"]
)
def test_what_is_no_share_is_refused(count: float, of: float) -> None:
    """The error names the number."""
    with pytest.raises(ValueError, match=r"at least one unit|between 0 and"):
        Tally(count=count, of=of)
