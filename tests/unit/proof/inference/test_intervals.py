"""Intervals of effects per block, against answers worked out by hand and from simulated data."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from tuneproof.proof.inference.intervals import Interval, Scale, effect_interval, mean_intervals
from tuneproof.proof.inference.tallies import Share, Tally

_RATIOS = (8.0, 12.0, 9.5, 14.0, 10.5, 11.0)


def ratio_interval(effects: Sequence[float], *, tail: float = 0.05, seed: int = 1, resolution: float = 0.0) -> Interval:
    """Return the interval of ratios that vary."""
    interval = effect_interval(effects, scale=Scale.RATIO, tail=tail, seed=seed, resolution=resolution)
    assert interval is not None
    return interval


def share_interval(*blocks: tuple[float, float], tail: float = 0.05) -> Interval:
    """Return the interval of a share: count and units per block."""
    effects = [Share(of=Tally(count=count, of=of)) for count, of in blocks]
    interval = effect_interval(effects, scale=Scale.SHARE, tail=tail, seed=1)
    assert interval is not None
    return interval


def test_the_value_of_ratios_is_their_geometric_mean() -> None:
    """Twofold and eightfold average to fourfold."""
    assert ratio_interval([2.0, 8.0]).value == pytest.approx(4.0)


def test_the_value_of_shares_is_their_mean() -> None:
    """Shares of 0.2 and 0.8 average to 0.5."""
    assert share_interval((20, 100), (80, 100)).value == pytest.approx(0.5)


def test_the_interval_of_symmetric_data_is_students() -> None:
    """For e^-2 … e^2 the standard error is sqrt(2.5 / 5) and t(0.95, 4) is 2.132: 1.507 to each side."""
    interval = ratio_interval([math.exp(power) for power in (-2, -1, 0, 1, 2)])
    assert math.log(interval.low) == pytest.approx(-1.507, abs=0.02)
    assert math.log(interval.high) == pytest.approx(1.507, abs=0.02)


def test_the_interval_of_skewed_data_follows_their_tail() -> None:
    """With one block far above the others, the upper end lies beyond Student's, and farther off than the lower end."""
    effects = [1.0, 1.1, 0.9, 1.0, 1.2, 0.8, 1.1, 0.9, 1.0, 6.0]
    interval = ratio_interval([math.exp(effect) for effect in effects])
    students_reach = 1.833 * np.std(effects, ddof=1) / math.sqrt(10)
    assert math.log(interval.high / interval.value) > 1.1 * students_reach
    assert math.log(interval.value / interval.low) == pytest.approx(students_reach, abs=0.01)


def test_the_seed_decides_the_interval() -> None:
    """The same seed gives the same interval; another seed moves an end that the bootstrap sets, by little."""
    effects = [math.exp(effect) for effect in (1.0, 1.1, 0.9, 1.0, 1.2, 6.0)]
    first, again, other = (ratio_interval(effects, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first.high != other.high
    assert math.log(first.high) == pytest.approx(math.log(other.high), rel=0.05)


def test_a_smaller_tail_never_narrows_the_interval() -> None:
    """Less error costs width, at both ends."""
    intervals = [ratio_interval(_RATIOS, tail=tail) for tail in (0.2, 0.05, 0.01, 0.001)]
    assert all(wide.low < narrow.low and wide.high > narrow.high for narrow, wide in pairwise(intervals))


def test_equal_ratios_have_the_width_of_what_the_instrument_can_show() -> None:
    """A step of 2 %, half of it to each side, around the exact value."""
    interval = ratio_interval([1.5] * 6, resolution=0.02)
    assert interval.value == 1.5
    assert interval.high / interval.low == pytest.approx(1.02)
    assert math.sqrt(interval.high * interval.low) == pytest.approx(1.5)


def test_equal_ratios_without_a_resolution_have_no_interval() -> None:
    """Nothing tells how wide it would be: a point would claim to know everything."""
    assert effect_interval([0.1] * 6, scale=Scale.RATIO, tail=0.01, seed=1) is None


def test_a_resolution_does_not_widen_what_is_wider_already() -> None:
    """The spread decides where there is more of it."""
    assert ratio_interval(_RATIOS, resolution=1e-3) == ratio_interval(_RATIOS)


def test_five_right_answers_of_five_prove_55_percent() -> None:
    """0.05 ** (1 / 5): the textbook's exact limit, and never above 100 %."""
    interval = share_interval(*[(1, 1)] * 5)
    assert (interval.value, interval.high) == (1.0, 1.0)
    assert interval.low == pytest.approx(0.05**0.2)


def test_none_of_many_is_bounded_from_above() -> None:
    """None of 5000: the rule of three says 3 / 5000 at 0.05."""
    interval = share_interval(*[(0, 1000)] * 5)
    assert (interval.value, interval.low) == (0.0, 0.0)
    assert interval.high == pytest.approx(3 / 5000, rel=0.01)


def test_blocks_that_differ_more_than_their_units_can_widen_a_share() -> None:
    """A thousand units each, but blocks from 0.2 to 0.8: the blocks are the sample, not the units."""
    wide, narrow = (
        share_interval(*[(1000 * share, 1000) for share in (0.2, 0.8, 0.3, 0.7, 0.5)]),
        share_interval(*[(500, 1000)] * 5),
    )
    assert wide.high - wide.low > 10 * (narrow.high - narrow.low)


def test_a_difference_of_shares_has_the_doubt_of_both() -> None:
    """50 of 50 against 0 of 50 is not 1 for sure, and nothing lies beyond 1."""
    effects = [Share(of=Tally(count=10, of=10), less=Tally(count=0, of=10))] * 5
    interval = effect_interval(effects, scale=Scale.SHARE, tail=0.05, seed=1)
    assert interval is not None
    part = 1 - 0.05 ** (1 / 50)
    assert (interval.value, interval.high) == (1.0, 1.0)
    assert interval.low == pytest.approx(1 - math.hypot(part, part))


def test_a_share_without_units_is_refused() -> None:
    """A bare number hides how much it rests on."""
    with pytest.raises(ValueError, match="needs the units"):
        effect_interval([0.5, 0.6], scale=Scale.SHARE, tail=0.05, seed=1)


def test_effects_that_differ_by_rounding_only_give_a_finite_interval() -> None:
    """BCa is undefined there; the interval stays as small as the rounding."""
    interval = ratio_interval([1.0, 1.0, 1.0, 1.0, 1.0, 1.0 + 2e-16], tail=0.01)
    assert 1 - 1e-14 < interval.low <= interval.high < 1 + 1e-14


def test_a_ratio_beyond_floating_point_is_infinite_and_not_an_error() -> None:
    """Two absurdly different ratios leave everything open."""
    interval = ratio_interval([1e-300, 1e300], tail=0.01)
    assert (interval.low, interval.high) == (0.0, math.inf)


@pytest.mark.parametrize(
    ("effects", "scale", "message"),
    [
        pytest.param([2.0], Scale.RATIO, "at least 2 effects, got 1", id="one-block"),
        pytest.param([2.0, 0.0], Scale.RATIO, "greater than 0, got 0.0", id="zero-ratio"),
        pytest.param([2.0, -1.5], Scale.RATIO, "greater than 0, got -1.5", id="negative-ratio"),
        pytest.param([2.0, math.inf], Scale.RATIO, "finite, got inf", id="infinite-ratio"),
        pytest.param([2.0, math.nan], Scale.SHARE, "finite, got nan", id="nan-share"),
        pytest.param([0.0, 0.0], Scale.RATIO, "greater than 0, got 0.0", id="equal-zero-ratios"),
    ],
)
def test_effects_that_cannot_be_averaged_are_refused(effects: list[float], scale: Scale, message: str) -> None:
    """The error names the value."""
    with pytest.raises(ValueError, match=message):
        effect_interval(effects, scale=scale, tail=0.05, seed=1)


@pytest.mark.parametrize("tail", [0.0, 0.5, math.nan])
def test_a_tail_out_of_range_is_refused(tail: float) -> None:
    """A one-sided error probability lies between 0 and 0.5."""
    with pytest.raises(ValueError, match=r"tail must lie between 0 and 0\.5"):
        effect_interval([1.0, 2.0], scale=Scale.RATIO, tail=tail, seed=1)


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
