"""Keepalive to a distant upstream saves the round trip of the TCP handshake (RFC 9293, section 3.5), not work."""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import claims_of
from tuneproof.catalogue.upstream_keepalive import KEEPALIVE, REUSE
from tuneproof.lab.load.http_load import HttpLoad, HttpObservation
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.backends import STATIC, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=STATIC)
LOAD: Final = HttpLoad(concurrency=10, requests=120)
ONE_WAY_MS: Final = (1.0, 10.0)


def upstream_at(one_way_ms: float) -> NetworkProfile:
    """Return a network in which packets to and from the upstream take this long."""
    way = Impairment(delay_ms=one_way_ms)
    return NetworkProfile(
        name=f"upstream {2 * one_way_ms:g} ms away",
        summary="what keepalive is for",
        backend=LinkProfile(egress=way, ingress=way),
    )


def subject(name: str, block: tuple[str, ...], location: tuple[str, ...]) -> Subject:
    """Return an nginx with these directives in its upstream block and its location."""
    config = SubjectConfig(
        upstream=BACKEND.upstream, upstream_block=block, location=location, worker_connections=4096, access_log=False
    )
    return Subject(name=name, config=config)


PLAIN, KEPT = subject("plain", (), ()), subject("keepalive", KEEPALIVE, REUSE)


def arm(of: Subject, one_way_ms: float) -> Arm[HttpObservation]:
    """Return the arm of a subject with this delay to its upstream."""
    return Arm(name=f"{of.name}-{one_way_ms:g}-ms", subject=of, plan=LOAD, network=upstream_at(one_way_ms))


TWIN: Final = arm(subject("keepalive-twin", KEEPALIVE, REUSE), ONE_WAY_MS[-1])


SCENARIO: Final = Scenario(
    name="upstream_keepalive_distance",
    arms=(*(arm(of, one_way_ms) for one_way_ms in ONE_WAY_MS for of in (PLAIN, KEPT)), TWIN),
    claims=claims_of("upstream_keepalive_distance"),
    backends=(BACKEND,),
    warm_up=HttpLoad(concurrency=10, requests=100),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("keepalive_saves_a_round_trip_of_20_ms",),
    full_depth=("keepalive_saves_a_round_trip_of_2_ms", "twins_are_as_fast"),
    timed=True,
)
