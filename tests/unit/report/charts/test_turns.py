"""Bytes per turn are drawn as shares of all bytes, pooled by arm, for the first worker."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.canned_charts import cell, files, named, names, only, rows, stall, trial
from tests.support.canned_turns import raw_worker


def recorded(
    read: Sequence[Sequence[int]], *, others: Sequence[Sequence[int]] = (), first_pid: int = 11
) -> dict[str, Any]:
    """Return the record of a trial of the stall, with the turns of its workers; the first one read this."""
    workers = [raw_worker(11, read=read), raw_worker(12, read=others)]
    return {**stall([1.0], [1.0]), "workers": [first_pid, 12], "turns": {"workers": workers}}


def test_a_point_is_the_share_of_all_bytes_in_turns_that_read_no_more() -> None:
    """Turns that read nothing are left out, trials are pooled, void ones and other workers do not count."""
    evidence = files(
        trial("a", 1, recorded([[0, 900, 0], [64, 1, 1000]], others=[[100, 1, 50_000]])),
        trial("a", 2, recorded([[64, 1, 1100], [120, 1, 200_000]])),
        trial("a", 3, recorded([[140, 1, 5_000_000]]), "stolen CPU"),
        trial("b", 1, recorded([[64, 4, 4400]])),
    )
    chart = named("turn-bytes", cell(), evidence)
    curve = only(chart, name="a")
    assert curve["x"] == [1050.0, 200_000.0]
    assert curve["y"] == [pytest.approx(2100 / 202_100, rel=1e-4), 1.0]
    assert chart.figure["layout"]["xaxis"]["type"] == "log"
    assert rows(chart) == [
        ("a", 3, 202_100, 200_000, 200_000, 200_000),
        ("b", 4, 4400, 1100, 1100, 1100),
    ]
    assert only(chart, name="b")["mode"] == "lines+markers", "a single point has no line"


@pytest.mark.parametrize(
    "record",
    [
        stall([1.0]),
        recorded([]),
        recorded([[0, 900, 0]]),
        recorded([[64, 1, 1000]], first_pid=13),
        {**recorded([]), "turns": {"workers": [{"pid": 11, "histograms": {"read_bytes": [[1, 0, 5], [1, 2], 7]}}]}},
        {**recorded([[64, 1, 1000]]), "workers": []},
    ],
    ids=["not recorded", "no turns", "nothing read", "another worker", "no histogram", "no first worker"],
)
def test_where_nothing_is_known_of_the_first_workers_turns_nothing_is_drawn(record: dict[str, Any]) -> None:
    """And nothing is guessed."""
    assert "turn-bytes" not in names(cell(), files(trial("a", 1, record)))
