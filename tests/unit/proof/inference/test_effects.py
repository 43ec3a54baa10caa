"""The effect of one block, and blocks without an effect."""

import math

import pytest
import scipy  # type: ignore[import-untyped]  # scipy ships no type information

from tuneproof.proof.inference.effects import Ordered, Scale, Tally, number, page_p_value, ratio, reversals


def test_division_by_zero_is_infinite_and_zero_by_zero_is_rejected() -> None:
    """A broken instrument that counts nothing in either arm must not look like a ratio of 1."""
    assert (ratio(6, 3), ratio(0, 3), ratio(3, 0)) == (2, 0, math.inf)
    for nothing in ((0, 0), (math.nan, 1), (1, math.nan)):
        with pytest.raises(ValueError, match="nothing was counted in either variant"):
            ratio(*nothing)


@pytest.mark.parametrize(
    ("effect", "scale"),
    [(math.nan, Scale.RATIO), (-0.1, Scale.RATIO), (math.nan, Scale.SHARE), (1.1, Scale.SHARE), (-1.1, Scale.SHARE)],
)
def test_values_outside_a_scale_are_rejected(effect: float, scale: Scale) -> None:
    with pytest.raises(ValueError, match=f"is not a {scale}"):
        number(effect, scale)


def test_values_up_to_the_limits_of_a_scale_are_accepted() -> None:
    assert [number(effect, Scale.RATIO) for effect in (0.0, math.inf)] == [0.0, math.inf]
    assert [number(effect, Scale.SHARE) for effect in (-1.0, 0.0, Tally(count=3, of=4))] == [-1.0, 0.0, 0.75]


@pytest.mark.parametrize(("count", "of"), [(1, 0), (2, 1), (-1, 5)])
def test_an_impossible_tally_is_rejected(count: int, of: int) -> None:
    with pytest.raises(ValueError, match=r"at least one unit|between 0 and"):
        Tally(count=count, of=of)


def test_ordered_pairs_are_counted() -> None:
    """Responses are in the order of falling doses. A pair is in order if the larger dose has the larger response."""
    assert float(Ordered(responses=(4, 3, 2, 1))) == 1
    assert float(Ordered(responses=(1, 2, 3, 4))) == 0
    assert float(Ordered(responses=(4, 3, 3))) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "responses", [(2.0, 1.0), (3.0, 0.0, 1.0), (3.0, -1.0, 1.0), (3.0, math.inf, 1.0), (1.0,) * 9], ids=str
)
def test_responses_that_cannot_be_ordered_are_rejected(responses: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"3 to 8 doses|positive and finite"):
        Ordered(responses=responses)


def test_pages_test_is_exact_and_depends_on_the_order() -> None:
    falling = [Ordered(responses=(3.0, 2.0, 1.0))] * 5
    assert page_p_value(falling) == pytest.approx((1 / 6) ** 5)
    assert page_p_value([Ordered(responses=(1.0, 2.0, 3.0))] * 5) == pytest.approx(1)
    mixed = [*falling[:3], Ordered(responses=(1.0, 2.0, 3.0)), Ordered(responses=(2.0, 3.0, 1.0))]
    by_scipy = scipy.stats.page_trend_test(
        [item.responses for item in mixed], predicted_ranks=[3, 2, 1], method="exact"
    )
    assert page_p_value(mixed) == pytest.approx(by_scipy.pvalue)


def test_a_step_is_a_reversal_if_enough_blocks_rise_beyond_the_tolerance() -> None:
    """Here, four of five blocks rise by 30 %."""
    rising = Ordered(responses=(4.0, 2.0, 2.6))
    blocks = [rising] * 4 + [Ordered(responses=(4.0, 2.0, 2.4))]
    assert reversals(blocks, tolerance_ratio=1.25, needed=4) == [1]
    assert reversals(blocks, tolerance_ratio=1.25, needed=5) == []
    assert reversals(blocks, tolerance_ratio=1.3, needed=4) == []
