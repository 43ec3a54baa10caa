"""The tables next to verdicts: the mitigations compared, the article's figures, and the grid of rates."""

from dataclasses import replace

import pytest

from tests.support.canned_observations import ROUND, turning
from tests.support.canned_trials import observed, stall_record
from tuneproof.catalogue.network_quality import (
    CORNERS,
    SLOW_CLIENT,
    UNLIMITED,
    WHOLE,
    Grid,
    NetworkQuality,
    grid_arm,
    grid_lines,
    relieved_share,
)
from tuneproof.catalogue.reuseport_stall_league import PLAN, SCENARIO, TWIN, league_lines
from tuneproof.catalogue.reuseport_stall_protocol import PLAN as PROTOCOL_PLAN
from tuneproof.catalogue.reuseport_stall_protocol import SCENARIO as PROTOCOL
from tuneproof.catalogue.reuseport_stall_protocol import THEIRS, beside_the_article
from tuneproof.catalogue.reuseport_stall_protocol import TWIN as PROTOCOL_TWIN
from tuneproof.lab.load.base import Metric
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.network.profiles import BARE

OURS = replace(ROUND, timeout_share=0.25, total_p50_ms=41.2, total_max_ms=1003.7)
GRIDS = pytest.mark.parametrize("grid", [CORNERS, WHOLE], ids=["corners", "whole"])


def trial(turn_cpu_ms: float, *, lag_ms: float = 21.26) -> StallObservation:
    """Return a trial in which the loaded worker reads 64 KiB in each iteration and needs this much CPU time for it."""
    record = stall_record(lags_ms=([lag_ms], [1.0]), bulk=(3_000_000, 1_000_000), fast_ms=[5.0], baseline_ms=[4.0])
    return turning(observed(record), turn_bytes=1 << 16, turn_cpu_ms=turn_cpu_ms)


def block(grid: Grid, turn_cpu_ms: float) -> dict[str, StallObservation]:
    """Return a block of a grid with the same time per iteration in all cells."""
    return {name: trial(turn_cpu_ms) for name in grid.arms()}


def metrics(grid: Grid) -> dict[str, dict[str, Metric]]:
    """Return the metrics of a grid's arms, with iterations of 1 ms, 2 ms and so on in the grid's order."""
    return {name: StallLoad().metrics([trial(float(place))]) for place, name in enumerate(grid.arms(), start=1)}


def test_a_mitigations_line_contains_the_figures_of_its_arm() -> None:
    """Unmeasured values are shown as dashes, for example in an arm without valid trials."""
    figures = PLAN.metrics([replace(trial(3.14), written_bytes=7_340_032)])
    some: dict[str, Metric] = {"trials": 1, "worker1_lag_p50_ms": 0.04, "fast_p50_ms": None}
    head, *lines = league_lines({"default": figures, "small": some, "limit-rate": {"trials": 0}})
    assert head.split()[:8] == ["mitigation", "iteration", "ms", "iteration", "CPU", "ms", "iteration", "KiB"]
    assert [line.split() for line in lines] == [
        ["default", "100.0", "3.1", "64.0", "21.3", "21.3", "5.0", "5.0", "2.0", "7.3"],
        ["small", "-", "-", "-", "0.0", "-", "-", "-", "-", "-"],
        ["limit-rate", *["-"] * 9],
    ]
    assert {len(line) for line in (head, *lines)} == {30 + 9 * 17}


def test_the_claim_about_the_two_factors_shows_a_table_of_all_arms() -> None:
    claim = SCENARIO.claim("receive_buffer_is_the_larger_factor")
    assert claim.table is league_lines
    assert {*claim.arms, TWIN} == {arm.name for arm in SCENARIO.arms}


def test_our_figures_are_next_to_the_articles() -> None:
    """An arm without a valid round gets dashes, since "0 % time-outs" would look like a measurement."""
    arms = {"reuseport": PROTOCOL_PLAN.metrics([OURS]), "tcp_rmem-40960": PROTOCOL_PLAN.metrics([])}
    head, line, dashes = beside_the_article(arms)
    assert dashes.split()[:5] == ["tcp_rmem-40960", *["-"] * 4]
    assert head.split() == ["arm", "p50", "ms", "slowest", "tenth", "ms", "max", "ms", "time-outs", "the", "article"]
    assert line.split("  ")[-1] == "38 to 1010 ms, about a quarter time out"
    assert line.split()[:5] == ["reuseport", "41", "1000", "1004", "25%"]
    assert line.index("38 to") == head.index("the article")


def test_the_article_has_figures_for_every_arm_of_its_protocol() -> None:
    claim = PROTOCOL.claim("small_rmem_shortens_slow_requests")
    assert claim.table is beside_the_article
    assert set(claim.arms) == set(THEIRS) == {arm.name for arm in PROTOCOL.arms} - {PROTOCOL_TWIN.name}


def test_the_corners_of_the_grid_are_shown_with_one_line_per_upstream() -> None:
    assert grid_lines(metrics(CORNERS), CORNERS) == [
        "CPU per iteration, ms         client unlimited     client 100 Mbit/s",
        "upstream unlimited                        1.00                  2.00",
        "upstream 500 Mbit/s                       3.00                  4.00",
    ]


@GRIDS
def test_an_unmeasured_cell_is_a_dash_in_the_grid(grid: Grid) -> None:
    found = {**metrics(grid), SLOW_CLIENT: StallLoad().metrics([])}
    _, line, *_ = grid_lines(found, grid)
    assert line[24:].split() == ["1.00", *["2.00"] * (grid is WHOLE), "-"]


@GRIDS
def test_the_claim_about_every_client_shows_and_compares_its_own_grid(grid: Grid) -> None:
    claim = NetworkQuality(network=BARE, grid=grid).scenario().claim("slow_upstream_spares_every_client")
    assert claim.table is not None
    assert claim.table(metrics(grid)) == grid_lines(metrics(grid), grid)
    assert claim.arms == grid.arms()
    assert claim.effect({**block(grid, 2.0), UNLIMITED: trial(10.0)}) == 1


@pytest.mark.parametrize(
    ("grid", "usual_ms", "cells", "share"),
    [
        (CORNERS, 10.0, {}, 0),
        (WHOLE, 10.0, {}, 0),
        (CORNERS, 1.0, {UNLIMITED: trial(10.0)}, 1),
        (WHOLE, 1.0, {UNLIMITED: trial(10.0)}, 1),
        # The probe's lag does not count.
        (WHOLE, 1.0, {UNLIMITED: trial(1.0, lag_ms=900.0)}, 0),
        # According to the claim, a fifth of the time counts as relief, and slightly more does not.
        (CORNERS, 10.0, {grid_arm(500.0, 100.0): trial(2.0), grid_arm(500.0, None): trial(2.01)}, 1 / 2),
        # The claim is about slow upstreams; the effect of a slow client with an unlimited upstream is another question.
        (CORNERS, 10.0, {SLOW_CLIENT: trial(0.1)}, 0),
        # Only the cells of the grid count.
        (CORNERS, 10.0, {grid_arm(1000.0, None): trial(1.0), grid_arm(500.0, None): trial(1.0)}, 1 / 2),
        (WHOLE, 10.0, {grid_arm(1000.0, None): trial(1.0), grid_arm(500.0, None): trial(1.0)}, 2 / 9),
    ],
)
def test_a_limited_cell_is_relieved_if_its_iterations_take_at_most_a_fifth_of_the_time(
    grid: Grid, usual_ms: float, cells: dict[str, StallObservation], share: float
) -> None:
    assert relieved_share({**block(grid, usual_ms), **cells}, grid) == share
