"""What a block means for one question."""

from tuneproof.proof.inference.intervals import Scale
from tuneproof.proof.inference.ledger import Ledger
from tuneproof.proof.inference.looks import Looks
from tuneproof.proof.inference.questions import Question, Trial


def test_an_effect_that_divides_by_nothing_makes_its_block_void() -> None:
    """As one that says so by itself."""
    dividing = Question[float](
        name="stall",
        arms=("loaded", "idle"),
        effect=lambda block: block["loaded"] / block["idle"],
        scale=Scale.RATIO,
        threshold=10.0,
        looks=Looks(blocks=(5,)),
    )
    ledger: Ledger[float] = Ledger(dividing, seed=1, max_void_share=0.5)
    trials = {
        arm: Trial(arm=arm, block=1, observation=value, void_reasons=(), seconds=1.0, measuring_seconds=1.0)
        for arm, value in (("loaded", 2.0), ("idle", 0.0))
    }
    assert ledger.judge(trials).void_reasons == ("float division by zero",)
