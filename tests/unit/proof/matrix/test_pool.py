"""Several engines take the parts of a run from a shared pool."""

import threading

import pytest

from tests.support.written_results import a_cell, unsupported
from tuneproof.proof.matrix.pool import Part, Pile, calmer_than, noise_of
from tuneproof.report.results.cells import Cell


def test_an_engine_that_stepped_aside_takes_nothing_while_another_one_is_left() -> None:
    """If all others are lost, it continues, since no other engine can do the rest."""
    one, two, three = (Part(shard=f"{number}/3") for number in (1, 2, 3))
    taken: list[Part] = []
    pile = Pile([one, two, three], {"a", "b"})
    noisy, calm = pile.parts_for("a"), pile.parts_for("b")
    assert [next(noisy), next(calm)] == [one, two]
    pile.step_aside("a")
    waiting = threading.Thread(target=lambda: taken.extend(noisy), daemon=True)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert taken == []
    pile.give_back("b")
    waiting.join(10)
    assert taken == [two, three]


def seen(lost_pct: float) -> Cell:
    """Return a cell; ``lost_pct`` is the median share of CPU time lost before its blocks."""
    return a_cell(host_noise={"looks": 6, "lost_p50_pct": lost_pct, "lost_max_pct": 90.0, "waited_s": 0.0})


def test_an_engines_noise_is_the_median_of_its_cells() -> None:
    """One cell that a neighbour disturbed hardly changes it; cells without a measurement of noise are left out."""
    assert noise_of([seen(3.0), seen(80.0), unsupported(), seen(5.0)]) == 5.0
    assert noise_of([unsupported()]) is None


@pytest.mark.parametrize(
    ("noise_pct", "calmer"),
    [
        ({"a": 40.0, "b": 20.0, "c": 5.0, "d": 9.0}, "c"),
        ({"a": 40.0, "b": 20.0}, "b"),
        ({"a": 40.0, "b": 21.0}, None),
        ({"a": 15.0, "b": 1.0}, None),
        ({"a": 16.0, "b": 1.0}, "b"),
        ({"a": 40.0}, None),
        ({"a": 40.0, "b": 90.0, "c": 80.0}, None),
    ],
    ids=["calmest", "half", "all-noisy", "quiet-enough", "noisy", "no-other", "itself-the-calmest"],
)
def test_an_engine_is_too_noisy_if_another_is_at_most_half_as_noisy(
    noise_pct: dict[str, float], calmer: str | None
) -> None:
    """Its noise must also be above 15 %."""
    assert calmer_than("a", noise_pct) == calmer
