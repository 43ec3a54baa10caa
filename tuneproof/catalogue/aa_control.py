"""A/A controls: two identical arms, and a margin that could tell them apart."""

from collections.abc import Callable

from tuneproof.lab.load.base import Obs
from tuneproof.proof.inference.effects import Scale, ratio
from tuneproof.proof.inference.verdicts import Form
from tuneproof.proof.scenario.claims import Claim


def aa_control(
    name: str,
    sentence: str,
    *,
    arms: tuple[str, str],
    value: Callable[[Obs], float],
    what: str,
    figure: str,
    decides: float,
) -> Claim[Obs]:
    """Return the claim that a metric is the same in two identical arms.

    Args:
        name: Its name.
        sentence: What it says.
        arms: The arms.
        value: The metric of an observation.
        what: The metric in words.
        figure: The metric's name in the results.
        decides: The threshold nearest to 1 of all claims that this metric decides. The margin is its square root: an
        instrument that cannot distinguish that much must not decide twice as much (on a log scale).
    """
    first, second = arms
    return Claim(
        name=name,
        sentence=f"{sentence} (A/A control)",
        source="control of the method",
        arms=arms,
        effect=lambda block: ratio(value(block[first]), value(block[second])),
        effect_name=f"{what}, first ÷ second",
        figure=figure,
        scale=Scale.RATIO,
        threshold=max(decides, 1 / decides) ** 0.5,
        form=Form.SAME,
        why="the square root of the smallest threshold for this metric",
        everywhere=True,
        is_aa_control=True,
        # Five blocks are too few for such a narrow margin.
        further_looks=(6,),
    )
