"""The arms side by side, and the network grid: both show the figures that results.json has."""

import math
from collections.abc import Mapping
from typing import Final

from tests.support.canned_charts import cell, named, names, only, rows, traces
from tuneproof.report.results.cells import Cell, Dose

LEAGUE: dict[str, dict[str, float | None]] = {
    "default": {"worker1_lag_p50_ms": 34.0, "worker1_lag_p99_ms": 63.25, "written_bytes": 29_659_136, "trials": 5},
    "limit-rate": {"worker1_lag_p50_ms": 0.0842, "worker1_lag_p99_ms": 0.6, "written_bytes": None, "trials": 5},
}
RATES: Final = {
    "slow-slow": (500, 100),
    "fast-slow": (None, 100),
    "slow-fast": (500, None),
    "fast-fast": (None, None),
    "middle-slow": (2000, 100),
}
LAGS_MS: Final = {"slow-slow": 0.1, "fast-slow": 2.9, "slow-fast": 0.06, "fast-fast": 63.8}


def grid(lags_ms: Mapping[str, float | None]) -> Cell:
    """Return a cell whose arms are pairs of rates."""
    return cell(
        arms={arm: {"worker1_lag_p50_ms": lag_ms} for arm, lag_ms in lags_ms.items()},
        doses={
            arm: (
                Dose(of="upstream's link", unit="Mbit/s", amount=RATES[arm][0]),
                Dose(of="client's link", unit="Mbit/s", amount=RATES[arm][1]),
            )
            for arm in lags_ms
        },
    )


def test_arms_stand_side_by_side_with_the_cells_own_figures() -> None:
    """Each arm has a row, each figure a marker of its own."""
    chart = named("arms", cell(arms=LEAGUE), {})
    median, slowest = (only(chart, name=name, xaxis="x") for name in ("median", "99th percentile"))
    assert (median["x"], median["y"]) == ([34.0, 0.0842], [0, 1])
    assert (slowest["x"], slowest["y"]) == ([63.25, 0.6], [0, 1])
    assert median["marker"]["symbol"] != slowest["marker"]["symbol"]
    assert chart.figure["layout"]["yaxis"]["ticktext"] == ["default", "limit-rate"]


def test_what_an_arm_has_not_measured_has_no_point_and_no_figure() -> None:
    """Nothing is not zero."""
    chart = named("arms", cell(arms=LEAGUE), {})
    written = only(chart, name="size")
    assert (written["x"], written["y"]) == ([29_659_136], [0])
    assert chart.columns == ("arm", "worker1_lag_p50_ms", "worker1_lag_p99_ms", "written_bytes")
    assert rows(chart) == [("default", 34.0, 63.25, 29_659_136), ("limit-rate", 0.0842, 0.6, None)]


def test_each_kind_of_figure_has_its_own_panel() -> None:
    """Milliseconds and bytes share no axis."""
    layout = named("arms", cell(arms=LEAGUE), {}).figure["layout"]
    assert [item["text"] for item in layout["annotations"]] == [
        "loop lag of worker 1 (ms)",
        "written to temporary files (bytes)",
    ]
    assert layout["xaxis"]["type"] == "log"
    assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]


def test_amounts_of_one_order_start_at_zero() -> None:
    """A cut axis makes small differences look large."""
    arms = {"a": {"requests_per_s": 900.0}, "b": {"requests_per_s": 1000.0}}
    axis = named("arms", cell(arms=arms), {}).figure["layout"]["xaxis"]
    assert (axis["type"], axis["rangemode"]) == ("linear", "tozero")


def test_figures_that_are_all_zero_are_shown() -> None:
    """That nothing timed out is an answer."""
    chart = named("arms", cell(arms={"a": {"timeout_share": 0.0}, "b": {"timeout_share": 0.0}}), {})
    assert only(chart, name="share")["x"] == [0.0, 0.0]
    assert rows(chart) == [("a", 0.0), ("b", 0.0)]


def test_one_arm_has_nothing_beside_it() -> None:
    """And arms with figures that nobody has chosen have nothing to show."""
    assert names(cell(arms={"default": LEAGUE["default"]}), {}) == []
    assert names(cell(arms={"a": {"other": 1.0}, "b": {"other": 2.0}}), {}) == []


def test_the_grid_has_a_field_for_each_pair_of_rates_fastest_first() -> None:
    """Colour is the lag's logarithm; the field and the hover text say the lag itself."""
    field = only(named("network-grid", grid(LAGS_MS), {}), type="heatmap")
    assert field["customdata"] == [[63.8, 2.9], [0.06, 0.1]]
    assert field["z"] == [[math.log10(63.8), math.log10(2.9)], [math.log10(0.06), math.log10(0.1)]]
    assert field["text"] == [["63.8 ms", "2.9 ms"], ["0.06 ms", "0.1 ms"]]


def test_the_grids_axes_name_the_rates() -> None:
    """Rates are sorted as numbers: 2000 is faster than 500."""
    chart = named("network-grid", grid({**LAGS_MS, "middle-slow": 1.0}), {})
    assert chart.figure["layout"]["yaxis"]["ticktext"] == ["unlimited", "2000", "500"]
    assert chart.figure["layout"]["xaxis"]["ticktext"] == ["unlimited", "100"]
    assert ("2000", "unlimited", None) in rows(chart)
    assert ("500", "unlimited", 0.06) in rows(chart)
    assert only(chart, type="heatmap")["z"][1] == [None, 0.0]


def test_less_than_two_rates_on_a_link_are_no_grid() -> None:
    """A row has no columns to compare."""
    row = {name: lag_ms for name, lag_ms in LAGS_MS.items() if name.startswith("slow-")}
    assert "network-grid" not in names(grid(row), {})
    assert "network-grid" not in names(grid(dict.fromkeys(LAGS_MS)), {})


def test_markup_in_an_arms_name_is_shown_and_not_obeyed() -> None:
    """Plotly obeys some tags in text; the table has the name as it is."""
    arms = {'<a href="x">b</a>': {"requests_per_s": 1.0}, "b\nc": {"requests_per_s": 2.0}}
    chart = named("arms", cell(arms=arms), {})
    assert chart.figure["layout"]["yaxis"]["ticktext"] == ['&lt;a href="x"&gt;b&lt;/a&gt;', "b c"]
    assert [row[0] for row in rows(chart)] == list(arms)


def test_the_legend_names_each_kind_of_figure_once() -> None:
    """Several panels have medians."""
    arms = {arm: {"worker1_lag_p50_ms": 1.0, "fast_p50_ms": 2.0} for arm in "ab"}
    medians = traces(named("arms", cell(arms=arms), {}), name="median")
    assert [trace.get("showlegend", True) for trace in medians] == [True, False]
