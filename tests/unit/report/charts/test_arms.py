"""Charts show the arms' figures side by side, over one dose, and over two doses; the claim's own figure comes first."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.support.canned_charts import cell, dosed, named, names, only, rows, traces
from tuneproof.report.results.cells import Cell, Dose

METRICS: Final = ("requests_per_s", "lag_p50_ms", "lag_p99_ms", "written_bytes", "trials", "alike")
LEAGUE: Final[dict[str, dict[str, float | None]]] = {
    "default": dict(zip(METRICS, (100.0, 34.0, 63.25, 29_659_136, 5, 3), strict=True)),
    "limit-rate": dict(zip(METRICS, (110.0, 0.0842, 0.6, None, 4, 3), strict=True)),
}
RATES: Final = {
    "slow-slow": (500, 100),
    "fast-slow": (None, 100),
    "slow-fast": (500, None),
    "fast-fast": (None, None),
    "middle-slow": (2000, 100),
}
LAGS_MS: Final = {"slow-slow": 0.1, "fast-slow": 2.9, "slow-fast": 0.06, "fast-fast": 63.8}


def titles(of: Cell) -> list[str]:
    """Return the titles above the panels of the comparison."""
    return [item["text"] for item in named("arms", of, {}).figure["layout"]["annotations"]]


def test_the_largest_difference_comes_first_after_the_claims_own_figure() -> None:
    assert titles(cell(arms=LEAGUE)) == ["lag ms", "requests per s"]
    assert titles(replace(cell(arms=LEAGUE), figure="requests_per_s")) == ["requests per s", "lag ms"]
    assert titles(replace(cell(arms=LEAGUE), figure="alike"))[0] == "alike"


def test_percentiles_of_one_figure_share_a_panel_and_its_unit() -> None:
    chart = named("arms", cell(arms=LEAGUE), {})
    median, slowest = (only(chart, name=name) for name in ("p50", "p99"))
    assert (median["x"], median["y"]) == ([34.0, 0.0842], [0, 1])
    assert (slowest["x"], slowest["xaxis"]) == ([63.25, 0.6], median["xaxis"])
    assert median["marker"]["symbol"] != slowest["marker"]["symbol"]
    layout = chart.figure["layout"]
    assert (layout["xaxis"]["type"], layout["yaxis"]["ticktext"]) == ("log", ["default", "limit-rate"])
    assert (layout["xaxis2"]["type"], layout["xaxis2"]["rangemode"]) == ("linear", "tozero")


def test_a_figure_that_was_not_measured_for_an_arm_has_no_point() -> None:
    """A missing figure is not drawn as zero."""
    of = replace(cell(arms=LEAGUE), figure="written_bytes")
    chart = named("arms", of, {})
    assert only(chart, xaxis="x")["x"] == [29_659_136]


def test_a_figure_that_is_zero_in_one_arm_counts_as_the_largest_difference() -> None:
    arms = {"a": {"lost": 0.0, "slow_ms": 1.0}, "b": {"lost": 1.0, "slow_ms": 1000.0}}
    assert titles(cell(arms=arms)) == ["lost", "slow ms"]


@pytest.mark.parametrize("arms", [{"default": LEAGUE["default"]}, {"a": {"alike": 1.0}, "b": {"alike": 1.0}}, {}])
def test_a_single_arm_and_arms_without_a_difference_are_not_compared(arms: dict[str, dict[str, float | None]]) -> None:
    assert names(cell(arms=arms), {}) == []


def test_markup_in_an_arms_name_is_shown_as_text() -> None:
    """Plotly interprets some tags in text."""
    arms = {'<a href="x">b</a>': {"requests_per_s": 1.0}, "b\nc": {"requests_per_s": 2.0}}
    chart = named("arms", cell(arms=arms), {})
    assert chart.figure["layout"]["yaxis"]["ticktext"] == ['&lt;a href="x"&gt;b&lt;/a&gt;', "b c"]


def responding(amounts: Mapping[str, float | None], *, of: str = "buffer", unit: str = "bytes", **more: Any) -> Cell:
    """Return a cell with doses as arms; each response is ten times the dose's amount."""
    arms: dict[str, dict[str, float | None]] = {
        arm: {"lag_p50_ms": 10.0 * (amount or 1)} for arm, amount in amounts.items()
    }
    return replace(dosed(of, unit, amounts, **more), arms=arms, figure="lag_p50_ms")


def test_the_claims_figure_is_shown_over_the_dose_in_ascending_order() -> None:
    """The points are the arms' medians; the table's heading contains the dose's unit."""
    chart = named("dose-response", responding({"large": 33554432, "small": 40960}), {})
    line = only(chart, name="median")
    assert (line["x"], line["y"]) == ([40960, 33554432], [409600, 335544320])
    assert chart.columns == ("variant", "buffer (bytes)", "lag_p50_ms")
    assert rows(chart)[0] == ("small", 40960, 409600)
    assert chart.figure["layout"]["xaxis"]["type"] == "log"


def test_each_number_of_workers_is_a_separate_series() -> None:
    arms = {"1-of-512": 512, "2-of-512": 512, "1-of-1024": 1024, "2-of-1024": 1024}
    series = {arm: "1 worker" if arm.startswith("1") else "2 workers" for arm in arms}
    first, second = traces(named("dose-response", responding(arms, unit="", series=series), {}), xaxis="x")
    assert [first["name"], second["name"]] == ["1 worker", "2 workers"]
    assert first["line"]["dash"] != second["line"]["dash"]
    assert first["marker"]["symbol"] != second["marker"]["symbol"]


@pytest.mark.parametrize(
    "amounts", [{}, {"a": 1}, {"a": 1, "b": 1}, {"a": 1, "b": None}], ids=["none", "one", "equal", "no limit"]
)
def test_fewer_than_two_doses_have_no_chart(amounts: dict[str, float | None]) -> None:
    assert "dose-response" not in names(responding(amounts), {})


def grid(lags_ms: dict[str, float | None]) -> Cell:
    """Return a cell with pairs of rates as arms."""
    sides = ("upstream's link", "client's link")
    doses = {
        arm: tuple(Dose(of=of, unit="Mbit/s", amount=RATES[arm][side]) for side, of in enumerate(sides))
        for arm in lags_ms
    }
    return cell(arms={arm: {"turn_cpu_p50_ms": lag_ms} for arm, lag_ms in lags_ms.items()}, doses=doses)


def test_two_doses_are_drawn_as_a_map_with_the_largest_first() -> None:
    """A field's colour shows the figure's logarithm, and its text shows the figure. Amounts are sorted as numbers."""
    chart = named("dose-map", grid({**LAGS_MS, "middle-slow": 1.0}), {})
    field = only(chart, type="heatmap")
    assert field["z"] == [[math.log10(63.8), math.log10(2.9)], [None, 0.0], [math.log10(0.06), math.log10(0.1)]]
    assert field["text"] == [["63.8 ms", "2.9 ms"], ["", "1 ms"], ["60 us", "100 us"]]
    layout = chart.figure["layout"]
    assert (layout["yaxis"]["ticktext"], layout["xaxis"]["ticktext"]) == (
        ["unlimited", "2000", "500"],
        ["unlimited", "100"],
    )
    assert ("2000", "unlimited", None) in rows(chart)
    assert chart.columns == ("upstream's link (Mbit/s)", "client's link (Mbit/s)", "turn_cpu_p50_ms")


def test_a_single_amount_of_a_dose_and_unmeasured_figures_have_no_map() -> None:
    row: dict[str, float | None] = {name: lag_ms for name, lag_ms in LAGS_MS.items() if name.startswith("slow-")}
    assert "dose-map" not in names(grid(row), {})
    assert "dose-map" not in names(grid(dict.fromkeys(LAGS_MS)), {})
