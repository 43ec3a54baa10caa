"""Which engine is too noisy beside which."""

import pytest

from tests.support.written_results import a_cell, unsupported
from tuneproof.proof.matrix.noise import calmer_than, noise_of
from tuneproof.report.results.cells import Cell


def seen(lost_pct: float) -> Cell:
    """Return a cell before whose blocks so much was lost."""
    return a_cell(host_noise={"looks": 6, "lost_p50_pct": lost_pct, "lost_max_pct": 90.0, "waited_s": 0.0})


def test_an_engine_is_as_noisy_as_its_usual_cell() -> None:
    """One cell that a neighbour hit does not count, nor do cells before which nobody looked."""
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
    ],
    ids=["calmest", "half", "all-noisy", "quiet-enough", "noisy", "nobody-known"],
)
def test_an_engine_is_too_noisy_beside_one_that_is_half_as_noisy(
    noise_pct: dict[str, float], calmer: str | None
) -> None:
    """And only where its noise costs blocks; without another one that is known to be calmer it stays."""
    assert calmer_than("a", noise_pct) == calmer


def test_the_calmest_engine_is_never_too_noisy() -> None:
    """So that one is always left."""
    assert calmer_than("b", {"a": 90.0, "b": 40.0, "c": 80.0}) is None
