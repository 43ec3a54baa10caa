"""Distributions pool an arm's trials, time series show its first valid trial, and counters show medians."""

from typing import Any

import pytest

from tests.support.canned_charts import cell, files, http, memory, named, names, only, rows, stall, storm, traces, trial
from tests.support.canned_turns import raw_worker


def test_a_curve_shows_the_cumulative_share_of_requests_over_their_durations() -> None:
    """An arm's trials are pooled, except for void ones. Percentiles are measured values, without interpolation."""
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
    assert rows(chart) == [
        ("a", "requests under load", 4, 20.0, 1000.0, 1000.0, 1000.0, 0),
        ("b", "requests under load", 1, 7.0, 7.0, 7.0, 7.0, 0),
    ]
    assert only(chart, name="b")["mode"] == "lines+markers", "a single point has no line"


def test_each_worker_has_its_own_panel_on_a_common_scale() -> None:
    """On separate scales, a stall of 40 ms and a lag of 0.1 ms would look the same."""
    chart = named("cdf-loop-lag", cell(), files(trial("a", 1, stall([30.0, 40.0], [0.1]))))
    assert (only(chart, xaxis="x")["x"], only(chart, xaxis="x2")["x"]) == ([30.0, 40.0], [0.1])
    assert chart.figure["layout"]["xaxis2"]["matches"] == "x"


def test_failed_connects_keep_the_curve_below_one() -> None:
    chart = named("cdf-connects", cell(), files(trial("a", 1, storm([1.0, 2.0], connections=4))))
    assert (only(chart, name="a")["x"], only(chart, name="a")["y"]) == ([1.0, 2.0], [0.25, 0.5])
    assert rows(chart) == [("a", "", 2, 2.0, None, None, 2.0, 2)]


def test_arms_look_the_same_in_several_charts_and_differ_without_colour() -> None:
    """A reader learns each arm's style once; on paper, dashes distinguish the arms."""
    evidence = files(*[trial(arm, 1, stall([1.0, 2.0], fast_ms=[1.0])) for arm in ("a", "b", "c")])
    requests, lags = (named(name, cell(), evidence) for name in ("cdf-requests", "cdf-loop-lag"))
    looks = {trace["name"]: (trace["line"]["color"], trace["line"]["dash"]) for trace in requests.figure["data"]}
    assert {trace["name"]: (trace["line"]["color"], trace["line"]["dash"]) for trace in lags.figure["data"]} == looks
    assert len({dash for _, dash in looks.values()}) == 3


def test_a_generators_percentiles_are_medians_of_the_trials_and_zero_is_shown() -> None:
    """Unreported figures have no panel. The generator's clock is coarse, and a logarithmic axis would drop a zero."""
    reported = [
        http(connect=None, total={"p50": 0.0, "p99": p99, "max": 500.0 if p99 > 80 else 400.0})
        for p99 in (70.0, 90.0, 73.0)
    ]
    chart = named("percentiles", cell(), files(*[trial("a", block, of) for block, of in enumerate(reported, 1)]))
    assert (only(chart, name="a")["x"], only(chart, name="a")["y"]) == ([0.0, 73.0, 400.0], [0.5, 0.99, 1.0])
    assert [item["text"] for item in chart.figure["layout"]["annotations"]] == ["whole request"]
    assert chart.figure["layout"]["xaxis"]["type"] == "linear"
    assert ("a", "whole request", "99%", 73.0, 70.0, 90.0) in rows(chart)


def test_a_load_inside_another_record_is_found() -> None:
    evidence = files(trial("a", 1, {"found": ["a cause"], "load": stall([30.0], fast_ms=[12.0])}))
    assert only(named("cdf-requests", cell(), evidence), name="a")["x"] == [12.0]


def recorded(read: list[list[int]], *, first_pid: int = 11, others: list[list[int]] | None = None) -> dict[str, Any]:
    """Return a trial's record; ``read`` is the histogram of the bytes that the first worker's loop iterations read."""
    workers = [raw_worker(11, read=read), raw_worker(12, read=others or [])]
    return {**stall([1.0], [1.0]), "workers": [first_pid, 12], "turns": {"workers": workers}}


def test_an_iteration_is_weighted_by_the_bytes_that_it_read() -> None:
    evidence = files(
        trial("a", 1, recorded([[0, 900, 0], [64, 1, 1000]], others=[[100, 1, 50_000]])),
        trial("a", 2, recorded([[64, 2, 2200], [120, 1, 200_000]])),
        trial("a", 3, recorded([[140, 1, 5_000_000]]), "stolen CPU"),
    )
    chart = named("turn-bytes", cell(), evidence)
    curve = only(chart, name="a")
    assert curve["x"] == [1000.0, 1100.0, 200_000.0]
    assert curve["y"] == [0.004921, 0.01575, 1.0]  # shares of 1000, 3200 and all 203 200 bytes
    assert rows(chart) == [("a", "", 4, 200_000, 200_000, 200_000, 200_000, 0)]


@pytest.mark.parametrize(
    "record",
    [
        stall([1.0]),
        recorded([[0, 900, 0]]),
        recorded([[64, 1, 1000]], first_pid=13),
        {**recorded([]), "turns": {"workers": [{"pid": 11, "histograms": {"read_bytes": [[1, 0, 5], [1, 2], 7]}}]}},
        {**recorded([[64, 1, 1000]]), "workers": []},
    ],
    ids=["not recorded", "nothing read", "another worker", "malformed histogram", "no first worker"],
)
def test_without_the_first_workers_iterations_nothing_is_drawn(record: dict[str, Any]) -> None:
    assert "turn-bytes" not in names(cell(), files(trial("a", 1, record)))


def test_the_time_series_shows_the_first_valid_trial_of_each_arm() -> None:
    """One curve per arm and worker; a void trial does not count as the first."""
    evidence = files(
        trial("a", 1, stall([9.0], [9.0]), "stolen CPU"),
        trial("a", 3, stall([7.0], [7.0])),
        trial("a", 2, stall([30.0, 50.0, 31.0], [0.1])),
    )
    chart = named("series-loop-lag", cell(), evidence)
    loaded, idle = only(chart, xaxis="x"), only(chart, xaxis="x2")
    assert (loaded["x"], loaded["y"], idle["y"]) == ([0.0, 10.0, 20.0], [30.0, 50.0, 31.0], [0.1])
    assert rows(chart) == [("a", "worker 1", 2, 3, 3, 31.0, 50.0), ("a", "worker 2", 2, 1, 3, 0.1, 0.1)]


def test_time_starts_at_the_first_sample_and_the_workers_memory_is_summed() -> None:
    """A killed worker no longer counts; a sample without a valid time is left out."""
    killed = named("series-memory", cell(), files(trial("a", 1, memory([1000, 500], [4000, 500], [500]))))
    assert (only(killed, name="a")["x"], only(killed, name="a")["y"]) == ([0.0, 0.1, 0.2], [1500, 4500, 500])
    assert rows(killed) == [("a", 1, 3, 1500, 4500, 500)]
    samples = [{"at_s": 7.0, "queued": 0}, {"at_s": 7.5, "queued": 129}, {"at_s": "8", "queued": 1}]
    queue = only(named("series-queue", cell(), files(trial("a", 1, {"queue_samples": samples}))), name="a")
    assert (queue["x"], queue["y"]) == ([0.0, 0.5], [0, 129])


def test_memory_of_held_connections_is_shown_over_their_number_on_linear_axes() -> None:
    readings = [{"held": held, "worker_bytes": 10 + 3 * held, "kernel_bytes": 5 + held} for held in (0, 100)]
    more = [{"held": 100, "worker_bytes": 330, "kernel_bytes": 105}]
    evidence = files(trial("held", 1, {"readings": readings}), trial("held", 2, {"readings": more}))
    chart = named("held-connections", cell(), evidence)
    workers, kernel = traces(chart, name="held")
    assert (workers["x"], workers["y"], kernel["y"]) == ([0, 100], [10, 320], [5, 105])
    assert rows(chart)[0] == ("held", 1, 0, 10, 5)
    assert {chart.figure["layout"][name]["type"] for name in ("xaxis", "yaxis")} == {"linear"}


def test_counters_are_the_medians_of_the_trials_with_their_spread() -> None:
    """Bars differ in their patterns; the figures are at the ends of the bars and in the table."""
    evidence = files(
        *[trial("a", block, storm([1.0], connections=9, overflows=count)) for block, count in enumerate([5, 9, 6], 1)],
        trial("b", 1, storm([1.0], connections=9, overflows=0)),
    )
    chart = named("counters", cell(), evidence)
    overflows, drops = (only(chart, name=f"TcpExt.Listen{name}") for name in ("Overflows", "Drops"))
    assert (overflows["x"], overflows["y"], overflows["text"]) == ([6, 0], [0, 1], ["6 (5 to 9)", "0"])
    assert overflows["marker"]["pattern"]["shape"] != drops["marker"]["pattern"]["shape"]
    assert ("a", "TcpExt.ListenDrops", 3, 6, 5, 9) in rows(chart)


def test_counters_at_zero_are_shown_only_for_loads_about_queues() -> None:
    assert "counters" in names(cell(), files(trial("a", 1, storm([1.0], connections=9))))
    assert "counters" not in names(cell(), files(trial("a", 1, http(connect=None, total={"p50": 1.0}))))
    assert "counters" in names(cell(), files(trial("a", 1, http(connect=None, total={"p50": 1.0}, drops=4))))
