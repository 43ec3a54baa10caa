"""The counters that matter become figures, and each has a meaning that can be looked up."""

from tests.support.canned_counters import OLD_SOFTNET
from tuneproof.explain.parse.counters import figures as module
from tuneproof.explain.parse.counters import softnet
from tuneproof.explain.parse.counters.figures import figures, retransmitted_percent
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot, delta

FULL = "dropped because the accept queue was full (TcpExt.ListenOverflows)"


def a_snapshot(**counters: int) -> CounterSnapshot:
    """Return a reading; names in TcpExt need no prefix."""
    return CounterSnapshot(
        source="proc",
        counters={name.replace("_", ".") if "_" in name else f"TcpExt.{name}": n for name, n in counters.items()},
    )


def test_the_most_important_figures_come_first() -> None:
    told = figures(a_snapshot(Tcp_OutSegs=1000, Tcp_RetransSegs=5, ListenDrops=4, ListenOverflows=3))
    assert [(figure.value, figure.unit) for figure in told] == [(3, ""), (4, ""), (5, ""), (0.5, "%"), (1000, "")]


def test_zeros_are_reported_only_if_they_are_news() -> None:
    """Zero drops are news, but zero prunings are not; an empty table would look like a fault."""
    assert [(each.name, each.value) for each in figures(a_snapshot(ListenOverflows=0, PruneCalled=0))] == [(FULL, 0)]
    (told,) = figures(a_snapshot(Ip_InReceives=1))
    assert (told.name, told.value) == ("counters, none of which matters here", 1)


def test_datagrams_dropped_at_a_full_buffer_are_reported() -> None:
    """For IPv6, nstat(8) prints separate counters."""
    told = figures(a_snapshot(Udp_RcvbufErrors=58, Udp6_RcvbufErrors=3))
    assert [(figure.key, figure.value) for figure in told] == [("Udp.RcvbufErrors", 58), ("Udp6.RcvbufErrors", 3)]


def test_at_most_25_lines_are_reported() -> None:
    """The limit holds even if everything went wrong at once."""
    assert len(figures(CounterSnapshot(source="proc", counters=dict.fromkeys(module._WORDS, 7)))) == 25


def test_a_restart_between_two_snapshots_is_reported_first() -> None:
    names = ("ListenDrops", "TW", "PruneCalled", "OfoPruned")
    told = figures(delta(a_snapshot(**dict.fromkeys(names, 9)), a_snapshot(**dict.fromkeys(names, 1))))
    assert told[0].name == "counters that went backwards, so counted from a restart"
    assert told[0].value == "TcpExt.ListenDrops, TcpExt.TW, TcpExt.PruneCalled and 1 more"


def test_the_share_of_retransmissions_may_be_unknown() -> None:
    """An unknown share is not reported as zero."""
    for values in ({"Tcp.RetransSegs": 3, "Tcp.OutSegs": 0}, {"Tcp.OutSegs": 9}, {"Tcp.RetransSegs": 3}):
        assert retransmitted_percent(values) is None


def test_softnet_figures_are_totals_and_the_worst_cpus() -> None:
    told = {figure.name: figure.value for figure in softnet.figures(softnet.snapshots(OLD_SOFTNET)[0].counters)}
    assert told["packets dropped because a CPU's backlog was full"] == 2
    assert told["times a CPU stopped with packets left"] == 3
    assert told["packets dropped by CPU 1"] == 2
    assert "packets dropped by CPU 0" not in told
