"""The output of nstat becomes counters under the kernel's names, whichever of its forms it is in."""

import pytest

from tests.support.canned_counters import NSTAT, NSTAT_JSON
from tuneproof.explain.parse.counters.nstat import kernel_name, snapshots


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("TcpExtListenDrops", "TcpExt.ListenDrops"),
        ("TcpExtTcpTimeoutRehash", "TcpExt.TcpTimeoutRehash"),
        ("TcpRetransSegs", "Tcp.RetransSegs"),
        ("IpExtInOctets", "IpExt.InOctets"),
        ("Ip6InReceives", "Ip6.InReceives"),
        ("IcmpMsgInType3", "IcmpMsg.InType3"),
        ("Icmp6InMsgs", "Icmp6.InMsgs"),
        ("UdpLite6InErrors", "UdpLite6.InErrors"),
        ("MPTcpExtMPCapableSYNRX", "MPTcpExt.MPCapableSYNRX"),
        ("XfrmInError", "XfrmInError"),
        ("Ipsum", "Ipsum"),
    ],
)
def test_names_are_the_kernels(word: str, name: str) -> None:
    assert kernel_name(word) == name


def test_text_is_read_in_full() -> None:
    """Each line is a counter; without -z no zero is there, and a missing counter is one."""
    (snapshot,) = snapshots(NSTAT)
    assert snapshot.counters["TcpExt.ListenOverflows"] == 11612
    assert snapshot.counters["IpExt.InOctets"] == 281_656_160_717
    assert len(snapshot.counters) == 8
    assert (snapshot.relative, snapshot.omits_zeros, snapshot.is_32_bit) == (False, True, False)


def test_a_zero_shows_that_zeros_are_told() -> None:
    """With -z a counter that is missing is one that the kernel does not have."""
    (snapshot,) = snapshots(NSTAT + "TcpExtTCPReqQFullDrop 0 0.0\n")
    assert not snapshot.omits_zeros


def test_a_loop_is_split_at_its_headers_and_keeps_its_dates() -> None:
    """A date that looks like a counter ("Thu 20") is none, for it is of no protocol and has no rate."""
    first, second = snapshots(f"{NSTAT}Thu 20 Nov 2026\n{NSTAT}")
    assert (first.labels, second.labels) == ((), ("Thu 20 Nov 2026",))
    assert first.counters == second.counters


def test_a_loop_without_headers_is_split_at_names_that_come_again() -> None:
    line = "TcpExtListenDrops  {}  0.0\nTcpRetransSegs 1 0.0\n"
    assert [each.counters["TcpExt.ListenDrops"] for each in snapshots(line.format(3) + line.format(5))] == [3, 5]


def test_json_is_one_object_per_call() -> None:
    """One line per call, dates between them; objects over several lines are the same."""
    pretty = '{\n  "kernel": {\n    "TcpExtListenDrops": 11613\n  }\n}\n'
    first, second = snapshots(f"{NSTAT_JSON}10:00:01\n{pretty}")
    assert first.counters["TcpExt.ListenDrops"] == 11612
    assert second.counters == {"TcpExt.ListenDrops": 11613}
    assert second.labels == ("10:00:01",)


def test_json_has_32_bits_unless_a_value_shows_more() -> None:
    """``nstat --json`` cuts values off above 32 bits, which only shows when its counters go backwards."""
    assert snapshots(NSTAT_JSON)[0].is_32_bit
    assert not snapshots(NSTAT_JSON.replace("2483922382", "281656160717"))[0].is_32_bit


def test_values_that_fall_in_most_calls_are_increments() -> None:
    """A loop of nstat without -a prints what came since the call before; the first call, all."""
    calls = ["#kernel\nTcpRetransSegs 900 0.0\n", "#kernel\nTcpRetransSegs 5 0.0\n", "#kernel\nTcpOutSegs 9 0.0\n"]
    assert all(each.relative for each in snapshots("".join(calls)))
    assert not any(each.relative for each in snapshots("".join(calls), relative=False))


def test_one_restart_in_a_loop_makes_no_increments() -> None:
    text = "".join(f"#kernel\nTcpRetransSegs {value} 0.0\n" for value in (5, 6, 7, 1, 2))
    assert not any(each.relative for each in snapshots(text))
