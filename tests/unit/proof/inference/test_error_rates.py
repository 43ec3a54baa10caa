"""Simulated experiments: wrong verdicts come no more often than declared, and right ones come.

The effect of a block is simulated on its additive scale (the logarithm of a ratio), with the true effect at the
threshold for wrong verdicts and far from it for right ones.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from tuneproof.proof.inference.assessment import assess
from tuneproof.proof.inference.intervals import Interval, Scale, mean_intervals
from tuneproof.proof.inference.looks import Looks
from tuneproof.proof.inference.tallies import Share, Tally, exact_limits
from tuneproof.proof.inference.verdicts import Form, Verdict, decide

_EXPERIMENTS = 6000
# Of a margin or a share: their documented rates come from as many as above.
_FEWER = 1000
_RESAMPLES = 1999
_QUICK = Looks(blocks=(5, 9))
_FULL = Looks(blocks=(8, 16, 24))
_BOTH = pytest.mark.parametrize("looks", [_QUICK, pytest.param(_FULL, marks=pytest.mark.slow)], ids=["5-9", "8-16-24"])


def _verdict_shares(
    samples: NDArray[np.float64], looks: Looks, *, threshold: float = 0.0, margin: float | None = None
) -> dict[Verdict, float]:
    """Run one sequential experiment per row and return the share of each verdict: of MORE, or of SAME with a margin."""
    verdicts = [Verdict.INCONCLUSIVE] * len(samples)
    for look, blocks in enumerate(looks.blocks):
        still_open = [row for row, verdict in enumerate(verdicts) if verdict is Verdict.INCONCLUSIVE]
        for rows in (still_open[start : start + 500] for start in range(0, len(still_open), 500)):
            lows, highs = mean_intervals(
                samples[rows, :blocks], tail=looks.tail(look), seed=rows[0], resamples=_RESAMPLES
            )
            for row, low, high in zip(rows, lows, highs, strict=True):
                if margin is None:
                    verdicts[row] = decide(Interval(value=math.nan, low=low, high=high), threshold=threshold)
                else:
                    ratio = Interval(value=math.nan, low=math.exp(low), high=math.exp(high))
                    verdicts[row] = decide(ratio, threshold=margin, form=Form.SAME)
    counts = Counter(verdicts)
    return {verdict: counts[verdict] / len(samples) for verdict in Verdict}


def _at_most(rate: float, experiments: int = _EXPERIMENTS) -> float:
    """A rate and three standard deviations of what so many experiments count of it."""
    return rate + 3 * math.sqrt(rate * (1 - rate) / experiments)


def _is_documented(found: float, documented: float) -> bool:
    """Tell whether fewer experiments found what 6000 did, to three standard deviations of the difference."""
    variance = max(documented * (1 - documented), 1 / _FEWER) * (1 / _FEWER + 1 / _EXPERIMENTS)
    # Rates are written down with three digits.
    return abs(found - documented) <= 3 * math.sqrt(variance) + 0.0005


@_BOTH
def test_normal_effects_at_the_threshold_mislead_no_more_often_than_declared(looks: Looks) -> None:
    """Each wrong verdict has a rate of 0.05 at most, over all looks together."""
    samples = np.random.default_rng(1).normal(0.0, 0.4, (_EXPERIMENTS, looks.last))
    shares = _verdict_shares(samples, looks)
    assert shares[Verdict.HOLDS] <= _at_most(looks.error_rate)
    assert shares[Verdict.REFUTED] <= _at_most(looks.error_rate)


@pytest.mark.slow
def test_a_smaller_error_rate_is_kept_as_well() -> None:
    """Five looks and an error rate of 0.01, which is where intervals from few blocks tend to be too narrow."""
    looks = Looks(blocks=(5, 6, 7, 8, 9), error_rate=0.01)
    samples = np.random.default_rng(2).standard_normal((_EXPERIMENTS, looks.last))
    shares = _verdict_shares(samples, looks)
    assert shares[Verdict.HOLDS] <= _at_most(0.01)
    assert shares[Verdict.REFUTED] <= _at_most(0.01)


@_BOTH
def test_skewed_effects_at_the_threshold_mislead_on_one_side_as_documented(looks: Looks) -> None:
    """Right-skewed effects are hardly ever held wrongly; they are refuted in up to 0.133, as Looks documents."""
    samples = np.random.default_rng(3).exponential(1.0, (_EXPERIMENTS, looks.last)) - 1.0
    shares = _verdict_shares(samples, looks)
    assert shares[Verdict.HOLDS] <= _at_most(0.007)
    assert shares[Verdict.REFUTED] <= _at_most(0.133)


@_BOTH
def test_a_large_effect_nearly_always_holds(looks: Looks) -> None:
    """A true ratio of 30 against a threshold of 10, blocks varying by a factor of 1.5 either way."""
    samples = np.random.default_rng(4).normal(math.log(30), 0.4, (1000, looks.last))
    shares = _verdict_shares(samples, looks, threshold=math.log(10))
    assert shares[Verdict.HOLDS] >= 0.99
    assert shares[Verdict.REFUTED] == 0


@_BOTH
def test_no_effect_is_nearly_always_refuted(looks: Looks) -> None:
    """A true ratio of 1 against a threshold of 5."""
    samples = np.random.default_rng(5).normal(0.0, 0.4, (1000, looks.last))
    shares = _verdict_shares(samples, looks, threshold=math.log(5))
    assert shares[Verdict.REFUTED] >= 0.99
    assert shares[Verdict.HOLDS] == 0


def test_assess_decides_as_the_simulation_does() -> None:
    """The same rules block by block: of 100 experiments near the threshold as many end each way, but for resampling."""
    log_ratios = np.random.default_rng(6).normal(math.log(14), 0.4, (100, _QUICK.last))
    simulated = _verdict_shares(log_ratios, _QUICK, threshold=math.log(10))
    assessed = Counter(_first_assessment(np.exp(row), threshold=10.0) for row in log_ratios)
    assert 0.2 < simulated[Verdict.HOLDS] < 0.9
    assert assessed[Verdict.HOLDS] / 100 == pytest.approx(simulated[Verdict.HOLDS], abs=0.05)
    assert assessed[Verdict.REFUTED] / 100 == pytest.approx(simulated[Verdict.REFUTED], abs=0.05)


_LONG: Final = Looks(blocks=(12, 18, 24))
_SINGLE: Final = Looks(blocks=(29,))
_Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]
# What Looks documents of a true ratio exactly at the upper margin, with looks 5 and 9, and with 12, 18 and 24.
_SAME: Final[Mapping[str, tuple[float, _Draw, tuple[float, float], tuple[float, float]]]] = {
    "normal-0.1": (1.3, lambda rng, shape: rng.normal(0, 0.1, shape), (0.037, 0.034), (0.035, 0.036)),
    "normal-0.4": (5.0, lambda rng, shape: rng.normal(0, 0.4, shape), (0.037, 0.038), (0.031, 0.031)),
    "right-skewed": (5.0, lambda rng, shape: 0.3 * (rng.exponential(1, shape) - 1), (0.129, 0.008), (0.084, 0.007)),
    "left-skewed": (5.0, lambda rng, shape: -0.3 * (rng.exponential(1, shape) - 1), (0.007, 0.138), (0.007, 0.079)),
}
_OF_THE_SAME = pytest.mark.parametrize(
    ("name", "looks"),
    [(name, looks) for name in _SAME for looks in (_QUICK, _LONG)],
    ids=[f"{name}-{looks}" for name in _SAME for looks in ("5-9", "12-18-24")],
)


@_OF_THE_SAME
def test_ratios_at_a_margin_mislead_as_documented(name: str, looks: Looks) -> None:
    """Normal ones in 0.05 at most on each side, over all looks together; skewed ones on the side of their long tail."""
    margin, draw, quick, long = _SAME[name]
    noise = draw(np.random.default_rng(7), (_FEWER, looks.last))
    shares = _verdict_shares(noise + math.log(margin), looks, margin=margin)
    holds, refuted = quick if looks is _QUICK else long
    assert _is_documented(shares[Verdict.HOLDS], holds)
    assert _is_documented(shares[Verdict.REFUTED], refuted)
    if name.startswith("normal"):
        assert max(shares[Verdict.HOLDS], shares[Verdict.REFUTED]) <= _at_most(looks.error_rate, _FEWER)


@pytest.mark.parametrize(("name", "opposite"), [("right-skewed", "left-skewed"), ("normal-0.4", "normal-0.4")])
def test_the_lower_margin_misleads_as_the_upper_one_does_with_the_opposite_skew(name: str, opposite: str) -> None:
    """An effect has two sides, and the margin is a ratio: 5 is as far from 1 as a fifth is."""
    margin, draw, _, _ = _SAME[name]
    noise = draw(np.random.default_rng(8), (_FEWER, _QUICK.last))
    shares = _verdict_shares(noise - math.log(margin), _QUICK, margin=margin)
    holds, refuted = _SAME[opposite][2]
    assert _is_documented(shares[Verdict.HOLDS], holds)
    assert _is_documented(shares[Verdict.REFUTED], refuted)


@_OF_THE_SAME
def test_twins_are_held_to_be_the_same_and_what_differs_by_the_margin_twice_is_not(name: str, looks: Looks) -> None:
    """A true ratio of 1, and of the margin squared to either side."""
    margin, draw, _, _ = _SAME[name]
    noise = draw(np.random.default_rng(9), (300, looks.last))
    equal = _verdict_shares(noise, looks, margin=margin)
    assert equal[Verdict.HOLDS] >= 0.99
    assert equal[Verdict.REFUTED] == 0
    for side in (-2, 2):
        different = _verdict_shares(noise + side * math.log(margin), looks, margin=margin)
        assert different[Verdict.REFUTED] >= 0.99
        assert different[Verdict.HOLDS] == 0


@cache
def _limits(count: int, of: int, less: int | None, tail: float) -> tuple[float, float]:
    """Exact limits of all units together; less: those of the other arm, of as many."""
    other = None if less is None else Tally(count=less, of=of)
    return exact_limits([Share(of=Tally(count=count, of=of), less=other)], tail=tail)


def _share_verdicts(
    counts: NDArray[np.int64], units: int, looks: Looks, *, threshold: float, less: NDArray[np.int64] | None = None
) -> list[Verdict]:
    """Run one sequential experiment per row, on so many units per block; effect_interval's rules, for many at once."""
    verdicts = [Verdict.INCONCLUSIVE] * len(counts)
    effects = (counts if less is None else counts - less) / units
    for look, blocks in enumerate(looks.blocks):
        tail = looks.tail(look)
        still_open = [row for row, verdict in enumerate(verdicts) if verdict is Verdict.INCONCLUSIVE]
        for rows in (still_open[start : start + 500] for start in range(0, len(still_open), 500)):
            lows, highs = mean_intervals(effects[rows, :blocks], tail=tail, seed=rows[0], resamples=_RESAMPLES)
            for row, low, high in zip(rows, lows, highs, strict=True):
                other = None if less is None else int(less[row, :blocks].sum())
                exact_low, exact_high = _limits(int(counts[row, :blocks].sum()), units * blocks, other, tail)
                outer = Interval(value=math.nan, low=min(low, exact_low), high=max(high, exact_high))
                verdicts[row] = decide(outer, threshold=threshold)
    return verdicts


def _rates(verdicts: list[Verdict]) -> tuple[float, float]:
    counts = Counter(verdicts)
    return counts[Verdict.HOLDS] / len(verdicts), counts[Verdict.REFUTED] / len(verdicts)


# What effect_interval documents: units of a block, their share, and the rates for the looks of each column.
_BY_LOOKS: Final = {"5-9": _QUICK, "12-18-24": _LONG, "29": _SINGLE}
_INDEPENDENT: Final[Mapping[tuple[int, float], Mapping[str, tuple[float, float]]]] = {
    (1, 0.9): {"5-9": (0.000, 0.002), "12-18-24": (0.000, 0.005), "29": (0.046, 0.021)},
    (1, 0.5): {"5-9": (0.028, 0.032), "12-18-24": (0.006, 0.006), "29": (0.031, 0.031)},
    (10, 0.5): {"5-9": (0.017, 0.018), "12-18-24": (0.024, 0.023), "29": (0.035, 0.037)},
    (10, 0.1): {"5-9": (0.012, 0.010), "12-18-24": (0.013, 0.015), "29": (0.029, 0.038)},
    (1000, 0.005): {"5-9": (0.013, 0.017), "12-18-24": (0.017, 0.023), "29": (0.033, 0.040)},
}
_CLUMPED: Final[Mapping[float, Mapping[str, tuple[float, float]]]] = {
    0.5: {"5-9": (0.042, 0.039), "12-18-24": (0.029, 0.026), "29": (0.041, 0.037)},
    0.1: {"5-9": (0.003, 0.154), "12-18-24": (0.005, 0.115), "29": (0.017, 0.063)},
}
_DIFFERENCE: Final = {"5-9": (0.017, 0.021), "12-18-24": (0.019, 0.021), "29": (0.036, 0.038)}


@pytest.mark.parametrize(
    ("units", "share", "name"), [(units, share, name) for units, share in _INDEPENDENT for name in _BY_LOOKS]
)
def test_independent_units_at_the_threshold_mislead_no_more_often_than_declared(
    units: int, share: float, name: str
) -> None:
    """And no more often than documented, be they yes/no trials or a thousand connects."""
    looks = _BY_LOOKS[name]
    counts = np.random.default_rng(10).binomial(units, share, (_FEWER, looks.last))
    holds, refuted = _rates(_share_verdicts(counts, units, looks, threshold=share))
    assert max(holds, refuted) <= _at_most(looks.error_rate, _FEWER)
    documented = _INDEPENDENT[units, share][name]
    assert _is_documented(holds, documented[0])
    assert _is_documented(refuted, documented[1])


@pytest.mark.parametrize("name", _BY_LOOKS)
def test_a_difference_of_two_shares_at_the_threshold_misleads_no_more_often_than_declared(name: str) -> None:
    """Ten units of each arm in a block, 0.5 less 0.4."""
    looks = _BY_LOOKS[name]
    rng = np.random.default_rng(11)
    counts, less = (rng.binomial(10, share, (_FEWER, looks.last)) for share in (0.5, 0.4))
    holds, refuted = _rates(_share_verdicts(counts, 10, looks, threshold=0.1, less=less))
    assert max(holds, refuted) <= _at_most(looks.error_rate, _FEWER)
    assert _is_documented(holds, _DIFFERENCE[name][0])
    assert _is_documented(refuted, _DIFFERENCE[name][1])


def _clumped(rng: np.random.Generator, share: float, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Ten units of a block that go together: each block has a share of its own, so that any two correlate with 0.3."""
    spread = (1 - 0.3) / 0.3
    return rng.binomial(10, rng.beta(share * spread, (1 - share) * spread, shape))


@pytest.mark.parametrize(("share", "name"), [(share, name) for share in _CLUMPED for name in _BY_LOOKS])
def test_units_that_go_together_mislead_as_documented(share: float, name: str) -> None:
    """Exact limits alone would take them for ten times as many; the intervals over blocks are what covers them."""
    looks = _BY_LOOKS[name]
    counts = _clumped(np.random.default_rng(12), share, (_FEWER, looks.last))
    holds, refuted = _rates(_share_verdicts(counts, 10, looks, threshold=share))
    assert _is_documented(holds, _CLUMPED[share][name][0])
    assert _is_documented(refuted, _CLUMPED[share][name][1])


def test_without_the_blocks_units_that_go_together_would_mislead_far_more_often() -> None:
    """So the check above can fail: exact limits alone, with the one look of 29 blocks."""
    counts = _clumped(np.random.default_rng(12), 0.5, (_FEWER, 29)).sum(axis=1)
    beyond = sum(_limits(int(count), 290, None, 0.05)[0] > 0.5 for count in counts)
    assert beyond / _FEWER > 0.15


@pytest.mark.parametrize(("units", "threshold"), [(1, 0.5), (10, 0.3)])
def test_assess_decides_on_shares_as_the_simulation_does(units: int, threshold: float) -> None:
    """The same rules block by block; only resampling may differ, and where units are few it has little part in it."""
    counts = np.random.default_rng(13).binomial(units, 0.9 if units == 1 else 0.4, (60, _QUICK.last))
    simulated = _share_verdicts(counts, units, _QUICK, threshold=threshold)
    assessed = [_first_share_assessment(row, units, threshold=threshold) for row in counts]
    assert 0.1 < _rates(simulated)[0] < 0.95
    assert sum(one is other for one, other in zip(simulated, assessed, strict=True)) >= 57


def _first_share_assessment(counts: NDArray[np.int64], units: int, *, threshold: float) -> Verdict:
    effects = [Share(of=Tally(count=int(count), of=units)) for count in counts]
    for blocks in _QUICK.blocks:
        assessment = assess(effects[:blocks], scale=Scale.SHARE, threshold=threshold, looks=_QUICK, seed=blocks)
        if assessment is not None:
            return assessment.verdict
    raise AssertionError("the last look must decide")


def _first_assessment(ratios: NDArray[np.float64], *, threshold: float) -> Verdict:
    for blocks in range(1, len(ratios) + 1):
        assessment = assess(ratios[:blocks].tolist(), scale=Scale.RATIO, threshold=threshold, looks=_QUICK, seed=blocks)
        if assessment is not None:
            return assessment.verdict
    raise AssertionError("the last look must decide")
