"""The counters that matter become figures, and each of them has a meaning that can be looked up."""

import pytest

from tuneproof.explain.parse.counters import figures as module
from tuneproof.explain.parse.counters.figures import figures, retransmitted_percent
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot, delta


def a_snapshot(**counters: int) -> CounterSnapshot:
    named = {
        f"Tcp.{name.removeprefix('Tcp_')}" if name.startswith("Tcp_") else f"TcpExt.{name}": value
        for name, value in counters.items()
    }
    return CounterSnapshot(source="proc", counters=named)


def test_what_people_need_first_comes_first() -> None:
    told = figures(a_snapshot(Tcp_OutSegs=1000, Tcp_RetransSegs=5, ListenDrops=4, ListenOverflows=3))
    assert [(figure.value, figure.unit) for figure in told] == [(3, ""), (4, ""), (5, ""), (0.5, "%"), (1000, "")]
    assert told[0].name == "dropped for a full accept queue (TcpExt.ListenOverflows)"


def test_zeros_are_told_only_where_they_are_news() -> None:
    """No drop is good news; no pruning is no news."""
    told = figures(a_snapshot(ListenOverflows=0, PruneCalled=0))
    assert [figure.name for figure in told] == ["dropped for a full accept queue (TcpExt.ListenOverflows)"]


def test_at_most_25_lines_are_told() -> None:
    """Also where everything went wrong at once."""
    assert len(figures(CounterSnapshot(source="proc", counters=dict.fromkeys(module._WORDS, 7)))) == 25


def test_a_snapshot_without_such_counters_says_so() -> None:
    """An empty table would look like a fault."""
    (told,) = figures(CounterSnapshot(source="proc", counters={"Ip.InReceives": 1}))
    assert (told.name, told.value) == ("counters, none of those that matter here", 1)


def test_a_restart_between_two_snapshots_is_told_first() -> None:
    told = figures(
        delta(
            a_snapshot(ListenDrops=9, TW=8, PruneCalled=7, OfoPruned=6),
            a_snapshot(**dict.fromkeys(("ListenDrops", "TW", "PruneCalled", "OfoPruned"), 1)),
        )
    )
    assert told[0].name == "counters went backwards, so only since a restart"
    assert told[0].value == "TcpExt.ListenDrops, TcpExt.TW, TcpExt.PruneCalled and 1 more"


@pytest.mark.parametrize(
    ("values", "percent"),
    [({"Tcp.RetransSegs": 3, "Tcp.OutSegs": 0}, None), ({"Tcp.OutSegs": 9}, None), ({"Tcp.RetransSegs": 3}, None)],
    ids=["nothing sent", "no count", "no base"],
)
def test_the_share_sent_again_may_be_unknown(values: dict[str, int], percent: float | None) -> None:
    """It is no zero then."""
    assert retransmitted_percent(values) is percent
