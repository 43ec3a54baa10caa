"""Intervals of effects per block, against answers worked out by hand and from simulated data."""

import math
from itertools import pairwise

import numpy as np
import pytest

from fixtures.inference.intervals import Interval, Scale, bootstrap_interval, mean_intervals

_RATIOS = (8.0, 12.0, 9.5, 14.0, 10.5, 11.0)


def test_the_value_of_ratios_is_their_geometric_mean() -> None:
    """Twofold and eightfold average to fourfold."""
    assert bootstrap_interval([2.0, 8.0], scale=Scale.RATIO, tail=0.05, seed=1).value == pytest.approx(4.0)


def test_the_value_of_differences_is_their_mean() -> None:
    """Differences of 0.2 and 0.8 average to 0.5."""
    assert bootstrap_interval([0.2, 0.8], scale=Scale.DIFFERENCE, tail=0.05, seed=1).value == pytest.approx(0.5)


def test_the_interval_of_symmetric_data_is_students() -> None:
    """For -2 … 2 the standard error is sqrt(2.5 / 5) and t(0.95, 4) is 2.132, which reaches 1.507 to each side."""
    interval = bootstrap_interval([-2.0, -1.0, 0.0, 1.0, 2.0], scale=Scale.DIFFERENCE, tail=0.05, seed=1)
    assert interval.low == pytest.approx(-1.507, abs=0.02)
    assert interval.high == pytest.approx(1.507, abs=0.02)


def test_the_interval_of_skewed_data_follows_their_tail() -> None:
    """With one block far above the others, the upper end lies beyond Student's, and farther off than the lower end."""
    effects = [1.0, 1.1, 0.9, 1.0, 1.2, 0.8, 1.1, 0.9, 1.0, 6.0]
    interval = bootstrap_interval(effects, scale=Scale.DIFFERENCE, tail=0.05, seed=1)
    students_reach = 1.833 * np.std(effects, ddof=1) / math.sqrt(10)
    assert interval.high > interval.value + 1.1 * students_reach
    assert interval.low == pytest.approx(interval.value - students_reach, abs=0.01)


def test_ratios_and_their_logarithms_as_differences_agree() -> None:
    """The interval of ratios is that of their logarithms, exponentiated."""
    ratio = bootstrap_interval(_RATIOS, scale=Scale.RATIO, tail=0.03, seed=5)
    logarithms = [math.log(effect) for effect in _RATIOS]
    difference = bootstrap_interval(logarithms, scale=Scale.DIFFERENCE, tail=0.03, seed=5)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx(
        (math.exp(difference.value), math.exp(difference.low), math.exp(difference.high))
    )


def test_the_seed_decides_the_interval() -> None:
    """The same seed gives the same interval; another seed moves an end that the bootstrap sets, by little."""
    effects = [1.0, 1.1, 0.9, 1.0, 1.2, 6.0]
    first, again, other = (
        bootstrap_interval(effects, scale=Scale.DIFFERENCE, tail=0.05, seed=seed) for seed in (5, 5, 6)
    )
    assert first == again
    assert first.high != other.high
    assert first.high == pytest.approx(other.high, rel=0.05)


def test_a_smaller_tail_never_narrows_the_interval() -> None:
    """Less error costs width, at both ends."""
    intervals = [bootstrap_interval(_RATIOS, scale=Scale.RATIO, tail=tail, seed=1) for tail in (0.2, 0.05, 0.01, 0.001)]
    assert all(wide.low < narrow.low and wide.high > narrow.high for narrow, wide in pairwise(intervals))


@pytest.mark.parametrize("scale", list(Scale))
def test_effects_without_any_spread_give_a_point(scale: Scale) -> None:
    """Six times the same effect is that effect exactly, without a rounding error and without a warning."""
    interval = bootstrap_interval([0.1] * 6, scale=scale, tail=0.01, seed=1)
    assert interval == Interval(value=0.1, low=0.1, high=0.1)


def test_effects_that_differ_by_rounding_only_give_a_finite_interval() -> None:
    """BCa is undefined there; the interval stays as small as the rounding."""
    interval = bootstrap_interval([1.0, 1.0, 1.0, 1.0, 1.0, 1.0 + 2e-16], scale=Scale.RATIO, tail=0.01, seed=1)
    assert 1 - 1e-14 < interval.low <= interval.high < 1 + 1e-14


def test_a_ratio_beyond_floating_point_is_infinite_and_not_an_error() -> None:
    """Two absurdly different ratios leave everything open."""
    interval = bootstrap_interval([1e-300, 1e300], scale=Scale.RATIO, tail=0.01, seed=1)
    assert (interval.low, interval.high) == (0.0, math.inf)


@pytest.mark.parametrize(
    ("effects", "scale", "message"),
    [
        pytest.param([2.0], Scale.RATIO, "at least 2 effects, got 1", id="one-block"),
        pytest.param([2.0, 0.0], Scale.RATIO, "greater than 0, got 0.0", id="zero-ratio"),
        pytest.param([2.0, -1.5], Scale.RATIO, "greater than 0, got -1.5", id="negative-ratio"),
        pytest.param([2.0, math.inf], Scale.RATIO, "finite, got inf", id="infinite-ratio"),
        pytest.param([2.0, math.nan], Scale.DIFFERENCE, "finite, got nan", id="nan-difference"),
        pytest.param([0.0, 0.0], Scale.RATIO, "greater than 0, got 0.0", id="equal-zero-ratios"),
    ],
)
def test_effects_that_cannot_be_averaged_are_refused(effects: list[float], scale: Scale, message: str) -> None:
    """The error names the value."""
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(effects, scale=scale, tail=0.05, seed=1)


@pytest.mark.parametrize("tail", [0.0, 0.5, math.nan])
def test_a_tail_out_of_range_is_refused(tail: float) -> None:
    """A one-sided error probability lies between 0 and 0.5."""
    with pytest.raises(ValueError, match=r"tail must lie between 0 and 0\.5"):
        bootstrap_interval([1.0, 2.0], scale=Scale.RATIO, tail=tail, seed=1)


@pytest.mark.parametrize(("blocks", "tail"), [(5, 0.05), (6, 0.05), (6, 0.005), (12, 0.05), (24, 0.01)], ids=str)
def test_normal_data_miss_the_true_mean_at_most_as_often_as_declared(blocks: int, tail: float) -> None:
    """In 4000 simulated samples each end misses at the tail's rate or less, up to 3 standard deviations of counting."""
    samples = np.random.default_rng(20).standard_normal((4000, blocks))
    lows, highs = mean_intervals(samples, tail=tail, seed=21, resamples=999)
    limit = tail + 3 * math.sqrt(tail * (1 - tail) / 4000)
    assert (lows > 0).mean() <= limit
    assert (highs < 0).mean() <= limit


def test_each_row_of_samples_is_judged_on_its_own() -> None:
    """A row gives the same ends alone and beside another row, one without spread included."""
    samples = np.array([[1.0, 2.0, 3.0, 5.0, 9.0], [4.0, 4.0, 4.0, 4.0, 4.0]])
    lows, highs = mean_intervals(samples, tail=0.05, seed=1)
    low, high = mean_intervals(samples[:1], tail=0.05, seed=1)
    assert (lows[0], highs[0]) == pytest.approx((low[0], high[0]))
    assert (lows[1], highs[1]) == (4.0, 4.0)
