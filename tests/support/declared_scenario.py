"""The declaration of a scenario with an ordinary claim, one that needs two CPUs, and one that needs a later nginx."""

from dataclasses import replace

from tests.support.fake_bench import arm, claim
from tuneproof.proof.scenario.scenarios import Scenario

DECLARED = Scenario(
    name="stall",
    arms=(arm("loaded"), arm("unused")),
    claims=(
        claim("loaded_stalls", "loaded"),
        replace(claim("many_cpus_stall", "unused"), subject_cpus=2),
        replace(claim("new_stall", "unused"), since="1.23.0"),
    ),
)
