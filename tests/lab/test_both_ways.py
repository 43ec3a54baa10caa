"""Claims must fail when their cause or their remedy is removed.

Arms keep their names but run as other arms: the arm with the remedy gets the problem as well, or the other arm loses
the problem. Canned trials show that claims that are expected to be refuted can hold
(tests/unit/proof/scenario/test_claims_can_hold.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from fixtures.labs import Measure
from tests.support.turned import with_arms_like
from tuneproof.catalogue import (
    differential_diagnosis,
    listen_queue,
    listen_queue_half_open,
    proxy_buffering,
    reuseport_stall_herd,
    reuseport_stall_league,
    reuseport_stall_rcvbuf,
    reuseport_stall_rcvbuf_distance,
    tuned_nginx,
    upstream_keepalive,
    upstream_keepalive_distance,
    worker_connections,
)
from tuneproof.catalogue.reuseport_stall import DOSES as _DOSES
from tuneproof.catalogue.reuseport_stall import ReuseportStall
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.network.profiles import BARE
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.arms import Arm
from tuneproof.proof.scenario.scenarios import Scenario
from tuneproof.report.results.keys import Key

pytestmark = [pytest.mark.engine, pytest.mark.timing]


@dataclass(frozen=True, kw_only=True)
class Sabotage:
    """The replacement of arms, and the claims that depend on these arms."""

    scenario: Scenario[Any]
    stand_ins: Mapping[str, str]  # by the name of an arm: the arm that runs in its place
    claims: tuple[str, ...]  # names of the claims that must no longer hold
    refutes: bool = False  # whether all of these claims must be refuted; otherwise at least one


# Only this case always runs: the others consist of the same parts, and tests/lab/test_turned_claims.py reverses claims.
SEEN_EVERYWHERE = "bulk-downloads-left-out"
_DIAGNOSIS = differential_diagnosis
_LEAGUE = reuseport_stall_league
_RCVBUF = reuseport_stall_rcvbuf
_QUEUES = listen_queue
_BUFFERS = proxy_buffering
_HALF_OPEN = listen_queue_half_open
_TUNED = tuned_nginx
_STALL = ReuseportStall(default_rmem=(4096, 131072, 33554432)).scenario()
_DOSE, *_SMALLER = [arm.name for arm in ReuseportStall(default_rmem=(4096, 131072, 33554432)).dose_arms()]
_SLOTS = [arm.name for arm in worker_connections.ARMS]


def _without_bulk(arm: Arm[StallObservation]) -> Arm[StallObservation]:
    assert isinstance(arm.plan, StallLoad)
    return replace(arm, plan=replace(arm.plan, bulk_per_worker=(0,) * arm.plan.workers))


SABOTAGES = {
    SEEN_EVERYWHERE: Sabotage(
        scenario=replace(_STALL, arms=tuple(map(_without_bulk, _STALL.arms))),
        stand_ins={},
        claims=("loaded_worker_stalls",),
        refutes=True,
    ),
    "receive-buffers-left-alone": Sabotage(
        scenario=_STALL,
        stand_ins=dict.fromkeys(_SMALLER, _DOSE),
        claims=("small_rmem_restores_loop",),
        refutes=True,
    ),
    "keepalive-left-out": Sabotage(
        scenario=upstream_keepalive.SCENARIO,
        # The other claims about a gain apply the same function to other arms.
        stand_ins={"keepalive": "off"},
        claims=("connections_are_the_cause",),
    ),
    "keepalive-left-out-of-one-twin": Sabotage(
        scenario=upstream_keepalive.SCENARIO,
        stand_ins={"keepalive": "off"},
        claims=("keepalive_raises_throughput", "twins_are_as_fast"),
    ),
    "twin-with-the-remedy": Sabotage(
        scenario=_STALL,
        stand_ins={"twin": _STALL.arms[_DOSES - 1].name},
        claims=("twins_are_alike",),
    ),
    "distant-keepalive-left-out": Sabotage(
        scenario=upstream_keepalive_distance.SCENARIO,
        stand_ins={"keepalive-1-ms": "plain-1-ms", "keepalive-10-ms": "plain-10-ms"},
        claims=("keepalive_saves_a_round_trip_of_2_ms", "keepalive_saves_a_round_trip_of_20_ms"),
    ),
    "backlog-left-short": Sabotage(
        scenario=_QUEUES.SCENARIO,
        stand_ins={_QUEUES.LONG: _QUEUES.SHORT},
        claims=("long_backlog_spares_connects",),
    ),
    "backlog-made-long": Sabotage(
        scenario=_QUEUES.SCENARIO,
        stand_ins={arm.name: _QUEUES.LONG for arm in _QUEUES.QUEUE_ARMS},
        # These claims are decided by counting, like those that tests/lab/test_turned_claims.py reverses.
        claims=("queue_holds_backlog_plus_one", "overflows_and_drops_rise_together"),
    ),
    "syn-backlog-made-long": Sabotage(
        scenario=_HALF_OPEN.SCENARIO,
        stand_ins={_HALF_OPEN.SHORT.name: _HALF_OPEN.LONG.name},
        # The claim that cookies end the drops applies the same function to another arm.
        claims=("half_open_drops_without_overflows", "long_syn_backlog_ends_drops"),
    ),
    "recipe-everywhere": Sabotage(
        scenario=_TUNED.SCENARIO,
        stand_ins={_TUNED.DEFAULTS.name: _TUNED.RECIPE.name},
        # recipe_ends_slow_connects is left out: dropped SYNs cause slow connects.
        claims=("recipe_ends_dropped_syns",),
    ),
    "fewer-readers-and-buffers-off": Sabotage(
        scenario=_BUFFERS.SCENARIO,
        stand_ins={
            _BUFFERS.ARTICLES.name: _BUFFERS.OFF.name,
            _BUFFERS.DOSES[-1].name: _BUFFERS.DOSES[0].name,
            _BUFFERS.DEFAULTS.name: _BUFFERS.OFF.name,
            _BUFFERS.KILLED.name: _BUFFERS.SPARED.name,
        },
        claims=tuple(claim.name for claim in _BUFFERS.CLAIMS),
    ),
    "slots-all-alike": Sabotage(
        scenario=worker_connections.SCENARIO,
        stand_ins=dict.fromkeys(_SLOTS, _SLOTS[0]),
        claims=("a_connection_costs_424_bytes", "a_million_connections_cost_14_gb"),
    ),
    "mitigations-left-out": Sabotage(
        scenario=_LEAGUE.SCENARIO,
        stand_ins={_LEAGUE.SMALL: _LEAGUE.DEFAULT, "limit-rate": _LEAGUE.DEFAULT},
        claims=("small_rmem_halves_lag", "limit_rate_halves_lag"),
    ),
    "socket-buffers-left-alone": Sabotage(
        scenario=_RCVBUF.SocketBuffers(largest_rmem_bytes=33554432).scenario(),
        stand_ins=dict.fromkeys((_RCVBUF.CURE, _RCVBUF.SMALLEST), _RCVBUF.DEFAULT),
        claims=(
            "socket_rcvbuf_restores_loop",
            "socket_rcvbuf_bounds_an_iteration",
            "iterations_follow_socket_rcvbuf",
            "socket_rcvbuf_is_tcp_rmem_for_a_location",
            "socket_rcvbuf_beats_buffering_off",
        ),
    ),
    "distant-socket-buffers-left-alone": Sabotage(
        scenario=reuseport_stall_rcvbuf_distance.SCENARIO,
        stand_ins={_RCVBUF.CURE: _RCVBUF.DEFAULT},
        claims=("socket_rcvbuf_slows_distant_bulk", "socket_rcvbuf_is_one_buffer_per_round_trip"),
    ),
    "causes-left-out": Sabotage(
        scenario=_DIAGNOSIS.SCENARIO,
        # The claims about other causes apply the same function to other arms.
        stand_ins={_DIAGNOSIS.STALL.name: _DIAGNOSIS.HEALTHY.name, _DIAGNOSIS.OVERFLOW.name: _DIAGNOSIS.HEALTHY.name},
        claims=("stall_is_told", "overflow_is_told", "stalled_nginx_sends_to_nobody", "overflow_repeats_syns"),
    ),
    "queues-not-shared": Sabotage(
        scenario=reuseport_stall_herd.SCENARIO,
        stand_ins={"shared-queue": "reuseport"},
        claims=("shared_queue_makes_workers_wait",),
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == SEEN_EVERYWHERE else pytest.mark.slow) for name in SABOTAGES]
)
def test_a_claim_does_not_hold_without_its_cause_or_remedy(name: str, nginx: str, measure: Measure) -> None:
    """No claim holds, and at least one is refuted: if all were inconclusive, the test would show nothing."""
    sabotage = SABOTAGES[name]
    scenario = with_arms_like(sabotage.scenario, sabotage.stand_ins)
    # Without its own looks, a claim with counted trials needs only a few wrong trials to be refuted.
    claims = [replace(scenario.claim(name), expected=Verdict.REFUTED, own_looks=()) for name in sabotage.claims]
    if since := {claim.since for claim in claims if claim.is_ahead_of(nginx)}:
        pytest.skip(f"needs nginx {', '.join(since)} or later: choose it with --nginx")
    refuted = {claim.name for claim in claims if sabotage.refutes or scenario.claim(claim.name).own_looks}
    lab = Key(f"{scenario.name} with {name}", "", nginx, BARE.name)
    with measure(lab, scenario, claims) as measures:
        verdicts = {claim.name: measures.decide(claim).verdict for claim in claims}
    assert set(verdicts) == set(sabotage.claims)
    assert Verdict.HOLDS not in verdicts.values(), verdicts
    assert Verdict.REFUTED in verdicts.values(), f"no claim is refuted on this host: {verdicts}"
    # Other counted claims may stay inconclusive, if a few trials are correct by chance.
    assert {verdicts[name] for name in refuted} <= {Verdict.REFUTED}, verdicts
