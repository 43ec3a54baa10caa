"""The cost of proxy_socket_rcvbuf with a distant upstream: at most one receive buffer per connection and round trip."""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.reuseport_stall import BULK_DOWNLOADS, UPSTREAM, bulk_rate
from tuneproof.catalogue.reuseport_stall_rcvbuf import (
    ASKED_BYTES,
    BULK_PRICE_THRESHOLD,
    CURE,
    DEFAULT,
    SINCE,
)
from tuneproof.catalogue.upstream_keepalive_distance import upstream_at
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

ONE_WAY_MS: Final = 10.0
SOURCE: Final = "RFC 7323, section 1.1: the receive window limits throughput to one window per round trip"
# The kernel doubles the value (socket(7)).
MOST_BYTES_PER_S: Final = BULK_DOWNLOADS * 2 * ASKED_BYTES[CURE] / (2 * ONE_WAY_MS / 1000)
# Connections reach their speed within a few round trips.
PLAN: Final = StallLoad(bulk_per_worker=(BULK_DOWNLOADS, 0), settle_s=1.0, measure_s=1.0)
WARM_UP: Final = StallLoad(bulk_per_worker=(1, 1), settle_s=0.0, measure_s=0.02)


def arm(name: str, *directives: str) -> Arm[StallObservation]:
    """Return the arm of an nginx with these directives in its location and a 20 ms round trip to its upstream."""
    subject = Subject(name=name, config=SubjectConfig(upstream=UPSTREAM, location=directives))
    return Arm(name=name, subject=subject, plan=PLAN, network=upstream_at(ONE_WAY_MS))


SCENARIO: Final = Scenario(
    name="reuseport_stall_rcvbuf_distance",
    arms=(arm(DEFAULT), arm(CURE, "proxy_socket_rcvbuf 32k")),
    claims=(
        Claim[StallObservation](
            name="socket_rcvbuf_slows_distant_bulk",
            sentence="With the upstream 20 ms away, proxy_socket_rcvbuf 32k halves the throughput of bulk downloads",
            source=SOURCE,
            line="proxy_socket_rcvbuf 32k;",
            arms=(DEFAULT, CURE),
            effect=lambda block: bulk_rate(block[DEFAULT]) / bulk_rate(block[CURE]),
            effect_name="bulk bytes per second, default ÷ proxy_socket_rcvbuf 32k, 20 ms away",
            figure="bulk_bytes_per_s",
            scale=Scale.RATIO,
            threshold=BULK_PRICE_THRESHOLD,
            why="losing half of the throughput makes the remedy a bad trade for large files",
            since=SINCE,
        ),
        Claim[StallObservation](
            name="socket_rcvbuf_is_one_buffer_per_round_trip",
            sentence="With the upstream 20 ms away, a connection carries at most one receive buffer per round trip",
            source=SOURCE,
            line="proxy_socket_rcvbuf 32k;",
            arms=(CURE,),
            effect=lambda block: MOST_BYTES_PER_S / bulk_rate(block[CURE]),
            effect_name="one receive buffer of each connection per round trip ÷ bulk bytes per second",
            scale=Scale.RATIO,
            threshold=1.0,
            why="the bound follows from the buffer size",
            since=SINCE,
        ),
    ),
    warm_up=WARM_UP,
)

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO, timed=True)
