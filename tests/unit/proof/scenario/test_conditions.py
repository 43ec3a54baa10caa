"""Each condition of a claim is met by one block, and broken by another with a small difference."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from tests.support.canned_observations import (
    HALF_OPEN,
    HELD,
    HTTP,
    MEMORY,
    Block,
    by_arm,
    held,
    per_arm,
    storms,
    verdict_on,
)
from tests.support.every_scenario import EVERY_SCENARIO, claim_of
from tuneproof.catalogue.connection_capacity import HELD as HELD_ARM
from tuneproof.proof.inference.verdicts import Verdict

# For each claim with a condition: a block that meets it, and a block that has the effect, but does not meet it.
CONDITIONS: Final[Mapping[str, tuple[Block, Block]]] = {
    "listen_queue/long_backlog_spares_connects": (storms(129, 1000), storms(129, 999)),
    **{
        f"listen_queue_half_open/{name}": (
            per_arm(HALF_OPEN, dropped_share=shares),
            per_arm(HALF_OPEN, dropped_share=shares, overflowed_share=[0.0 for _ in shares[1:]] + [1 / 800]),
        )
        for name, shares in (
            ("half_open_drops_without_overflows", (0.9,)),
            ("long_syn_backlog_ends_drops", (0.9, 0.0)),
            ("syncookies_end_drops", (0.9, 0.0)),
        )
    },
    "connection_capacity/million_idle_connections_fit": (
        [replace(HELD, client_rss_bytes=200_000_000)],
        [replace(HELD, client_rss_bytes=201_000_000)],
    ),
    "proxy_buffering/one_reader_breaks_a_memory_limit": (
        per_arm(MEMORY, oom_kills=(3, 0)),
        per_arm(MEMORY, oom_kills=(1, 0), others_ended=(1, 0)),
    ),
    "upstream_keepalive/keepalive_helps_kept_clients": (
        per_arm(HTTP, worker_cpu_us_per_request=(90.0, 30.0), client_connects_per_request=(0.1, 0.1)),
        per_arm(HTTP, worker_cpu_us_per_request=(90.0, 30.0), client_connects_per_request=(0.1, 0.11)),
    ),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_is_met_by_one_block_and_broken_by_a_small_difference(name: str) -> None:
    """A block that breaks the condition counts against the claim."""
    claim = claim_of(name)
    met, unmet = CONDITIONS[name]
    assert claim.condition_name
    assert claim.condition is not None
    for block, is_met, verdict in ((met, True, Verdict.HOLDS), (unmet, False, Verdict.REFUTED)):
        observed = by_arm(claim, block)
        assert claim.condition(observed) is is_met
        assert verdict_on(claim, claim.effect(observed), met=is_met) is verdict
        assert verdict_on(claim, claim.effect(observed)) is Verdict.HOLDS


def test_every_claim_with_a_condition_is_covered() -> None:
    conditional = {
        f"{scenario.name}/{one.name}" for scenario in EVERY_SCENARIO for one in scenario.claims if one.condition
    }
    assert conditional == set(CONDITIONS)


def test_the_prediction_for_a_million_connections_is_reported_with_the_memory_of_one_client() -> None:
    """The moderator computes it from the arm's figures, as they are in a result."""
    claim = claim_of("connection_capacity/million_idle_connections_fit")
    assert claim.moderator is not None
    observed = [*held(1000, 4000), *held(1100, 5000), replace(held(1200, 6000)[0], client_rss_bytes=201_000_000)]
    assert claim.moderator({HELD_ARM.name: HELD_ARM.plan.metrics(observed)}) == (
        "1100 bytes of nginx and 5000 of the kernel per connection; a million over 4 machines with 32 workers: "
        "1.52 GB each (the article's had 128 GB, used 20); one client held 10000 connections in 100 MB"
    )
