"""Important counters become figures, the most important first."""

from tests.support.outputs import OLD_SOFTNET
from tuneproof.explain.parse.counters import figures as module
from tuneproof.explain.parse.counters import softnet
from tuneproof.explain.parse.counters.figures import figures, retransmitted_percent
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot, delta


def a_snapshot(**counters: int) -> CounterSnapshot:
    """Return a reading; names in TcpExt need no prefix."""
    return CounterSnapshot(
        source="proc",
        counters={name.replace("_", ".") if "_" in name else f"TcpExt.{name}": n for name, n in counters.items()},
    )


def test_the_most_important_figures_come_first() -> None:
    shown = figures(a_snapshot(Tcp_OutSegs=1000, Tcp_RetransSegs=5, ListenDrops=4, ListenOverflows=3))
    assert [(figure.value, figure.unit) for figure in shown] == [(3, ""), (4, ""), (5, ""), (0.5, "%"), (1000, "")]


def test_zeros_are_shown_only_for_drops_and_retransmissions() -> None:
    """Without any important counter, one figure reports this, since an empty table would look like a fault."""
    zeros = figures(a_snapshot(ListenOverflows=0, ListenDrops=0, Tcp_RetransSegs=0, PruneCalled=0))
    assert [figure.key for figure in zeros] == ["TcpExt.ListenOverflows", "TcpExt.ListenDrops", "Tcp.RetransSegs"]
    (shown,) = figures(a_snapshot(Ip_InReceives=1))
    assert (shown.name, shown.value) == ("counters, none of which matters here", 1)


def test_datagrams_dropped_at_a_full_buffer_are_reported() -> None:
    """For IPv6, nstat(8) prints separate counters."""
    shown = figures(a_snapshot(Udp_RcvbufErrors=58, Udp6_RcvbufErrors=3))
    assert [(figure.key, figure.value) for figure in shown] == [("Udp.RcvbufErrors", 58), ("Udp6.RcvbufErrors", 3)]


def test_there_are_at_most_25_figures() -> None:
    assert len(figures(CounterSnapshot(source="proc", counters=dict.fromkeys(module._WORDS, 7)))) == 25


def test_a_restart_between_two_snapshots_is_reported_first() -> None:
    names = ("ListenDrops", "TW", "PruneCalled", "OfoPruned")
    shown = figures(delta(a_snapshot(**dict.fromkeys(names, 9)), a_snapshot(**dict.fromkeys(names, 1))))
    assert shown[0].name == "counters that went backwards, so counted from a restart"
    assert shown[0].value == "TcpExt.ListenDrops, TcpExt.TW, TcpExt.PruneCalled and 1 more"


def test_the_share_of_retransmissions_may_be_unknown() -> None:
    for values in ({"Tcp.RetransSegs": 3, "Tcp.OutSegs": 0}, {"Tcp.OutSegs": 9}, {"Tcp.RetransSegs": 3}):
        assert retransmitted_percent(values) is None


def test_softnet_figures_are_totals_and_the_worst_cpus() -> None:
    shown = {figure.name: figure.value for figure in softnet.figures(softnet.snapshots(OLD_SOFTNET)[0].counters)}
    assert shown["packets dropped because a CPU's backlog was full"] == 2
    assert shown["times a CPU stopped with packets left"] == 3
    assert shown["packets dropped by CPU 1"] == 2
    assert "packets dropped by CPU 0" not in shown
