"""Canned observations for each claim: some with its effect, just beyond its threshold, and some without it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from tests.support.canned_observations import (
    ACCEPT,
    HALF_OPEN,
    HTTP,
    MEMORY,
    STALL,
    STEERED,
    STORM,
    Block,
    arrived,
    costs,
    counted,
    fed,
    growths,
    held,
    lasts,
    per_arm,
    rates,
    reads,
    slow,
    slowest_tenths,
    started,
    storms,
    takes,
    unloaded,
    waits,
)
from tests.support.every_scenario import EVERY_SCENARIO, claim_of
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.inference.verdicts import Form

Row = tuple[Sequence[Block], Sequence[Block]]
MANY: Final = 1_000_000
"""A count above the minimum of every figure."""


# These claims hold if few events have arrived.
HELD: Final = (
    "defaults_hold_events",
    "defaults_hold_events_within_tls",
    "defaults_hold_events_over_http2",
    "buffering_off_needs_http_1_1",
    "gzip_holds_unbuffered_events",
)
SIZES: Final = "smaller_events_are_held_longer"


def counting_rows() -> Iterator[tuple[str, Row]]:
    """Yield a row for every claim that is decided by counting: slightly beyond its threshold, and slightly short of it.

    tests/lab/test_turned_claims.py tests that the arms really differ.
    """
    for scenario in EVERY_SCENARIO:
        for claim in scenario.claims:
            # Claims about diagnoses do not count events: test_differential_diagnosis.py tests them.
            if not claim.turned_by or scenario.name == "diagnosis_of_failures" or claim.name in (*HELD, SIZES):
                continue
            more, less = MANY * claim.threshold * 1.02, MANY * claim.threshold / 1.02
            if claim.scale is Scale.SHARE:
                row = [counted(0.55)], [counted(0.45), counted(0.0)]
            elif claim.form is Form.SAME:
                row = [counted(less, MANY), counted(MANY, less)], [counted(more, MANY), counted(MANY, more)]
            else:
                row = [counted(more, MANY)], [counted(less, MANY), counted(MANY, MANY)]
            yield f"{scenario.name}/{claim.name}", row


def aa_control(name: str, taking: Callable[[int, int], Block]) -> dict[str, Row]:
    """Return an A/A control's row: its arms differ by less than its margin, then by more, each in both directions."""
    margin = claim_of(name).threshold
    less, more = round(MANY * margin / 1.02), round(MANY * margin * 1.02)
    holds = [taking(less, MANY), taking(MANY, MANY), taking(MANY, less)]
    return {name: (holds, [taking(more, MANY), taking(MANY, more)])}


# A claim, blocks with its effect, and blocks without it.
TABLE: Final[Mapping[str, Row]] = {
    **dict(counting_rows()),
    **{f"streams/{name}": ([counted(0.45), counted(0.0)], [counted(0.55), counted(1.0)]) for name in HELD},
    f"streams/{SIZES}": (
        [arrived(0.0, 0.5, 0.9)],
        [arrived(0.0, 0.0, 0.9), arrived(0.9, 0.5, 0.0), arrived(1.0, 1.0, 1.0)],
    ),
    # The following claims are expected to be refuted, at least on new versions.
    "listen_queue/listener_lock_drops_syns": (
        [per_arm(STORM, backlog_drops=drops) for drops in ((2, 0, 0), (0, 2, 0), (0, 0, 2))],
        [per_arm(STORM, backlog_drops=[0] * 3), per_arm(STORM, connections=[10_000] * 3, backlog_drops=[9] * 3)],
    ),
    "upstream_keepalive/keepalive_helps_closing_backend": (
        [costs(131, 100)],
        [costs(129, 100), costs(100, 100), costs(100, 131)],
    ),
    "tuned_nginx/recipe_doubles_requests": ([costs(201, 100)], [costs(199, 100), costs(100, 100), costs(100, 201)]),
    "reuseport_stall/small_rmem_slows_fast": ([unloaded(4, 8.1)], [unloaded(4, 7.9), unloaded(4, 4), unloaded(8.1, 4)]),
    "tuned_nginx/recipe_ends_errors": (
        [per_arm(HTTP, failed_share=(0.0011, 0.0))],
        [per_arm(HTTP, failed_share=shares) for shares in ((0.0009, 0.0), (0.0, 0.0), (0.5, 0.5), (0.0, 0.0011))],
    ),
    "connection_capacity/million_idle_connections_cost_20_gb": (
        [held(1000, 40_000)],
        [held(1000, 38_000), held(1000, 4000)],
    ),
    # The CPU time is the same; only the wall time differs.
    "reuseport_stall_league/aio_threads_halve_lag": ([lasts(10, 4.9)], [lasts(10, 5.1), lasts(10, 10), takes(10, 4.9)]),
    "reuseport_stall_league/reuseport_off_halves_lag": (
        [lasts(10, 4.9)],
        [lasts(10, 5.1), lasts(10, 10), lasts(4.9, 10)],
    ),
    "reuseport_stall_herd/shared_queue_wakes_for_nothing": (
        # The share of calls without a connection is 0.12 of 1.12, or 0.11 of 1.11.
        [per_arm(ACCEPT, empty_accepts_per_request=(0.12, 0.0))],
        [per_arm(ACCEPT, empty_accepts_per_request=found) for found in ((0.11, 0.0), (0.5, 0.5), (0.0, 0.12))],
    ),
    "reuseport_stall/reuseport_off_cures_loaded_workers": (
        [slow(3, 0)],
        [slow(2, 0), slow(0, 0), slow(9, 9), slow(0, 3)],
    ),
    **dict.fromkeys(
        (
            "reuseport_stall/small_rmem_slows_bulk",
            "reuseport_stall_rcvbuf/socket_rcvbuf_slows_bulk",
            "reuseport_stall_rcvbuf_distance/socket_rcvbuf_slows_distant_bulk",
        ),
        (
            [per_arm(STALL, bulk_bytes_per_s=((201.0, 0.0), (60.0, 40.0)))],
            [per_arm(STALL, bulk_bytes_per_s=((199.0, 0.0), (60.0, 40.0)))],
        ),
    ),
    "network_quality/slow_client_worsens_stall": ([takes(1.26, 1)], [takes(1.24, 1), takes(1, 1), takes(1, 1.26)]),
    # A/A controls, and a claim that two settings have the same effect, are expected to hold.
    **aa_control("softirq_steering/twins_answer_as_many", rates),
    **aa_control("upstream_keepalive/twins_are_as_fast", costs),
    **aa_control("upstream_keepalive/twins_answer_as_many", rates),
    **aa_control("upstream_keepalive_distance/twins_are_as_fast", rates),
    **aa_control("tuned_nginx/twins_serve_as_many", costs),
    **aa_control("reuseport_stall/twins_are_alike", reads),
    **aa_control("network_quality/twins_are_alike", takes),
    **aa_control("reuseport_stall_league/twins_are_alike", lasts),
    **aa_control("reuseport_stall_rcvbuf/twins_are_alike", reads),
    **aa_control("reuseport_stall_rcvbuf/socket_rcvbuf_is_tcp_rmem_for_a_location", reads),
    **aa_control("reuseport_stall_protocol/twins_are_as_slow", slowest_tenths),
    **aa_control("reuseport_stall_herd/twins_wait_as_long", waits),
    # The other claims are expected to hold, or have no expectation.
    "reuseport_stall_league/receive_buffer_is_the_larger_factor": (
        [lasts(70, 20, 70, 10, 1, 0.8, 0.7, 70)],
        [lasts(70, 0.8, 70, 10, 1, 20, 0.7, 70), lasts(70, 20, 70, 10, 1, 70, 20, 70)],
    ),
    "reuseport_stall/loaded_worker_stalls": ([takes(10.1)], [takes(9.9), takes(1)]),
    **dict.fromkeys(
        ("reuseport_stall/small_rmem_restores_loop", "reuseport_stall_rcvbuf/socket_rcvbuf_restores_loop"),
        (
            [reads(12_000_000, 60_000)],
            [reads(490_000, 100_000), reads(100_000, 100_000), reads(100_000, 510_000)],
        ),
    ),
    # 2 x 40960 bytes of each of four downloads are 327 680.
    "reuseport_stall/small_rmem_bounds_a_turn": ([reads(60_000), reads(327_000)], [reads(328_000), reads(12_000_000)]),
    # At most two of ten pairs of doses are out of order, by at most a quarter; without the effect, three or all are.
    "reuseport_stall/lag_follows_rmem": (
        [reads(50, 40, 30, 20, 10), reads(40, 50, 24, 30, 10)],
        [reads(30, 40, 50, 20, 10), reads(10, 20, 30, 40, 50), reads(*[50] * 5)],
    ),
    # 2 x 65536 bytes of each of four downloads are 524 288.
    "reuseport_stall_rcvbuf/socket_rcvbuf_bounds_an_iteration": (
        [reads(60_000), reads(520_000)],
        [reads(526_000), reads(12_000_000)],
    ),
    "reuseport_stall_rcvbuf/iterations_follow_socket_rcvbuf": (
        [reads(50, 40, 30, 20)],
        [reads(20, 30, 40, 50), reads(*[50] * 4)],
    ),
    "reuseport_stall_rcvbuf/socket_rcvbuf_beats_buffering_off": (
        [reads(102_000, 100_000, 1)],
        [reads(98_000, 100_000, 1)],
    ),
    # 4 x 65536 bytes in 20 ms are 13 107 200 a second.
    "reuseport_stall_rcvbuf_distance/socket_rcvbuf_is_one_buffer_per_round_trip": (
        [per_arm(STALL, bulk_bytes_per_s=((13_000_000.0, 0.0),))],
        [per_arm(STALL, bulk_bytes_per_s=((13_200_000.0, 0.0),))],
    ),
    "reuseport_stall/reuseport_feeds_loaded_worker": ([fed(5, 3)], [fed(5, 5), fed(3, 5), fed(0, 0), fed(10, 10)]),
    "network_quality/slow_upstream_spares_every_client": (
        [takes(10, 10, 1.9, 1.9)],
        [takes(10, 10, 1.9, 2.1), takes(10, 10, 10, 10), takes(1.9, 10, 10, 10)],
    ),
    "network_quality/slow_upstream_ends_stall": ([takes(10, 1.9)], [takes(10, 2.1), takes(10, 10), takes(1.9, 10)]),
    "network_quality/distant_client_still_stalls": ([takes(5.1)], [takes(4.9), takes(1)]),
    "reuseport_stall_herd/shared_queue_makes_workers_wait": (
        [waits(0.0222, 0.02)],
        [waits(0.0218, 0.02), waits(0.02, 0.02)],
    ),
    "reuseport_stall_protocol/small_rmem_shortens_slow_requests": (
        [slowest_tenths(1000, 660, 1000)],
        [slowest_tenths(1000, 670, 50), slowest_tenths(1000, 1000, 50)],
    ),
    "connection_capacity/million_idle_connections_fit": ([held(1000, 254_000)], [held(1000, 256_000)]),
    "tuned_nginx/recipe_ends_dropped_syns": (
        # 51 of 10 051 SYNs are dropped; the others belong to the 10 000 requests.
        [per_arm(HTTP, listen_drops=(51, 0))],
        [per_arm(HTTP, listen_drops=drops) for drops in ((50, 0), (0, 0), (900, 900), (0, 51))],
    ),
    # The threshold is zero difference. At zero, the claim stays undecided; the opposite effect refutes it.
    "tuned_nginx/recipe_ends_slow_connects": (
        [per_arm(HTTP, slow_connect_share=(0.001, 0.0))],
        [per_arm(HTTP, slow_connect_share=(0.0, 0.001))],
    ),
    "softirq_steering/steering_moves_softirqs": (
        [per_arm(STEERED, steered_to_others_share=shares) for shares in ((0.26, 0.0), (0.5, 0.2))],
        [per_arm(STEERED, steered_to_others_share=shares) for shares in ((0.24, 0.0), (0.5, 0.3), (0.0, 0.0))],
    ),
    "softirq_steering/second_cpu_for_softirqs_helps": ([rates(1000, 1110)], [rates(1000, 1090), rates(1000, 1000)]),
    "listen_queue/long_backlog_spares_connects": (
        [storms(129, 1000)],
        [storms(210, 1000), storms(129, 129), storms(1000, 129)],
    ),
    # The longest queue has room for the whole storm. For the others, one connection more or less refutes the claim.
    "listen_queue/queue_holds_backlog_plus_one": (
        [storms(129, 512, 1000), storms(129, 512, 0)],
        [
            *(storms(short, 512, 1000) for short in (128, 130)),
            *(storms(129, middle, 1000) for middle in (511, 513)),
            storms(*[1000] * 3),
        ],
    ),
    "listen_queue/overflows_and_drops_rise_together": (
        [per_arm(STORM, listen_drops=(drops,)) for drops in (500, 520, 480)],
        [*(per_arm(STORM, listen_drops=(drops,)) for drops in (530, 470, 1, 0)), per_arm(STORM, listen_overflows=(0,))],
    ),
    "listen_queue_half_open/half_open_drops_without_overflows": (
        [per_arm(HALF_OPEN, dropped_share=(0.51,))],
        [per_arm(HALF_OPEN, dropped_share=(0.49,)), per_arm(HALF_OPEN, dropped_share=(0.9,), overflowed_share=(0.9,))],
    ),
    **{
        f"listen_queue_half_open/{name}": (
            [per_arm(HALF_OPEN, dropped_share=(0.8, 0.29))],
            [per_arm(HALF_OPEN, dropped_share=shares) for shares in ((0.8, 0.31), (0.8, 0.8), (0.0, 0.0))],
        )
        for name in ("long_syn_backlog_ends_drops", "syncookies_end_drops")
    },
    # The limit of one reader is 4 + 64 x 1 MiB.
    "proxy_buffering/memory_grows_with_every_reader": (
        [growths(68, 136, 272, 544), growths(67, 138, 268, 550), growths(69, 136, 272, 544)],
        [growths(66, 136, 272, 544), growths(68, 139, 272, 544), growths(68, 136, 272, 530), growths(0, 0, 0, 0)],
    ),
    "proxy_buffering_slow_link/slow_link_takes_the_bound": (
        [growths(67), growths(68), growths(69)],
        [growths(66), growths(70), growths(0)],
    ),
    # The article's limit is 64 + 1024 MiB.
    "proxy_buffering/slow_reader_takes_the_bound": (
        [growths(1070), growths(1088), growths(1109)],
        [growths(1066), growths(1110), growths(1)],
    ),
    "proxy_buffering/one_reader_breaks_a_memory_limit": (
        [per_arm(MEMORY, oom_kills=kills) for kills in ((1, 0), (3, 0))],
        [per_arm(MEMORY, oom_kills=kills) for kills in ((0, 0), (1, 1), (3, 1), (0, 1))],
    ),
    "worker_connections/a_connection_costs_424_bytes": (
        [started(slot_bytes=of) for of in (412, 424, 436)],
        [started(slot_bytes=of) for of in (411, 437, 456)],
    ),
    # 32 workers of 1 MiB and a million connections each.
    "worker_connections/a_million_connections_cost_14_gb": (
        [started(slot_bytes=of) for of in (425, 437, 449)],
        [started(slot_bytes=of) for of in (423, 450)],
    ),
    # At least one connection is counted, so the ratio has an upper limit: the number of requests.
    "upstream_keepalive/connections_are_the_cause": (
        [per_arm(HTTP, upstream_connects_per_request=counts) for counts in ((1.0, 0.49), (1.0, 0.0))],
        [per_arm(HTTP, upstream_connects_per_request=counts) for counts in ((1.0, 0.51), (1.0, 1.0), (0.4, 1.0))],
    ),
}
