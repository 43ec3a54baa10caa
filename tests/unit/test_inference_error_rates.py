"""Simulated experiments: wrong verdicts come no more often than declared, and right ones come.

The effect of a block is simulated on its additive scale (the logarithm of a ratio), with the true effect at the
threshold for wrong verdicts and far from it for right ones.
"""

import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from fixtures.inference.assessment import assess
from fixtures.inference.intervals import Interval, Scale, mean_intervals
from fixtures.inference.looks import Looks
from fixtures.inference.verdicts import Verdict, decide

_EXPERIMENTS = 6000
_RESAMPLES = 1999
_QUICK = Looks(blocks=(5, 9))
_FULL = Looks(blocks=(8, 16, 24))
_BOTH = pytest.mark.parametrize("looks", [_QUICK, _FULL], ids=["5-9", "8-16-24"])


def _verdict_shares(samples: NDArray[np.float64], looks: Looks, *, threshold: float = 0.0) -> dict[Verdict, float]:
    """Run one sequential experiment per row and return the share of each verdict."""
    verdicts = [Verdict.INCONCLUSIVE] * len(samples)
    for look, blocks in enumerate(looks.blocks):
        still_open = [row for row, verdict in enumerate(verdicts) if verdict is Verdict.INCONCLUSIVE]
        for rows in (still_open[start : start + 500] for start in range(0, len(still_open), 500)):
            lows, highs = mean_intervals(
                samples[rows, :blocks], tail=looks.tail(look), seed=rows[0], resamples=_RESAMPLES
            )
            for row, low, high in zip(rows, lows, highs, strict=True):
                verdicts[row] = decide(Interval(value=math.nan, low=low, high=high), threshold=threshold)
    counts = Counter(verdicts)
    return {verdict: counts[verdict] / len(samples) for verdict in Verdict}


def _at_most(rate: float) -> float:
    """A rate and three standard deviations of what 6000 experiments count of it."""
    return rate + 3 * math.sqrt(rate * (1 - rate) / _EXPERIMENTS)


@_BOTH
def test_normal_effects_at_the_threshold_mislead_no_more_often_than_declared(looks: Looks) -> None:
    """Each wrong verdict has a rate of 0.05 at most, over all looks together."""
    samples = np.random.default_rng(1).normal(0.0, 0.4, (_EXPERIMENTS, looks.last))
    shares = _verdict_shares(samples, looks)
    assert shares[Verdict.HOLDS] <= _at_most(looks.error_rate)
    assert shares[Verdict.REFUTED] <= _at_most(looks.error_rate)


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


def _first_assessment(ratios: NDArray[np.float64], *, threshold: float) -> Verdict:
    for blocks in range(1, len(ratios) + 1):
        assessment = assess(ratios[:blocks].tolist(), scale=Scale.RATIO, threshold=threshold, looks=_QUICK, seed=blocks)
        if assessment is not None:
            return assessment.verdict
    raise AssertionError("the last look must decide")
