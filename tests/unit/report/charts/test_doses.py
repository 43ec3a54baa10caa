"""Dose-response: every block's trial is a point over its dose, and the line goes through the medians."""

from typing import Any

import pytest

from tests.support.canned_charts import (
    cell,
    dosed,
    files,
    memory,
    named,
    names,
    only,
    rows,
    stall,
    storm,
    traces,
    trial,
)

BUFFER = "largest receive buffer, tcp_rmem"


def test_the_loop_lag_is_shown_over_the_receive_buffer() -> None:
    """The response of a trial is worker 1's median lag, as the claims compare it; doses ascend."""
    evidence = files(
        trial("rmem-33554432", 1, stall([30.0, 40.0, 50.0], [0.1])),
        trial("rmem-33554432", 2, stall([20.0], [0.1])),
        trial("rmem-40960", 1, stall([0.5, 0.7], [0.1])),
    )
    doses = dosed(BUFFER, "bytes", {"rmem-40960": 40960, "rmem-33554432": 33554432})
    chart = named("dose-response", doses, evidence)
    points, line = only(chart, mode="markers"), only(chart, mode="lines")
    assert (points["x"], points["y"]) == ([40960, 33554432, 33554432], [0.6, 40.0, 20.0])
    assert (line["x"], line["y"]) == ([40960, 33554432], [0.6, 30.0])
    assert rows(chart) == [
        ("rmem-40960", 40960, 1, 0.6),
        ("rmem-33554432", 33554432, 1, 40.0),
        ("rmem-33554432", 33554432, 2, 20.0),
    ]
    assert chart.columns[1] == "largest receive buffer, tcp_rmem (bytes)"
    assert chart.figure["layout"]["xaxis"]["type"] == "log"


def test_bulk_downloads_have_their_own_panel() -> None:
    """What a remedy costs stands below what it brings."""
    evidence = files(
        trial("rmem-4096", 1, stall([1.0], bulk_bytes=[100, 20])), trial("rmem-8192", 1, stall([2.0], bulk_bytes=[500]))
    )
    chart = named("dose-response", dosed(BUFFER, "bytes", {"rmem-4096": 4096, "rmem-8192": 8192}), evidence)
    assert only(chart, mode="markers", xaxis="x2")["y"] == [240.0, 1000.0]
    assert [row[3:] for row in rows(chart)] == [(1.0, 240.0), (2.0, 1000.0)]


def test_void_trials_are_no_points() -> None:
    """They do not count anywhere."""
    evidence = files(
        trial("rmem-1", 1, stall([9.0]), "a late generator"),
        trial("rmem-1", 2, stall([1.0])),
        trial("rmem-2", 1, stall([2.0])),
    )
    doses = dosed(BUFFER, "bytes", {"rmem-1": 1, "rmem-2": 2})
    assert only(named("dose-response", doses, evidence), mode="markers")["y"] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("arms", "record", "doses", "responses"),
    [
        (["readers-1", "readers-8"], memory([1500], [4000, 1000], [2000]), [1, 8], [4000, 4000]),
        (
            ["short", "long"],
            storm([1.0, 1500.0], connections=9),
            [128, 511],
            [1, 1],
        ),
        (
            ["syn-backlog-128", "syn-backlog-4096"],
            {"sent": 8, "counters": {"TcpExt.ListenDrops": 6}},
            [128, 4096],
            [0.75, 0.75],
        ),
        (["1-of-512", "1-of-25000"], {"rss_bytes": 7000}, [512, 25000], [7000, 7000]),
    ],
)
def test_each_kind_of_trial_has_its_own_response(
    arms: list[str], record: dict[str, Any], doses: list[int], responses: list[float]
) -> None:
    """Growth of memory; connects that stood within a second; dropped SYNs; memory of new workers."""
    cell_of = dosed("something", "", dict(zip(arms, doses, strict=True)))
    chart = named("dose-response", cell_of, files(*[trial(arm, 1, record) for arm in arms]))
    points = only(chart, mode="markers", xaxis="x")
    assert (points["x"], points["y"]) == (doses, responses)


def test_the_number_of_workers_is_a_series_of_its_own() -> None:
    """Lines differ by colour, dash and marker."""
    arms = {"1-of-512": 512, "2-of-512": 512, "1-of-1024": 1024, "2-of-1024": 1024}
    series = {arm: "1 worker" if arm.startswith("1") else "2 workers" for arm in arms}
    doses = dosed("worker_connections", "", arms, series=series)
    chart = named("dose-response", doses, files(*[trial(arm, 1, {"rss_bytes": 7000}) for arm in arms]))
    first, second = traces(chart, mode="lines")
    assert [first["name"], second["name"]] == ["median, 1 worker", "median, 2 workers"]
    assert first["line"]["dash"] != second["line"]["dash"]
    symbols = [trace["marker"]["symbol"] for trace in traces(chart, mode="markers")]
    assert len(set(symbols)) == 2


@pytest.mark.parametrize(
    "amounts",
    [{}, {"a": 1}, {"a": 1, "b": 1}, {"a": 1, "b": None}, {"a": 1, "not measured": 2}],
    ids=["none", "one", "equal", "no limit", "not measured"],
)
def test_less_than_two_doses_are_no_response(amounts: dict[str, float | None]) -> None:
    """One dose responds to nothing."""
    evidence = files(*[trial(arm, 1, stall([1.0])) for arm in ("a", "b")])
    assert "dose-response" not in names(dosed(BUFFER, "bytes", amounts), evidence)


def test_memory_of_held_connections_is_shown_over_their_number() -> None:
    """Every reading is a point, on linear axes: the slope is the price."""
    readings = [{"held": held, "worker_bytes": 10 + 3 * held, "kernel_bytes": 5 + held} for held in (0, 100)]
    evidence = files(
        trial("held", 1, {"readings": readings, "rss_bytes": 5}), trial("held", 2, {"readings": readings[1:]})
    )
    chart = named("held-connections", cell(), evidence)
    points = only(chart, name="block, nginx's workers")
    assert (points["x"], points["y"]) == ([0, 100, 100], [10, 310, 310])
    assert rows(chart) == [("held", 1, 0, 10, 5), ("held", 1, 100, 310, 105), ("held", 2, 100, 310, 105)]
    layout = chart.figure["layout"]
    assert (layout["xaxis"]["type"], layout["yaxis"]["type"]) == ("linear", "linear")
