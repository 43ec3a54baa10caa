"""Distributions pool an arm's trials; generators that only tell percentiles get a line through them."""

import pytest

from tests.support.canned_charts import cell, files, http, named, names, only, rows, stall, storm, traces, trial


def test_a_curve_is_the_share_of_requests_that_took_no_longer() -> None:
    """The trials of an arm are pooled; void ones are left out."""
    evidence = files(
        trial("a", 1, stall(fast_ms=[30.0, 10.0])),
        trial("a", 2, stall(fast_ms=[20.0, 1000.0])),
        trial("a", 3, stall(fast_ms=[5.0]), "stolen CPU"),
        trial("b", 1, stall(fast_ms=[7.0])),
    )
    chart = named("cdf-requests", cell(), evidence)
    curve = only(chart, name="a")
    assert (curve["x"], curve["y"]) == ([10.0, 20.0, 30.0, 1000.0], [0.25, 0.5, 0.75, 1.0])
    assert chart.figure["layout"]["xaxis"]["type"] == "log"
    assert chart.columns[3:6] == ("50th percentile (ms)", "90th percentile (ms)", "99th percentile (ms)")
    assert rows(chart)[0] == (
        "a",
        "requests under load",
        4,
        25.0,
        pytest.approx(709.0),
        pytest.approx(970.9),
        1000.0,
        0,
    )
    assert rows(chart)[1][:3] == ("b", "requests under load", 1)


def test_requests_one_after_another_have_a_curve_too() -> None:
    """The article's protocol records them under another name."""
    evidence = files(trial("a", 1, {"requests": [{"total_ms": 40.0}, {"total_ms": 50.0}, {"total_ms": "60"}]}))
    assert only(named("cdf-requests", cell(), evidence), name="a")["x"] == [40.0, 50.0]


def test_each_worker_has_a_panel_of_its_own() -> None:
    """A loaded worker and an idle one are not mixed."""
    chart = named("cdf-loop-lag", cell(), files(trial("a", 1, stall([30.0, 40.0], [0.1]))))
    assert only(chart, xaxis="x")["x"] == [30.0, 40.0]
    assert only(chart, xaxis="x2")["x"] == [0.1]
    assert [row[:3] for row in rows(chart)] == [("a", "worker 1", 2), ("a", "worker 2", 1)]
    # On scales of their own, a stall of 40 ms and a lag of 0.1 ms would look alike.
    assert chart.figure["layout"]["xaxis2"]["matches"] == "x"


def test_connects_that_never_stood_keep_the_curve_below_one() -> None:
    """They are among those that were started, and their percentile is beyond what was seen."""
    chart = named("cdf-connects", cell(), files(trial("a", 1, storm([1.0, 2.0], connections=4))))
    curve = only(chart, name="a")
    assert (curve["x"], curve["y"]) == ([1.0, 2.0], [0.25, 0.5])
    assert rows(chart) == [("a", "", 2, 2.0, None, None, 2.0, 2)]


def test_arms_look_the_same_in_every_chart_and_differ_without_colour() -> None:
    """A reader learns the looks once; a dash tells them on paper, too."""
    evidence = files(*[trial(arm, 1, stall([1.0, 2.0], fast_ms=[1.0])) for arm in ("a", "b", "c")])
    requests, lags = (named(name, cell(), evidence) for name in ("cdf-requests", "cdf-loop-lag"))
    looks = {trace["name"]: (trace["line"]["color"], trace["line"]["dash"]) for trace in requests.figure["data"]}
    assert {trace["name"]: (trace["line"]["color"], trace["line"]["dash"]) for trace in lags.figure["data"]} == looks
    assert len({dash for _, dash in looks.values()}) == 3


def test_percentiles_are_drawn_as_the_medians_of_the_trials() -> None:
    """The same figures as in results.json; the table has the spread as well."""
    evidence = files(
        *[
            trial("a", block, http(connect={"p50": 1.0, "p99": p99, "max": 1071.0}, total={"p50": 112.0, "p99": 134.0}))
            for block, p99 in enumerate([70.0, 90.0, 73.0], 1)
        ]
    )
    chart = named("percentiles", cell(), evidence)
    connect, total = traces(chart, name="a")
    assert (connect["x"], connect["y"]) == ([1.0, 73.0, 1071.0], [0, 1, 2])
    assert (total["x"], total["y"]) == ([112.0, 134.0], [0, 1])
    assert ("a", "until the connection stands", "99 %", 73.0, 70.0, 90.0) in rows(chart)


def test_a_generator_that_does_not_tell_connects_has_one_panel() -> None:
    """The other one would be empty."""
    chart = named("percentiles", cell(), files(trial("a", 1, http(connect=None, total={"p50": 5.0, "p99": 9.0}))))
    assert [item["text"] for item in chart.figure["layout"]["annotations"]] == ["whole request"]


def test_a_percentile_of_zero_is_shown() -> None:
    """The generator's clock is that coarse; a logarithmic axis would drop the point."""
    chart = named("percentiles", cell(), files(trial("a", 1, http(connect=None, total={"p50": 0.0, "p99": 500.0}))))
    assert only(chart, name="a")["x"] == [0.0, 500.0]
    assert chart.figure["layout"]["xaxis"]["type"] == "linear"


def test_a_load_that_was_recorded_by_another_is_found_inside() -> None:
    """A diagnosis wraps the load's record."""
    evidence = files(trial("a", 1, {"found": ["a cause"], "load": stall([30.0], fast_ms=[12.0])}))
    assert only(named("cdf-requests", cell(), evidence), name="a")["x"] == [12.0]


def test_trials_without_durations_have_no_curve() -> None:
    """There is nothing to draw, and no error either."""
    assert names(cell(), files(trial("a", 1, stall([], [])), trial("a", 2, {}))) == []
