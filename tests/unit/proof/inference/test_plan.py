"""Plans require the smallest number of agreeing blocks; their exact error is computed in a second way."""

from itertools import product
from math import prod

import pytest

from tuneproof.proof.inference.plan import ERROR_RATE, Look, Side, side


def error_by_sequences(plan: Side, chance: float) -> float:
    """Add up the chances of all sequences of outcomes that end in a wrong decision, one by one."""
    wrong = 0.0
    for outcomes in product((True, False), repeat=plan.looks[-1].units):
        if any(sum(outcomes[: look.units]) >= look.needed for look in plan.looks):
            wrong += prod(chance if agrees else 1 - chance for agrees in outcomes)
    return wrong


@pytest.mark.parametrize(
    ("units", "chance"),
    [
        ((5, 9), 0.5),
        ((5, 9, 15), 0.5),
        ((5, 15), 0.5),
        ((6, 9, 13), 0.5),
        ((13,), 0.75),
        ((13,), 0.25),
        ((7, 14), 0.75),
    ],
)
def test_the_error_counts_all_sequences_and_is_at_most_the_declared_one(units: tuple[int, ...], chance: float) -> None:
    plan = side(units, chance)
    assert plan.error == pytest.approx(error_by_sequences(plan, chance), rel=1e-9)
    assert plan.error <= ERROR_RATE


@pytest.mark.parametrize("chance", [0.1, 0.25, 0.5, 0.75, 0.9])
@pytest.mark.parametrize("units", [(5, 9), (5, 9, 15, 21), (12, 18, 24), (33, 60), (14, 28)], ids=str)
def test_no_look_could_require_one_block_fewer(units: tuple[int, ...], chance: float) -> None:
    plan = side(units, chance)
    assert plan.error <= ERROR_RATE
    for index, look in enumerate(plan.looks):
        one_less = Look(units=look.units, needed=look.needed - 1, tail=0.0)
        bolder = Side(looks=(*plan.looks[:index], one_less), error=0.0)
        assert look.needed > look.units or _error(bolder, chance) > ERROR_RATE


def _error(plan: Side, chance: float) -> float:
    undecided, wrong, seen = {0: 1.0}, 0.0, 0
    for look in plan.looks:
        for _ in range(look.units - seen):
            stepped: dict[int, float] = {}
            for agree, probability in undecided.items():
                stepped[agree + 1] = stepped.get(agree + 1, 0.0) + probability * chance
                stepped[agree] = stepped.get(agree, 0.0) + probability * (1 - chance)
            undecided = stepped
        seen = look.units
        wrong += sum(probability for agree, probability in undecided.items() if agree >= look.needed)
        undecided = {agree: probability for agree, probability in undecided.items() if agree < look.needed}
    return wrong


def test_a_look_may_come_too_late_to_decide_anything() -> None:
    """If earlier looks have used up too much of the allowed error, the last one needs more than all blocks."""
    last = side((5, 9, 15, 21)).looks[-1]
    assert (last.needed, last.units, last.tail) == (22, 21, 0)


@pytest.mark.parametrize("units", [(), (4, 9), (5, 5), (9, 5)], ids=str)
def test_looks_that_do_not_increase_from_five_are_rejected(units: tuple[int, ...]) -> None:
    """Four blocks agree by chance in one of sixteen cases, which is more often than the declared error."""
    with pytest.raises(ValueError, match="looks must increase from 5"):
        side(units)
