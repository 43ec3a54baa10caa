"""The levels that plans guarantee are computed in a second way: the real rule decides every possible outcome."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod

import pytest

from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.inference.verdicts import Assessment, Block, Form, assess, level_of_medians, level_of_shares

MEDIAN = 1.0
COARSE = [number / 20 for number in range(11)]  # shares of the distribution between the median and a limit


def covered(values: Sequence[float], chances: Sequence[float], *, threshold: float, form: Form) -> float:
    """Return the chance that the interval of a plan (5, 9) covers the median, for effects with these values."""
    return sum(
        chance
        for chance, found in _ends(values, chances, threshold=threshold, form=form)
        if found.interval.low <= MEDIAN <= found.interval.high
    )


def _ends(
    values: Sequence[float], chances: Sequence[float], *, threshold: float, form: Form
) -> Iterator[tuple[float, Assessment]]:
    """Yield each possible end of an experiment with its chance; the order of outcomes within a look does not matter."""
    for first in combinations_with_replacement(range(len(values)), 5):
        chance = _chance(first, chances)
        if found := _assessed([values[index] for index in first], threshold, form):
            yield chance, found
            continue
        for later in combinations_with_replacement(range(len(values)), 4):
            found = _assessed([values[index] for index in (*first, *later)], threshold, form)
            assert found is not None
            yield chance * _chance(later, chances), found


def _chance(outcome: Sequence[int], chances: Sequence[float]) -> float:
    ways = factorial(len(outcome)) // prod(factorial(outcome.count(index)) for index in set(outcome))
    return ways * prod(chances[index] for index in outcome)


def _assessed(values: Sequence[float], threshold: float, form: Form) -> Assessment | None:
    blocks = [Block(effect=value) for value in values]
    return assess(blocks, scale=Scale.RATIO, threshold=threshold, looks=(5, 9), form=form)


def test_the_median_is_covered_in_at_least_470_of_512_cases() -> None:
    """In the worst case, no effect is between median and threshold: "holds" and "refuted" then miss the median."""
    by_share = {  # by the share of the distribution between the median and a threshold above it
        between: covered((0.5, 1.5, 2.5), (0.5, between, 0.5 - between), threshold=2.0, form=Form.MORE)
        for between in COARSE
    }
    assert min(by_share.values()) == by_share[0.0] == pytest.approx(1 - 2 * 21 / 512)
    assert level_of_medians((5, 9)) == 1 - 2 * 21 / 512


def test_a_margin_covers_the_median_at_least_as_often_as_a_threshold() -> None:
    """Effects are outside the margin, at 1/4 and 4, and inside it, just below and just above the median."""
    chances = [
        covered((0.25, 0.9, 1.1, 4.0), (low, 0.5 - low, 0.5 - high, high), threshold=2.0, form=Form.SAME)
        for low, high in product(COARSE[::2], repeat=2)
    ]
    assert min(chances) >= level_of_medians((5, 9)) - 1e-12


@pytest.mark.parametrize(("looks", "threshold"), [((5, 9), 0.5), ((13, 26), 0.75), ((33, 60), 0.9)])
def test_the_level_of_a_share_is_the_minimum_over_all_shares(looks: tuple[int, ...], threshold: float) -> None:
    """The test tries fewer shares, so the level may be below the smallest chance found here, by less than 0.02."""
    shares = [number / 200 + beside for number in range(1, 200, 2) for beside in (-1e-6, 0, 1e-6)]
    chances = [_share_covered(share, looks, threshold) for share in shares]
    level = level_of_shares(looks, threshold)
    assert min(chances) - 0.02 < level <= min(chances)
    assert 0.9 <= level < 1


@lru_cache(maxsize=1024)
def _counted(agree: int, of: int, looks: tuple[int, ...], threshold: float) -> Assessment | None:
    blocks = [Block(effect=Tally.yes(when=number < agree)) for number in range(of)]
    return assess(blocks, scale=Scale.SHARE, threshold=threshold, looks=looks)


def _share_covered(share: float, looks: tuple[int, ...], threshold: float) -> float:
    undecided, seen, chance = {0: 1.0}, 0, 0.0
    for look in looks:
        reached: dict[int, float] = {}
        for agree, before in undecided.items():
            for more in range(look - seen + 1):
                step = comb(look - seen, more) * share**more * (1 - share) ** (look - seen - more)
                reached[agree + more] = reached.get(agree + more, 0.0) + before * step
        undecided, seen = {}, look
        for agree, probability in reached.items():
            found = _counted(agree, look, looks, threshold)
            if found is None:
                undecided[agree] = probability
            elif found.interval.low <= share <= found.interval.high:
                chance += probability
    return chance
