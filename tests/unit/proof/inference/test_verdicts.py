"""How an interval becomes a verdict."""

import pytest

from tuneproof.proof.inference.intervals import Interval
from tuneproof.proof.inference.verdicts import Form, Verdict, decide


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        pytest.param(10.5, 20.0, Verdict.HOLDS, id="above"),
        pytest.param(2.0, 9.5, Verdict.REFUTED, id="below"),
        pytest.param(9.0, 11.0, Verdict.INCONCLUSIVE, id="around"),
        pytest.param(10.0, 11.0, Verdict.INCONCLUSIVE, id="touching-from-above"),
        pytest.param(9.0, 10.0, Verdict.INCONCLUSIVE, id="touching-from-below"),
    ],
)
def test_only_an_interval_beyond_the_threshold_decides(low: float, high: float, expected: Verdict) -> None:
    """The whole interval has to lie on one side of the threshold of 10."""
    assert decide(Interval(value=(low + high) / 2, low=low, high=high), threshold=10.0) is expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        pytest.param(0.99, 1.01, Verdict.HOLDS, id="within"),
        pytest.param(0.97, 1.01, Verdict.INCONCLUSIVE, id="out-below"),
        pytest.param(0.99, 1.03, Verdict.INCONCLUSIVE, id="out-above"),
        pytest.param(0.9, 1.1, Verdict.INCONCLUSIVE, id="around"),
        pytest.param(1.03, 1.05, Verdict.REFUTED, id="above"),
        pytest.param(0.9, 0.97, Verdict.REFUTED, id="below"),
        pytest.param(0.99, 1.02, Verdict.INCONCLUSIVE, id="touching"),
    ],
)
def test_the_same_is_within_a_margin_on_both_sides(low: float, high: float, expected: Verdict) -> None:
    """The whole interval has to lie between 1 / 1.02 and 1.02; outside of both it is refuted, on either side."""
    assert decide(Interval(value=1.0, low=low, high=high), threshold=1.02, form=Form.SAME) is expected


def test_verdicts_read_as_their_words() -> None:
    """The words are those of the results file."""
    assert [str(verdict) for verdict in Verdict] == ["holds", "refuted", "inconclusive", "unsupported"]
