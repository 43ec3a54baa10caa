"""Whether the response falls with the dose, and where it turns back."""

import numpy as np
import pytest

from tuneproof.proof.inference.dose_response import page_trend

_FALLING = (400.0, 200.0, 100.0, 50.0, 25.0)


def _blocks(means: tuple[float, ...], *, blocks: int, spread: float, seed: int = 1) -> list[list[float]]:
    noise = np.random.default_rng(seed).normal(0.0, spread, (blocks, len(means)))
    return [[float(response) for response in row] for row in np.array(means) * np.exp(noise)]


def test_a_perfect_trend_has_the_greatest_statistic_and_its_exact_probability() -> None:
    """Six blocks of three doses in order: L = 6 * (1 + 4 + 9) = 84, which chance gives in one of 6 ** 6 cases."""
    trend = page_trend([[3.0, 2.0, 1.0]] * 6)
    assert trend.statistic == 84
    assert trend.p_value == pytest.approx(1 / 6**6)
    assert trend.reversals == ()
    assert trend.monotone


def test_a_falling_response_is_monotone() -> None:
    """Five doses that halve the response, with noise."""
    trend = page_trend(_blocks(_FALLING, blocks=6, spread=0.2))
    assert trend.monotone
    assert trend.p_value < 0.001


def test_a_response_that_rises_is_not_monotone() -> None:
    """The wrong way round there is no trend, and every pair is a reversal."""
    trend = page_trend(_blocks(_FALLING[::-1], blocks=6, spread=0.1))
    assert not trend.monotone
    assert trend.p_value > 0.99
    assert trend.reversals == ((0, 1), (1, 2), (2, 3), (3, 4))


def test_a_reversal_spoils_a_significant_trend() -> None:
    """One dose in the middle has three times the response of the dose above it, in all of six blocks."""
    trend = page_trend(_blocks((400.0, 200.0, 50.0, 150.0, 25.0), blocks=6, spread=0.1))
    assert trend.p_value < 0.001
    assert trend.reversals == ((2, 3),)
    assert not trend.monotone


def test_a_rise_within_the_tolerance_is_no_reversal() -> None:
    """A rise of 20 % in every block does not matter in practice."""
    rows = [[400.0, 200.0, 50.0, 60.0, 25.0]] * 6
    assert page_trend(rows).reversals == ()
    assert page_trend(rows, tolerance_ratio=1.1).reversals == ((2, 3),)


def test_one_wild_block_is_no_reversal() -> None:
    """A rise by a factor of 1000 in one of six blocks, and within the tolerance in the others, fails the sign test."""
    rows = [[400.0, 200.0, 50.0, 60.0, 25.0] for _ in range(6)]
    rows[3][3] = 50_000.0
    assert page_trend(rows).reversals == ()


def test_many_small_rises_outweighed_by_one_deep_fall_are_no_reversal() -> None:
    """Nine of ten blocks rise by 40 %, which passes the sign test; the geometric mean falls."""
    rows = [[400.0, 200.0, 50.0, 70.0, 25.0] for _ in range(10)]
    rows[3][3] = 0.05
    assert page_trend(rows).reversals == ()


@pytest.mark.parametrize(
    ("blocks", "dissenting", "expected"),
    [
        pytest.param(6, 0, ((2, 3),), id="6-of-6"),
        pytest.param(6, 1, (), id="5-of-6"),
        pytest.param(9, 1, (), id="8-of-9"),
        pytest.param(10, 1, ((2, 3),), id="9-of-10"),
        pytest.param(10, 2, (), id="8-of-10"),
    ],
)
def test_a_reversal_needs_unanimous_blocks_or_many(
    blocks: int, dissenting: int, expected: tuple[tuple[int, int], ...]
) -> None:
    """With five doses the level is 0.0125: 9 of 10 blocks have a probability of 11/1024, 8 of 9 have 10/512."""
    rising, falling = [400.0, 200.0, 50.0, 150.0, 25.0], [400.0, 200.0, 50.0, 45.0, 25.0]
    rows = [rising] * (blocks - dissenting) + [falling] * dissenting
    assert page_trend(rows).reversals == expected


def test_a_flat_response_is_rarely_called_monotone() -> None:
    """Without any dose-response, 400 simulated experiments show a trend at the error rate, and hardly a reversal."""
    trends = [page_trend(_blocks((100.0,) * 5, blocks=6, spread=0.3, seed=seed)) for seed in range(400)]
    assert np.mean([trend.p_value < 0.05 for trend in trends]) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)
    assert np.mean([bool(trend.reversals) for trend in trends]) <= 4 / 64


def test_equal_responses_are_no_trend() -> None:
    """Ties are evidence of nothing."""
    trend = page_trend([[5.0, 5.0, 5.0]] * 6)
    assert not trend.monotone
    assert trend.p_value > 0.4


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param([], "at least one block", id="no-blocks"),
        pytest.param([[3.0, 2.0, 1.0]] * 5 + [[3.0, 2.0]], "as many columns", id="ragged"),
        pytest.param([[2.0, 1.0]] * 6, "3 to 8 doses, got 2", id="two-doses"),
        pytest.param([[1.0] * 9] * 6, "3 to 8 doses, got 9", id="nine-doses"),
        pytest.param([[3.0, 2.0, 1.0]] * 4, "4 blocks are too few", id="four-blocks"),
        pytest.param([[3.0, 2.0, 0.0]] * 6, "positive and finite, got 0.0", id="zero"),
        pytest.param([[3.0, float("nan"), 1.0]] * 6, "positive and finite, got nan", id="nan"),
    ],
)
def test_responses_that_cannot_be_judged_are_refused(rows: list[list[float]], message: str) -> None:
    """The error says what is wrong with them."""
    with pytest.raises(ValueError, match=message):
        page_trend(rows)


def test_a_tolerance_below_one_is_refused() -> None:
    """It would call a fall a reversal."""
    with pytest.raises(ValueError, match=r"tolerance_ratio must be at least 1, got 0\.9"):
        page_trend([[3.0, 2.0, 1.0]] * 6, tolerance_ratio=0.9)
