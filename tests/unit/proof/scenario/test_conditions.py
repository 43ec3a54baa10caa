"""Conditions of claims: met by what they are about, and broken by the least of its opposite in one block."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.support.canned_observations import HALF_OPEN, HELD, MEMORY, Block, by_arm, held, per_arm, storms, verdict_on
from tests.support.every_scenario import BUFFERING, CAPACITY, EVERY_SCENARIO, QUEUE, SYN_QUEUE
from tuneproof.catalogue.connection_capacity import HELD as HELD_ARM
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.scenarios import Scenario

# A claim with a condition, a block that meets it, and one that does not, though it has the effect.
CONDITIONS: Final[Sequence[tuple[Scenario[Any], str, Block, Block]]] = (
    (QUEUE, "long_backlog_spares_connects", storms(129, 1000), storms(129, 999)),
    *(
        (
            SYN_QUEUE,
            claim.name,
            per_arm(HALF_OPEN, dropped_share=[0.9, 0.0][: len(claim.arms)]),
            per_arm(
                HALF_OPEN,
                dropped_share=[0.9, 0.0][: len(claim.arms)],
                overflowed_share=[0.0 for _ in claim.arms[1:]] + [1 / 800],
            ),
        )
        for claim in SYN_QUEUE.claims
    ),
    (
        CAPACITY,
        "million_idle_connections_fit",
        [replace(HELD, client_rss_bytes=200_000_000)],
        [replace(HELD, client_rss_bytes=201_000_000)],
    ),
    (
        BUFFERING,
        "one_reader_breaks_a_memory_limit",
        per_arm(MEMORY, oom_kills=(3, 0)),
        per_arm(MEMORY, oom_kills=(1, 0), others_ended=(1, 0)),
    ),
)
IDS: Final = [f"{scenario.name}-{name}" for scenario, name, *_ in CONDITIONS]


@pytest.mark.parametrize(("scenario", "name", "met", "unmet"), CONDITIONS, ids=IDS)
def test_a_condition_is_met_by_what_it_is_about_and_broken_by_the_least_of_its_opposite(
    scenario: Scenario[Any], name: str, met: Block, unmet: Block
) -> None:
    """In one arm; and what has the effect, but breaks the condition, speaks against the claim."""
    claim = scenario.claim(name)
    assert claim.condition_name
    assert claim.condition is not None
    for block, is_met, verdict in ((met, True, Verdict.HOLDS), (unmet, False, Verdict.REFUTED)):
        observed = by_arm(claim, block)
        assert claim.condition(observed) is is_met
        assert verdict_on(claim, claim.effect(observed), met=is_met) is verdict
        assert verdict_on(claim, claim.effect(observed)) is Verdict.HOLDS


def test_no_claim_with_a_condition_is_left_out() -> None:
    conditional = {
        f"{scenario.name}-{one.name}" for scenario in EVERY_SCENARIO for one in scenario.claims if one.condition
    }
    assert conditional == set(IDS)


def test_the_prediction_for_a_million_connections_is_told_with_what_one_client_needed() -> None:
    """From the metrics of the arm, as a cell has them."""
    claim = CAPACITY.claim("million_idle_connections_fit")
    assert claim.moderator is not None
    observed = [*held(1000, 4000), *held(1100, 5000), replace(held(1200, 6000)[0], client_rss_bytes=201_000_000)]
    assert claim.moderator({HELD_ARM.name: HELD_ARM.plan.metrics(observed)}) == (
        "1100 bytes of nginx and 5000 of the kernel per connection; a million over 4 machines of 32 workers: "
        "1.52 GB each, the article's had 128 and then used 20; one client held 10000 in 100 MB"
    )
