"""A slow link instead of a slow reader: nginx cannot tell the difference, and uses as much memory."""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import claims_of
from tuneproof.catalogue.proxy_buffering import (
    BACKEND,
    SMALLER,
    SMALLER_BUFFERS,
    bound_bytes,
    grown,
)
from tuneproof.lab.load.slow_readers import MemoryObservation, SlowReaders
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.proof.scenario.arms import Arm
from tuneproof.proof.scenario.scenarios import Scenario

SLOW: Final = Impairment(rate_mbit=5.0)
# The client reads everything as soon as it arrives; the link is the bottleneck.
EAGER: Final = SlowReaders(interval_s=0.02, read_bytes=1 << 20)
LINK: Final = Arm(
    name="slow-link",
    subject=SMALLER,
    plan=EAGER,
    network=NetworkProfile(
        name="client at 5 Mbit/s", summary="an eager reader far away", client=LinkProfile(egress=SLOW, ingress=SLOW)
    ),
)


def of_the_bound(observation: MemoryObservation) -> float:
    """Return the growth of the workers' memory ÷ the most that the buffer directives allow."""
    return grown(observation) / bound_bytes(SMALLER_BUFFERS)


SCENARIO: Final = Scenario(
    name="proxy_buffering_slow_link",
    arms=(LINK,),
    claims=claims_of("proxy_buffering_slow_link", code={"of_the_bound": of_the_bound}),
    backends=(BACKEND,),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
