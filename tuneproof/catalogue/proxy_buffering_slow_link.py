"""A slow link in the place of a slow reader: nginx cannot tell the difference, and holds as much."""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.proxy_buffering import (
    ARTICLE,
    BACKEND,
    BOUND_MARGIN,
    SMALLER,
    SMALLER_BUFFERS,
    bound_bytes,
    grown,
)
from tuneproof.lab.load.slow_readers import MemoryObservation, SlowReaders
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.inference.verdicts import Form
from tuneproof.proof.scenario.arms import Arm
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

SLOW: Final = Impairment(rate_mbit=5.0)
# The reader takes all that arrives; it is the link that lets nothing through.
EAGER: Final = SlowReaders(interval_s=0.02, read_bytes=1 << 20)
LINK: Final = Arm(
    name="slow-link",
    subject=SMALLER,
    plan=EAGER,
    network=NetworkProfile(
        name="client at 5 Mbit/s", summary="an eager reader far away", client=LinkProfile(egress=SLOW, ingress=SLOW)
    ),
)

SCENARIO: Final = Scenario(
    name="proxy_buffering_slow_link",
    arms=(LINK,),
    claims=(
        Claim[MemoryObservation](
            name="slow_link_takes_the_bound",
            sentence="A fast reader on a slow link makes nginx hold as much memory as a slow reader",
            source=f"{ARTICLE}: a malicious slow client costs much for little",
            arms=(LINK.name,),
            effect=lambda block: grown(block[LINK.name]) / bound_bytes(SMALLER_BUFFERS),
            effect_name="growth of the workers' memory ÷ the bound",
            scale=Scale.RATIO,
            threshold=BOUND_MARGIN,
            why="as for a slow reader: the sum must be right to size a machine by the directives",
            form=Form.SAME,
        ),
    ),
    backends=(BACKEND,),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
