"""A/A controls: the claim that a metric is the same, within a margin, in two identical arms."""

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
        name: The claim's name.
        sentence: The claim itself.
        arms: The two identical arms.
        value: The metric of an observation.
        what: The metric in words.
        figure: The metric's name in the results.
        decides: The threshold nearest to 1 among the claims that this metric decides. The margin is its square root: on
            a log scale, a metric must be at least twice as precise as the claims that it decides.
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
        # A margin this narrow often needs more rounds than the run's depth provides.
        further_looks=(6,),
    )
