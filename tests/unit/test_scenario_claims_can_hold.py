"""Claims can hold and can fall, whatever is expected of them: a claim whose effect cannot be there says nothing.

Each is shown canned observations with its effect, somewhat above its threshold, and without it, somewhat below.
"""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from fixtures.inference.verdicts import Verdict
from fixtures.network.profiles import BARE
from fixtures.scenario.scenarios import Scenario
from fixtures.subject.versions import SUITES
from tests.scenarios.listen_queue_claims import SCENARIO as QUEUE
from tests.scenarios.network_quality_claims import NetworkQuality
from tests.scenarios.proxy_buffering_claims import SCENARIO as BUFFERING
from tests.scenarios.reuseport_stall_claims import ReuseportStall
from tests.scenarios.reuseport_stall_league_claims import League
from tests.scenarios.test_connection_capacity import SCENARIO as CAPACITY
from tests.scenarios.test_listen_queue_half_open import SCENARIO as SYN_QUEUE
from tests.scenarios.test_reuseport_stall_herd import SCENARIO as HERD
from tests.scenarios.test_reuseport_stall_protocol import SCENARIO as PROTOCOL
from tests.scenarios.test_softirq_steering import SCENARIO as STEERING
from tests.scenarios.test_tuned_nginx import SCENARIO as TUNED
from tests.scenarios.upstream_keepalive_claims import SCENARIO as KEEPALIVE
from tests.unit.canned_observations import (
    ACCEPT,
    HALF_OPEN,
    HTTP,
    MEMORY,
    STALL,
    STORM,
    Block,
    by_arm,
    growths,
    held,
    lags,
    per_arm,
    rates,
    slow,
    slowest_tenths,
    storms,
)

LEAGUE: Final = League().scenario()
QUALITY: Final = NetworkQuality(network=BARE).scenario()
STALLING: Final = ReuseportStall(default_rmem=(4096, 131072, 6291456)).scenario()

# A claim, blocks with its effect, and blocks without.
TABLE: Final[Sequence[tuple[Scenario[Any], str, Sequence[Block], Sequence[Block]]]] = (
    # Expected to be refuted.
    (
        QUEUE,
        "listener_lock_drops_syns",
        [per_arm(STORM, backlog_drops=drops) for drops in ((2, 0, 0), (0, 2, 0), (0, 0, 2))],
        [per_arm(STORM, backlog_drops=[0] * 3), per_arm(STORM, connections=[10_000] * 3, backlog_drops=[9] * 3)],
    ),
    (
        KEEPALIVE,
        "keepalive_helps_closing_backend",
        [rates(1000, 1310)],
        [rates(1000, 1290), rates(1000, 1000), rates(1310, 1000)],
    ),
    (KEEPALIVE, "first_twin_is_faster", [rates(1310, 1000)], [rates(1290, 1000), rates(1000, 1000), rates(1000, 1310)]),
    (TUNED, "recipe_doubles_requests", [rates(1000, 1510)], [rates(1000, 1490), rates(1000, 1000), rates(1510, 1000)]),
    (
        TUNED,
        "recipe_ends_errors",
        [per_arm(HTTP, failed_share=(0.0011, 0.0))],
        [per_arm(HTTP, failed_share=shares) for shares in ((0.0009, 0.0), (0.0, 0.0), (0.5, 0.5), (0.0, 0.0011))],
    ),
    (TUNED, "first_twin_serves_more", [rates(1310, 1000)], [rates(1290, 1000), rates(1000, 1000), rates(1000, 1310)]),
    (CAPACITY, "million_idle_connections_cost_20_gb", [held(1000, 40_000)], [held(1000, 38_000), held(1000, 4000)]),
    (LEAGUE, "aio_threads_halve_lag", [lags(10, 4.9)], [lags(10, 5.1), lags(10, 10), lags(4.9, 10)]),
    (LEAGUE, "reuseport_off_halves_lag", [lags(10, 4.9)], [lags(10, 5.1), lags(10, 10), lags(4.9, 10)]),
    (
        HERD,
        "shared_queue_wakes_for_nothing",
        [per_arm(ACCEPT, empty_accepts_per_request=(0.11, 0.0))],
        [per_arm(ACCEPT, empty_accepts_per_request=found) for found in ((0.09, 0.0), (0.5, 0.5), (0.0, 0.11))],
    ),
    (STALLING, "reuseport_off_cures_loaded_workers", [slow(3, 0)], [slow(2, 0), slow(0, 0), slow(9, 9), slow(0, 3)]),
    (
        STALLING,
        "small_rmem_slows_bulk",
        [per_arm(STALL, bulk_bytes_per_s=((201.0, 0.0), (60.0, 40.0)))],
        [per_arm(STALL, bulk_bytes_per_s=((199.0, 0.0), (60.0, 40.0)))],
    ),
    (STALLING, "first_twin_lags_more", [lags(5.1, 1)], [lags(4.9, 1), lags(1, 1), lags(1, 5.1)]),
    (STALLING, "second_twin_lags_more", [lags(1, 5.1)], [lags(1, 4.9), lags(1, 1), lags(5.1, 1)]),
    (QUALITY, "slow_client_worsens_stall", [lags(1.26, 1)], [lags(1.24, 1), lags(1, 1), lags(1, 1.26)]),
    (QUALITY, "first_twin_lags_more", [lags(5.1, 1)], [lags(4.9, 1), lags(1, 1), lags(1, 5.1)]),
    (QUALITY, "second_twin_lags_more", [lags(5.1, 1)], [lags(4.9, 1), lags(1, 1), lags(1, 5.1)]),
    # Expected to hold.
    (
        LEAGUE,
        "receive_buffer_is_the_larger_factor",
        [lags(70, 20, 70, 10, 1, 0.8, 0.7, 70)],
        [lags(70, 0.8, 70, 10, 1, 20, 0.7, 70), lags(70, 20, 70, 10, 1, 70, 20, 70)],
    ),
    (
        HERD,
        "shared_queue_makes_workers_wait",
        [per_arm(ACCEPT, run_queue_wait_share=(0.0222, 0.02))],
        [per_arm(ACCEPT, run_queue_wait_share=shares) for shares in ((0.0218, 0.02), (0.02, 0.02))],
    ),
    (
        PROTOCOL,
        "small_rmem_shortens_slow_requests",
        [slowest_tenths(1000, 660, 1000)],
        [slowest_tenths(1000, 670, 50), slowest_tenths(1000, 1000, 50)],
    ),
    (CAPACITY, "million_idle_connections_fit", [held(1000, 254_000)], [held(1000, 256_000)]),
    (
        TUNED,
        "recipe_ends_dropped_syns",
        [per_arm(HTTP, listen_drops=(51, 0))],
        [per_arm(HTTP, listen_drops=drops) for drops in ((49, 0), (0, 0), (900, 900), (0, 51))],
    ),
    # No effect at all is this claim's threshold: that leaves it undecided, and only the opposite refutes it.
    (
        TUNED,
        "recipe_ends_slow_connects",
        [per_arm(HTTP, slow_connect_share=(0.001, 0.0))],
        [per_arm(HTTP, slow_connect_share=(0.0, 0.001))],
    ),
    (STEERING, "second_cpu_for_softirqs_helps", [rates(1000, 1110)], [rates(1000, 1090), rates(1000, 1000)]),
    (
        QUEUE,
        "long_backlog_spares_connects",
        [storms(129, 1000)],
        [storms(210, 1000), storms(129, 129), storms(1000, 129)],
    ),
    # What the longest queue takes is limited by the storm, not by the law.
    (
        QUEUE,
        "queue_holds_backlog_plus_one",
        [storms(129, 512, 1000), storms(127, 505, 0)],
        [storms(126, 512, 1000), storms(129, 501, 1000), storms(*[1000] * 3)],
    ),
    (
        QUEUE,
        "overflows_and_drops_rise_together",
        [per_arm(STORM, listen_drops=(drops,)) for drops in (500, 520, 480)],
        [per_arm(STORM, listen_drops=(drops,)) for drops in (530, 470, 0)],
    ),
    (
        SYN_QUEUE,
        "half_open_drops_without_overflows",
        [per_arm(HALF_OPEN, dropped_share=(0.51,))],
        [per_arm(HALF_OPEN, dropped_share=(0.49,)), per_arm(HALF_OPEN, dropped_share=(0.9,), overflowed_share=(0.9,))],
    ),
    *(
        (
            SYN_QUEUE,
            name,
            [per_arm(HALF_OPEN, dropped_share=(0.8, 0.29))],
            [per_arm(HALF_OPEN, dropped_share=shares) for shares in ((0.8, 0.31), (0.8, 0.8), (0.0, 0.0))],
        )
        for name in ("long_syn_backlog_ends_drops", "syncookies_end_drops")
    ),
    # The bound of one reader is 4 + 64 x 1 MiB.
    (
        BUFFERING,
        "memory_grows_with_every_reader",
        [growths(68, 136, 272, 544), growths(67, 138, 268, 550)],
        [growths(66, 136, 272, 544), growths(68, 139, 272, 544), growths(68, 136, 272, 530), growths(68, 68, 68, 68)],
    ),
    (
        BUFFERING,
        "one_reader_breaks_a_memory_limit",
        [per_arm(MEMORY, oom_kills=kills) for kills in ((1, 0), (3, 0))],
        [per_arm(MEMORY, oom_kills=kills) for kills in ((0, 0), (1, 1), (3, 1), (0, 1))],
    ),
)


def names(table: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return what the rows of a table are called in a test's name."""
    return [f"{scenario.name}-{name}" for scenario, name, *_ in table]


@pytest.mark.parametrize(("scenario", "name", "holds", "falls"), TABLE, ids=names(TABLE))
def test_an_effect_is_above_its_threshold_where_it_is_there_and_below_where_it_is_not(
    scenario: Scenario[Any], name: str, holds: Sequence[Block], falls: Sequence[Block]
) -> None:
    """So that the observations decide, and not the claim's own words."""
    claim = scenario.claim(name)
    assert min(claim.effect(by_arm(claim, block)) for block in holds) > claim.threshold
    assert max(claim.effect(by_arm(claim, block)) for block in falls) < claim.threshold


def test_no_claim_that_is_expected_to_be_refuted_is_left_out() -> None:
    """Of the scenarios that have any; what is refuted on new versions only is seen to hold on the old ones."""
    scenarios = {scenario.name: scenario for scenario, *_ in TABLE}.values()
    refuted = {
        f"{scenario.name}-{claim.name}"
        for scenario in scenarios
        for claim in scenario.claims
        if {claim.expected_on(version, BARE) for version in SUITES} == {Verdict.REFUTED.value}
    }
    assert len(refuted) == 17
    assert refuted <= set(names(TABLE))


@pytest.mark.parametrize(
    ("scenario", "name", "block"),
    [
        (QUEUE, "overflows_and_drops_rise_together", per_arm(STORM, listen_overflows=(0,))),
        (TUNED, "recipe_ends_slow_connects", per_arm(HTTP, slow_connect_share=(0.1, None))),
    ],
    ids=["no-overflow", "a-generator-that-does-not-tell"],
)
def test_observations_that_have_no_effect_to_tell_make_their_block_void(
    scenario: Scenario[Any], name: str, block: Block
) -> None:
    """ValueError says so; any number would be one that nobody has measured."""
    claim = scenario.claim(name)
    with pytest.raises(ValueError, match=r"nothing to compare 500 with|does not tell how long its connects took"):
        claim.effect(by_arm(claim, block))
