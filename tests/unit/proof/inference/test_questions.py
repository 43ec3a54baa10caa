"""A question is declared as a whole, or not at all."""

import math

import pytest

from tuneproof.proof.inference.intervals import Scale
from tuneproof.proof.inference.looks import Looks
from tuneproof.proof.inference.questions import Question


@pytest.mark.parametrize(
    ("name", "arms", "threshold", "named"),
    [
        pytest.param("", ("a",), 1.0, "name", id="no-name"),
        pytest.param("q", (), 1.0, "arms", id="no-arms"),
        pytest.param("q", ("a", "a"), 1.0, "arms", id="arm-twice"),
        pytest.param("q", ("a",), 0.0, "threshold", id="zero-ratio"),
        pytest.param("q", ("a",), math.inf, "threshold", id="infinite"),
    ],
)
def test_an_impossible_question_is_refused_by_field(
    name: str, arms: tuple[str, ...], threshold: float, named: str
) -> None:
    """The error begins with the field."""
    with pytest.raises(ValueError, match=f"^{named} must"):
        Question[float](
            name=name,
            arms=arms,
            effect=lambda observations: observations["a"],
            scale=Scale.RATIO,
            threshold=threshold,
            looks=Looks(blocks=(6,)),
        )
