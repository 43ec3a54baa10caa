"""Trials are void by rules that were fixed beforehand."""

import math

from fixtures.inference.voiding import TrialQuality, VoidRules


def _quality(*, lag_p50_ms: float = 0.2, steal_pct: float = 0.5, foreign_cpu_pct: float = 3.0) -> TrialQuality:
    return TrialQuality(
        generator_lag_p50_ms=lag_p50_ms,
        generator_lag_p99_ms=40.0,
        steal_pct=steal_pct,
        foreign_cpu_pct=foreign_cpu_pct,
    )


def test_an_undisturbed_trial_counts() -> None:
    """Small values break no rule; nor does a long tail of the generator's lag alone."""
    assert VoidRules().reasons(_quality()) == ()


def test_each_broken_rule_gives_a_sentence_with_value_and_limit() -> None:
    """All three at once."""
    assert VoidRules().reasons(_quality(lag_p50_ms=7.25, steal_pct=30.0, foreign_cpu_pct=80.0)) == (
        "median lag of the load generator was 7.2 ms, the limit is 5 ms",
        "stolen CPU time was 30.0 %, the limit is 10 %",
        "CPU used by others on this machine was 80.0 %, the limit is 25 %",
    )


def test_a_value_at_its_limit_is_good() -> None:
    """The limit itself still counts."""
    assert VoidRules().reasons(_quality(lag_p50_ms=5.0, steal_pct=10.0, foreign_cpu_pct=25.0)) == ()


def test_what_was_not_measured_voids_nothing_and_is_named() -> None:
    """NaN is neither good nor bad, but it is known."""
    quality = _quality(steal_pct=math.nan, foreign_cpu_pct=math.nan)
    assert VoidRules().reasons(quality) == ()
    assert quality.not_measured == ("steal_pct", "foreign_cpu_pct")
    assert _quality().not_measured == ()


def test_limits_can_be_set() -> None:
    """Stricter rules void more."""
    assert VoidRules(max_steal_pct=0.1).reasons(_quality()) == ("stolen CPU time was 0.5 %, the limit is 0.1 %",)
