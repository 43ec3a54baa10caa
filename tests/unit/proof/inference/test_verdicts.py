"""Only the numbers of blocks on either side of a threshold decide."""

import itertools
import math
from collections.abc import Sequence

import pytest
import scipy  # type: ignore[import-untyped]  # scipy ships no type information
from hypothesis import given, settings
from hypothesis import strategies as st

from tuneproof.proof.inference.effects import Effect, Ordered, Scale, Tally
from tuneproof.proof.inference.plan import Look, side
from tuneproof.proof.inference.verdicts import Assessment, Block, Form, assess, order_interval

LOOKS = (5, 9)


def decided(effects: Sequence[Effect], **changes: object) -> Assessment | None:
    """Return the decision on ratios with the threshold 2 and looks after 5 and 9 blocks."""
    return assess(
        [Block(effect=effect) for effect in effects],
        **{"scale": Scale.RATIO, "threshold": 2.0, "looks": LOOKS, **changes},  # type: ignore[arg-type] # as assess
    )


def verdict(effects: Sequence[Effect], **changes: object) -> str | None:
    """Return the verdict's word; None while further blocks are needed."""
    found = decided(effects, **changes)
    return None if found is None else str(found.verdict)


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ([3.0] * 5, "holds"),
        ([1.0] * 5, "refuted"),
        ([2.1, 3, 4, 5, math.inf], "holds"),
        ([1.9, 1, 0.5, 0.1, 0.0], "refuted"),
        ([3.0] * 4, None),
        ([3.0] * 6, None),
        ([3.0] * 4 + [1.0], None),
        ([3.0] * 4 + [2.0], None),
        ([1.0] * 4 + [2.0], None),
        ([3.0] * 4 + [1.0] + [3.0] * 4, "holds"),
        ([3.0] * 4 + [2.0] + [3.0] * 4, "holds"),
        ([1.0] * 4 + [3.0] + [1.0] * 4, "refuted"),
        ([3.0] * 4 + [1.0, 1.0] + [3.0] * 3, "inconclusive"),
        ([2.0] * 9, "inconclusive"),
    ],
    ids=str,
)
def test_more_needs_all_of_five_or_eight_of_nine(effects: Sequence[float], expected: str | None) -> None:
    """A block exactly at the threshold counts for neither side; the distance from the threshold does not matter."""
    assert verdict(effects) == expected


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ([1.0] * 5, "holds"),
        ([0.51, 0.9, 1.0, 1.2, 1.99], "holds"),
        ([3.0] * 5, None),
        ([3.0] * 9, "refuted"),
        ([1.0] + [0.4] * 8, "refuted"),
        ([1.0] * 2 + [0.4] * 7, "inconclusive"),
        ([0.4, 0.4, 3, 0.4, 0.4], None),
        ([0.4, 3, 0.4, 3, 0.4], "inconclusive"),
        ([0.4, 0.9, 0.4, 0.9, 1.0], "inconclusive"),
        ([3, 1.9, 3, 1.9, 1.0], "inconclusive"),
        ([1.0] * 4 + [3.0] + [1.0] * 4, "holds"),
        ([1.0] * 4 + [3.0] + [1.0] * 3 + [0.4], "holds"),
        ([1.0] * 4 + [3.0] + [1.0] * 3 + [3.0], "inconclusive"),
        ([2.0] * 9, "inconclusive"),
    ],
    ids=str,
)
def test_the_same_needs_five_of_five_or_eight_of_nine_within_both_limits(
    effects: Sequence[float], expected: str | None
) -> None:
    """Both limits have the same rule: eight of nine below the upper one, and eight of nine above the lower one."""
    assert verdict(effects, form=Form.SAME) == expected


@pytest.mark.parametrize("form", [Form.MORE, Form.SAME])
def test_measuring_stops_when_no_further_block_can_decide(form: Form) -> None:
    """For every such sequence of blocks, the early result is the result of all blocks."""
    ended_early = 0
    for effects in itertools.product((1.0, 3.0) if form is Form.MORE else (0.4, 1.0, 3.0), repeat=LOOKS[-1]):
        early = verdict(effects[: LOOKS[0]], form=form)
        if early == "inconclusive":
            ended_early += 1
            assert verdict(effects, form=form) == early
    assert ended_early


def test_the_interval_is_that_of_the_order_statistics_with_its_level() -> None:
    five, nine = decided([5.0, 3, 9, 4, 7]), decided([5.0, 1, 9, 4, 7, 3, 6, 8, 10])
    assert five is not None
    assert nine is not None
    assert (five.interval.value, five.interval.low, five.interval.high, five.interval.level) == (5, 3, 9, 15 / 16)
    assert (nine.interval.value, nine.interval.low, nine.interval.high) == (6, 3, 9)
    assert nine.interval.level == 1 - 20 / 512


@pytest.mark.parametrize(
    ("right", "blocks", "expected"),
    [(13, 13, "holds"), (12, 13, None), (6, 13, "refuted"), (7, 13, None), (24, 26, "holds"), (23, 26, "inconclusive")],
)
def test_the_threshold_is_the_chance_in_a_test_of_independent_units(
    right: int, blocks: int, expected: str | None
) -> None:
    """To show a share above 75 %, the binomial distribution requires 13 of 13 or 24 of 26."""
    tallies = [Tally.yes(when=number < right) for number in range(blocks)]
    found = decided(tallies, scale=Scale.SHARE, threshold=0.75, looks=(13, 26))
    assert (None if found is None else found.verdict) == expected
    if found is not None:
        assert found.counted == Tally(count=right, of=blocks)
        assert found.interval.value == right / blocks


@pytest.mark.parametrize(("right", "blocks", "look"), [(13, 13, 0), (6, 13, 0), (0, 13, 0), (24, 26, 1), (23, 26, 1)])
def test_the_limits_of_a_share_are_exact(right: int, blocks: int, look: int) -> None:
    tallies = [Tally.yes(when=number < right) for number in range(blocks)]
    found = decided(tallies, scale=Scale.SHARE, threshold=0.75, looks=(13, 26))
    assert found is not None
    needed = [side((13, 26), chance).looks[look].needed for chance in (0.75, 0.25)]
    low_error, high_error = (
        scipy.stats.binom.sf(number - 1, blocks, chance) for number, chance in zip(needed, (0.75, 0.25), strict=True)
    )
    test = scipy.stats.binomtest(right, blocks)
    assert found.interval.low == pytest.approx(test.proportion_ci(1 - 2 * low_error, method="exact").low)
    assert found.interval.high == pytest.approx(test.proportion_ci(1 - 2 * high_error, method="exact").high)
    assert found.interval.level == pytest.approx(1 - low_error - high_error)


def test_blocks_with_different_numbers_of_units_are_rejected() -> None:
    with pytest.raises(ValueError, match="the same number of units"):
        decided([Tally(count=1, of=1)] * 4 + [Tally(count=1, of=2)], scale=Scale.SHARE, threshold=0.5)


FALLING, RISING = Ordered(responses=(4, 3, 2, 1)), Ordered(responses=(1, 2, 3, 4))


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([FALLING] * 5, "holds"),
        ([RISING] * 5, "refuted"),
        ([FALLING] * 4 + [RISING] + [FALLING] * 4, "holds"),
        # Five of six pairs are in order, but the last step doubles the response, which is a reversal.
        ([Ordered(responses=(8, 6, 1, 2))] * 9, "inconclusive"),
        ([Ordered(responses=(8, 6, 1, 1.2))] * 5, "holds"),
    ],
    ids=["falling", "rising", "one-of-nine", "reversed", "within-tolerance"],
)
def test_an_order_holds_if_the_pairs_pages_test_and_every_step_agree(blocks: Sequence[Ordered], expected: str) -> None:
    """More than three of four pairs must be in order. A reversed step prevents "holds", but refutes nothing."""
    assert verdict(blocks, scale=Scale.SHARE, threshold=0.75, form=Form.ORDER) == expected


def test_an_order_does_not_hold_by_its_pairs_alone() -> None:
    """With three doses, two of three pairs in each of five blocks are no clear order: Page's p is 0.08."""
    blocks = [Ordered(responses=(2, 2.1, 1))] * 5
    assert verdict(blocks, scale=Scale.SHARE, threshold=0.5, form=Form.ORDER) != "holds"


QUICK = settings(max_examples=50, database=None, derandomize=True)
# Effects near, at and beyond the threshold 2 and its reciprocal; reciprocals of powers of two are exact.
RATIOS = st.sampled_from([0.0, 0.125, 0.5, 1.0, 1.9375, 2.0, 2.0625, 4.0, math.inf])
# Most effects are on one side, because only then can they decide.
AT_A_LOOK = st.builds(
    lambda most, few, looks: [*few, *most][:looks],
    st.sampled_from([(0.5, 1.9375), (2.0625, 4.0), (0.0, 2.0, math.inf)]).flatmap(
        lambda side: st.lists(st.sampled_from(side), min_size=9, max_size=9)
    ),
    st.lists(RATIOS, max_size=3),
    st.sampled_from(LOOKS),
)


@QUICK
@given(AT_A_LOOK)
def test_a_verdict_means_that_its_whole_interval_is_on_one_side_of_the_threshold(effects: list[float]) -> None:
    found = decided(effects)
    if found is None:
        assert len(effects) < LOOKS[-1]
        return
    low, high = found.interval.low, found.interval.high
    assert min(effects) <= low <= found.interval.value <= high <= max(effects)
    assert (found.verdict == "holds") == (low > 2)
    assert (found.verdict == "refuted") == (high < 2)


@QUICK
@given(st.lists(RATIOS, min_size=9, max_size=9))
def test_same_does_not_depend_on_the_order_of_the_variants(effects: list[float]) -> None:
    inverted = [math.inf if effect == 0 else 1 / effect for effect in effects]
    assert verdict(inverted, form=Form.SAME) == verdict(effects, form=Form.SAME)


def test_the_interval_of_a_look_that_cannot_decide_has_the_level_of_its_extremes() -> None:
    """Three blocks are all on one side of the median in one of four cases."""
    found = order_interval([3.0, 1.0, 2.0], Look(units=3, needed=4, tail=0.0), plan_level=0.9)
    assert (found.low, found.value, found.high, found.level) == (1.0, 2.0, 3.0, 0.75)


def test_the_interval_leaves_out_as_many_blocks_on_each_side_as_may_disagree() -> None:
    found = order_interval(range(1, 13), Look(units=12, needed=10, tail=0.02), plan_level=0.9)
    assert (found.low, found.value, found.high) == (3, 6.5, 10)
