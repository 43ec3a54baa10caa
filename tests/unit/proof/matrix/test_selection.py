"""Expressions mean what pytest's -k means by them."""

import pytest

from tuneproof.errors import BadInputError
from tuneproof.proof.matrix.selection import Selection

NAMES = ("reuseport_stall_league", "aio_threads_halve_lag", "nginx-1.22", "bare")


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ("", True),
        ("reuseport_stall", True),
        ("LEAGUE", True),
        ("herd", False),
        ("not herd", True),
        ("not not herd", False),
        ("league and herd", False),
        ("league or herd", True),
        ("herd and league or bare", True),
        ("herd and (league or bare)", False),
        ("not (herd or wan)", True),
        ("nginx-1.22 and not wan", True),
        ("(bare)", True),
    ],
)
def test_a_name_stands_for_a_part_of_a_cells_names(expression: str, *, matches: bool) -> None:
    assert Selection(expression).matches(NAMES) is matches


@pytest.mark.parametrize("expression", ["and", "a and", "a b", "(a", "a)", "not", "()", "or a"])
def test_what_is_no_expression_is_bad_input(expression: str) -> None:
    with pytest.raises(BadInputError, match="cannot be read"):
        Selection(expression)
