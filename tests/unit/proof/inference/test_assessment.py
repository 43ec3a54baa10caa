"""One look at a time, and only at the numbers of blocks that were declared."""

import pytest

from tuneproof.proof.inference.assessment import Assessment, assess
from tuneproof.proof.inference.intervals import Scale, effect_interval
from tuneproof.proof.inference.looks import Looks
from tuneproof.proof.inference.verdicts import Form, Verdict

_LOOKS = Looks(blocks=(6, 9))
_CLEAR = [30.0, 28.0, 33.0, 31.0, 29.0, 32.0, 30.0, 31.0, 29.0]
_OPEN = [6.0, 14.0, 9.0, 12.0, 8.0, 13.0, 10.0, 9.0, 12.0]


def _assess(effects: list[float]) -> Assessment | None:
    return assess(effects, scale=Scale.RATIO, threshold=10.0, looks=_LOOKS, seed=1)


def test_a_clear_effect_is_decided_at_the_first_look_and_says_by_what() -> None:
    """The decision carries the interval of that look, at that look's tail."""
    tail = _LOOKS.tail(0)
    interval = effect_interval(_CLEAR[:6], scale=Scale.RATIO, tail=tail, seed=1)
    assert interval is not None
    assert _assess(_CLEAR[:6]) == Assessment(
        verdict=Verdict.HOLDS,
        interval=interval,
        blocks=6,
        look=0,
        tail=tail,
        threshold=10.0,
    )


@pytest.mark.parametrize("blocks", [0, 1, 5, 7, 8])
def test_nothing_is_decided_between_looks(blocks: int) -> None:
    """However clear the effect, it waits for the next declared look."""
    assert _assess(_CLEAR[:blocks]) is None


def test_an_open_look_asks_for_more_blocks() -> None:
    """An interval around the threshold decides nothing before the last look."""
    assert _assess(_OPEN[:6]) is None


def test_an_open_last_look_is_inconclusive() -> None:
    """The last look decides in any case, and spends what is left."""
    assessment = _assess(_OPEN)
    assert assessment is not None
    assert assessment.verdict is Verdict.INCONCLUSIVE
    assert (assessment.blocks, assessment.look, assessment.tail) == (9, 1, _LOOKS.tail(1))
    assert assessment.interval.low < 10.0 < assessment.interval.high


def test_a_small_effect_is_refuted() -> None:
    """Ratios around 1 are far below a threshold of 10."""
    assessment = _assess([1.1, 0.9, 1.0, 1.2, 0.8, 1.05])
    assert assessment is not None
    assert assessment.verdict is Verdict.REFUTED


def test_identical_twins_are_the_same_within_their_margin() -> None:
    """What was read as a refutation of "the first is larger" is a claim of its own, and holds."""
    effects = [1.1, 0.9, 1.0, 1.2, 0.8, 1.05]
    assessment = assess(effects, scale=Scale.RATIO, threshold=2.0, looks=_LOOKS, seed=1, form=Form.SAME)
    assert assessment is not None
    assert assessment.verdict is Verdict.HOLDS


def test_equal_effects_decide_nothing_unless_a_resolution_says_how_exact_they_are() -> None:
    """Without one, nothing tells what nine equal effects prove; with one, six are decided at once."""
    equal = [2.0] * 9
    assert assess(equal[:6], scale=Scale.RATIO, threshold=1.5, looks=_LOOKS, seed=1) is None
    assert assess(equal, scale=Scale.RATIO, threshold=1.5, looks=_LOOKS, seed=1) is None
    decided = assess(equal[:6], scale=Scale.RATIO, threshold=1.5, looks=_LOOKS, seed=1, resolution=0.01)
    assert decided is not None
    assert decided.verdict is Verdict.HOLDS
    assert decided.interval.low < 2.0 < decided.interval.high
