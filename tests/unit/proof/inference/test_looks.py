"""Looks are declared beforehand and share one error rate."""

import math

import pytest

from tuneproof.proof.inference.looks import Looks


def test_tails_are_the_increments_of_pococks_spending_function() -> None:
    """Half of the blocks may spend 0.05 ln(1 + (e - 1) / 2) = 0.0310, three quarters 0.0414, all of them 0.05."""
    looks = Looks(blocks=(6, 9, 12))
    assert [looks.tail(index) for index in range(3)] == pytest.approx([0.0310057, 0.0103937, 0.0086006], abs=1e-7)


@pytest.mark.parametrize("blocks", [(5,), (6, 9, 12), (8, 16, 24), (5, 6, 7, 8, 40)])
def test_tails_add_up_to_the_declared_error_rate(blocks: tuple[int, ...]) -> None:
    """However the looks are placed, together they spend exactly the error rate, and each of them something."""
    looks = Looks(blocks=blocks, error_rate=0.01)
    tails = [looks.tail(index) for index in range(len(blocks))]
    assert min(tails) > 0
    assert math.fsum(tails) == pytest.approx(0.01)


def test_a_look_is_found_by_its_number_of_blocks() -> None:
    """Between the looks there is none; the one after is the next to come."""
    looks = Looks(blocks=(6, 9, 12))
    assert [looks.at(blocks) for blocks in (0, 6, 7, 9, 12, 13)] == [None, 0, None, 1, 2, None]
    assert [looks.after(blocks) for blocks in (0, 5, 6, 11, 12)] == [0, 0, 1, 2, None]
    assert looks.last == 12


@pytest.mark.parametrize(
    ("blocks", "error_rate", "named"),
    [
        pytest.param((), 0.05, "blocks", id="none"),
        pytest.param((4, 8), 0.05, "blocks", id="too-early"),
        pytest.param((6, 6), 0.05, "blocks", id="repeated"),
        pytest.param((9, 6), 0.05, "blocks", id="falling"),
        pytest.param((6,), 0.0, "error_rate", id="rate-0"),
        pytest.param((6,), 0.5, "error_rate", id="rate-0.5"),
        pytest.param((6,), math.nan, "error_rate", id="rate-nan"),
    ],
)
def test_impossible_looks_are_refused_by_field(blocks: tuple[int, ...], error_rate: float, named: str) -> None:
    """Looks that cannot keep their promise do not come into being."""
    with pytest.raises(ValueError, match=f"^{named} must"):
        Looks(blocks=blocks, error_rate=error_rate)
