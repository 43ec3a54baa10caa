"""Conditions of claims: met by what they are about, and broken by the least of its opposite."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.support.canned_observations import HALF_OPEN, HELD, MEMORY, Block, by_arm, held, per_arm, storms
from tuneproof.catalogue.connection_capacity import SCENARIO as CAPACITY
from tuneproof.catalogue.listen_queue import SCENARIO as QUEUE
from tuneproof.catalogue.listen_queue_half_open import SCENARIO as SYN_QUEUE
from tuneproof.catalogue.proxy_buffering import SCENARIO as BUFFERING
from tuneproof.proof.scenario.scenarios import Scenario

# A claim with a condition, blocks that meet it with its figures, and blocks that do not.
CONDITIONS: Final[Sequence[tuple[Scenario[Any], str, Sequence[Block], str, Sequence[Block], str]]] = (
    (
        QUEUE,
        "long_backlog_spares_connects",
        [storms(129, 1000)] * 3,
        "0 connects of 1 s and more with backlog 2048, in 3 blocks",
        [storms(129, 1000), storms(129, 999)],
        "1 connects of 1 s and more with backlog 2048, in 2 blocks",
    ),
    *(
        (
            SYN_QUEUE,
            claim.name,
            [per_arm(HALF_OPEN, dropped_share=[0.9 for _ in claim.arms])] * 2,
            "ListenOverflows rose by 0 in 2 blocks",
            [per_arm(HALF_OPEN, overflowed_share=[0.0 for _ in claim.arms[1:]] + [1 / 800])] * 2,
            "ListenOverflows rose by 2 in 2 blocks",
        )
        for claim in SYN_QUEUE.claims
    ),
    (
        CAPACITY,
        "million_idle_connections_fit",
        [[replace(HELD, client_rss_bytes=200_000_000)], held(1100, 5000), held(1200, 6000)],
        (
            "1100 bytes of nginx and 5000 of the kernel per connection; a million over 4 machines of 32 workers: "
            "1.52 GB each [1.25 to 1.80], the article's had 128 and then used 20; one client held 10000 in 200 MB"
        ),
        [[HELD], [replace(HELD, client_rss_bytes=201_000_000)], [HELD]],
        (
            "1000 bytes of nginx and 4000 of the kernel per connection; a million over 4 machines of 32 workers: "
            "1.25 GB each [1.25 to 1.25], the article's had 128 and then used 20; one client held 10000 in 201 MB"
        ),
    ),
    (
        BUFFERING,
        "one_reader_breaks_a_memory_limit",
        [per_arm(MEMORY, oom_kills=(1, 0)), per_arm(MEMORY, oom_kills=(3, 0))],
        "processes killed per block: [1, 3]; others of nginx that ended: 0",
        [per_arm(MEMORY, oom_kills=(1, 0)), per_arm(MEMORY, oom_kills=(1, 0), others_ended=(1, 0))],
        "processes killed per block: [1, 1]; others of nginx that ended: 1",
    ),
)


@pytest.mark.parametrize(
    ("scenario", "name", "met", "figures", "unmet", "other_figures"),
    CONDITIONS,
    ids=[f"{scenario.name}-{name}" for scenario, name, *_ in CONDITIONS],
)
def test_a_condition_is_met_by_what_it_is_about_and_broken_by_the_least_of_its_opposite(
    scenario: Scenario[Any],
    name: str,
    met: Sequence[Block],
    figures: str,
    unmet: Sequence[Block],
    other_figures: str,
) -> None:
    """In one block of several, in one arm; the figures say how much there was of it."""
    claim = scenario.claim(name)
    assert claim.condition is not None
    found = claim.condition([by_arm(claim, block) for block in met])
    assert (found.met, found.figures) == (True, figures)
    found = claim.condition([by_arm(claim, block) for block in unmet])
    assert (found.met, found.figures) == (False, other_figures)
