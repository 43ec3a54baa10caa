"""Readings of counters from tools and from /proc are separated, and their counters get the kernel's names."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pytest

from tests.support.outputs import NETSTAT, NETSTAT_S, NSTAT, NSTAT_JSON, OLD_SOFTNET, SNMP, SOFTNET
from tuneproof.explain.parse.counters import netstat_s, nstat, proc_net, softnet
from tuneproof.explain.parse.counters.nstat import kernel_name
from tuneproof.explain.parse.counters.sentences import SENTENCES
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot, delta

Parse = Callable[[str], Sequence[CounterSnapshot]]
CPU = "00000001 00000002 00000003" + " 00000000" * 9 + " 0000000{}\n"
LOOP = "".join(f"#kernel\nTcpRetransSegs {value} 0.0\n" for value in (5, 6, 7, 1, 2))
CALLS = "#kernel\nTcpRetransSegs 900 0.0\n#kernel\nTcpRetransSegs 5 0.0\n#kernel\nTcpOutSegs 9 0.0\n"
DROPS = "TcpExtListenDrops {} 0.0\nTcpRetransSegs 1 0.0\n"

# Each row: a text, and for each of its readings some of the expected fields and counters.
CASES: Final[Mapping[str, tuple[Parse, str, Sequence[Mapping[str, Any]]]]] = {
    # No protocol appears in both files.
    "both files of /proc/net": (
        proc_net.snapshots,
        NETSTAT + SNMP,
        [
            {"source": "proc", "relative": False, "omits_zeros": False, "number": 7 + 3 + 3 + 2 + 9}
            | {"TcpExt.ListenOverflows": 11612, "IpExt.OutOctets": 278_380_388_465, "Tcp.MaxConn": -1}
        ],
    ),
    "a line between the files does not split them": (
        proc_net.snapshots,
        f"{NETSTAT}---\n{SNMP}",
        [{"TcpExt.TW": 63021, "Tcp.OutSegs": 7_381_236, "labels": ("---",)}],
    ),
    # A repeated protocol begins a reading, to which the line before it belongs.
    "a loop with dates": (
        proc_net.snapshots,
        f"Thu Nov 20\n{NETSTAT}Date: later\n{NETSTAT.replace('11612', '11620')}the end\n",
        [
            {"labels": ("Thu Nov 20",), "unmatched_lines": 1, "TcpExt.ListenDrops": 11612},
            {"labels": ("Date: later", "the end"), "unmatched_lines": 2, "TcpExt.ListenDrops": 11620},
        ],
    ),
    "labels are bounded, and all are counted": (
        proc_net.snapshots,
        "x" * 1000 + "\n" + "noise\n" * 99 + NETSTAT,
        [{"labels": ("x" * 200, *["noise"] * 4), "unmatched_lines": 100}],
    ),
    "Windows line endings": (proc_net.snapshots, NETSTAT.replace("\n", "\r\n"), [{"IpExt.OutOctets": 278_380_388_465}]),
    "64 bits": (proc_net.snapshots, "Tcp: A\nTcp: 18446744073709551615\n", [{"counters": {"Tcp.A": 2**64 - 1}}]),
    "nstat leaves out zeros": (
        nstat.snapshots,
        NSTAT,
        [
            {"number": 8, "relative": False, "omits_zeros": True, "is_32_bit": False}
            | {"TcpExt.ListenOverflows": 11612, "IpExt.InOctets": 281_656_160_717}
        ],
    ),
    "nstat -z": (nstat.snapshots, f"{NSTAT}TcpExtTCPReqQFullDrop 0 0.0\n", [{"omits_zeros": False}]),
    # A date that looks like a counter is not one, since it has no protocol and no rate.
    "a loop of nstat": (
        nstat.snapshots,
        f"{NSTAT}Thu 20 Nov 2026\n{NSTAT}",
        [{"labels": (), "number": 8}, {"labels": ("Thu 20 Nov 2026",), "number": 8}],
    ),
    "a loop of nstat without headers": (
        nstat.snapshots,
        DROPS.format(3) + DROPS.format(5),
        [{"TcpExt.ListenDrops": 3}, {"TcpExt.ListenDrops": 5}],
    ),
    # nstat --json cuts values to 32 bits, which only shows when its counters go backwards.
    "an object of JSON for each call": (
        nstat.snapshots,
        NSTAT_JSON + '10:00:01\n{\n  "kernel": {\n    "TcpExtListenDrops": 11613\n  }\n}\n',
        [
            {"TcpExt.ListenDrops": 11612, "is_32_bit": True},
            {"counters": {"TcpExt.ListenDrops": 11613}, "labels": ("10:00:01",)},
        ],
    ),
    "JSON of 64 bits": (nstat.snapshots, NSTAT_JSON.replace("2483922382", "281656160717"), [{"is_32_bit": False}]),
    # A loop of nstat without -a prints the increase since the previous call; the first call prints totals.
    "values that fall in most calls": (nstat.snapshots, CALLS, [{"relative": True}] * 3),
    "one restart in a loop": (nstat.snapshots, LOOP, [{"relative": False}] * 5),
    # The number may be anywhere in a sentence. Unknown sentences become names, in ICMP's histograms with the heading.
    "sentences of netstat -s": (
        netstat_s.snapshots,
        NETSTAT_S,
        [
            {"source": "netstat -s", "omits_zeros": True, "Ip.Forwarding": 1, "Ip.InReceives": 7_468_136}
            | {"IcmpMsg.InType3": 4, "Tcp.RetransSegs": 17440, "Tcp.OutSegs": 7_381_236, "TcpExt.TCPTimeouts": 5978}
            | {"TcpExt.ListenOverflows": 11612, "TcpExt.ListenDrops": 11612}
            | {"TcpExt.Quick ack mode was activated # times": 9939, "Icmp.# ICMP messages received": 4}
            | {"Icmp.ICMP input histogram: destination unreachable: #": 4, "Icmp.# ICMP messages sent": 15}
            | {"Icmp.ICMP output histogram: destination unreachable: #": 15}
        ],
    ),
    "net-tools 1.60": (
        netstat_s.snapshots,
        "Tcp:\n    30 segments send out\n    7 segments retransmited\n    2 resets sent.\n",
        [{"counters": {"Tcp.OutSegs": 30, "Tcp.RetransSegs": 7, "Tcp.OutRsts": 2}}],
    ),
    "a loop of netstat -s": (
        netstat_s.snapshots,
        f"{NETSTAT_S}Thu Nov 20\n{NETSTAT_S}\n    Forwarding is enabled\n",
        [{"labels": ()}, {"labels": ("Thu Nov 20", "Forwarding is enabled")}],
    ),
    # This file ends within a line, so digits of its last value may be missing, too.
    "a cut line of values": (
        proc_net.snapshots,
        "Tcp: A B\nTcp: 1 2\nUdp: C D E\nUdp: 3 4",
        [{"Tcp.B": 2, "Udp.C": 3, "number": 3, "labels": ("Udp: 3 4",)}],
    ),
    "a cut line of names": (proc_net.snapshots, "Tcp: A B\nTcp: 1 2\nUdp: C D", [{"number": 2}]),
    "a whole last line": (proc_net.snapshots, "Tcp: A B\nTcp: 1 2", [{"Tcp.B": 2, "number": 2, "labels": ()}]),
    "a cut line of nstat": (
        nstat.snapshots,
        "TcpOutSegs 5 0.0\nTcpRetransSegs 1",
        [{"counters": {"Tcp.OutSegs": 5}, "labels": ("TcpRetransSegs 1",)}],
    ),
    # The values are hexadecimal; the first three columns are counters, and the 13th is the CPU.
    "softnet_stat": (
        softnet.snapshots,
        SOFTNET,
        [
            {"number": 6, "cpu0.processed": 0x3229A931, "cpu0.dropped": 0xFDD, "cpu0.squeezed": 0x4B}
            | {"cpu1.processed": 0x219F7279, "cpu1.dropped": 0x212, "cpu1.squeezed": 0x25}
        ],
    ),
    "a CPU that is offline does not shift the others": (
        softnet.snapshots,
        CPU.format(0) + CPU.format(3),
        [{"number": 6, "cpu0.processed": 1, "cpu3.processed": 1}],
    ),
    "a loop of softnet_stat": (
        softnet.snapshots,
        f"{SOFTNET}10:00:01\n{SOFTNET}",
        [{"labels": (), "number": 6}, {"labels": ("10:00:01",), "number": 6}],
    ),
    # Before Linux 5.10, rows have no CPU number: they are counted from 0.
    "a line separates readings without CPU numbers": (
        softnet.snapshots,
        f"{OLD_SOFTNET}10:00:01\n{OLD_SOFTNET}",
        [{"cpu0.squeezed": 3, "cpu1.dropped": 2, "number": 6}] * 2,
    ),
}


@pytest.mark.parametrize(("parse", "text", "readings"), CASES.values(), ids=CASES)
def test_a_text_is_split_into_readings(parse: Parse, text: str, readings: Sequence[Mapping[str, Any]]) -> None:
    for found, expected in zip(parse(text), readings, strict=True):
        known = {**vars(found), **found.counters, "number": len(found.counters)}
        assert {key: known[key] for key in expected} == expected


def test_the_argument_relative_overrides_the_guess() -> None:
    assert not any(each.relative for each in nstat.snapshots(CALLS, relative=False))


def test_a_wrap_of_a_cpus_32_bit_counter_is_not_a_reset() -> None:
    change = delta(*softnet.snapshots("".join(f"{value}{' 00000000' * 12}\n" for value in ("fffffff0", "00000010"))))
    assert change.increments == {"cpu0.processed": 0x20, "cpu0.dropped": 0, "cpu0.squeezed": 0}
    assert (change.wrapped, change.reset) == (("cpu0.processed",), ())


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("TcpExtTcpTimeoutRehash", "TcpExt.TcpTimeoutRehash"),
        ("IpExtInOctets", "IpExt.InOctets"),
        ("Ip6InReceives", "Ip6.InReceives"),
        ("IcmpMsgInType3", "IcmpMsg.InType3"),
        ("UdpLite6InErrors", "UdpLite6.InErrors"),
        ("MPTcpExtMPCapableSYNRX", "MPTcpExt.MPCapableSYNRX"),
        ("XfrmInError", "XfrmInError"),
        ("Ipsum", "Ipsum"),
    ],
)
def test_names_of_nstat_become_those_of_the_kernel(word: str, name: str) -> None:
    assert kernel_name(word) == name


def test_no_sentence_describes_two_counters() -> None:
    assert len({(protocol, sentence) for protocol, _, sentence in SENTENCES}) == len(SENTENCES)
    assert [sentence for _, _, sentence in SENTENCES if sentence.split().count("#") != 1] == []
