"""Trials are void by rules that were fixed beforehand."""

from fixtures.inference.voiding import TrialQuality, VoidRules


def _quality(*, lag_p50_ms: float = 0.2, steal_pct: float = 0.5) -> TrialQuality:
    return TrialQuality(generator_lag_p50_ms=lag_p50_ms, steal_pct=steal_pct)


def test_an_undisturbed_trial_counts() -> None:
    """Small values break no rule."""
    assert VoidRules().reasons(_quality()) == ()


def test_each_broken_rule_gives_a_sentence_with_value_and_limit() -> None:
    """Both at once."""
    assert VoidRules().reasons(_quality(lag_p50_ms=7.25, steal_pct=30.0)) == (
        "median lag of the load generator was 7.2 ms, the limit is 5 ms",
        "stolen CPU time was 30.0 %, the limit is 10 %",
    )


def test_a_value_at_its_limit_is_good() -> None:
    """The limit itself still counts."""
    assert VoidRules().reasons(_quality(lag_p50_ms=5.0, steal_pct=10.0)) == ()


def test_limits_can_be_set() -> None:
    """Stricter rules void more."""
    assert VoidRules(max_steal_pct=0.1).reasons(_quality()) == ("stolen CPU time was 0.5 %, the limit is 0.1 %",)
