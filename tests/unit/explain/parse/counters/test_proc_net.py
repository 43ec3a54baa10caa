"""/proc/net/netstat and /proc/net/snmp become named counters, snapshot by snapshot, or one error with its place."""

from tests.support.canned_counters import NETSTAT, SNMP
from tuneproof.explain.parse.counters.proc_net import snapshots


def test_both_files_together_are_one_snapshot() -> None:
    """No protocol stands in both files; each column has its own name."""
    (snapshot,) = snapshots(NETSTAT + SNMP)
    assert snapshot.source == "proc"
    assert snapshot.counters["TcpExt.ListenOverflows"] == 11612
    assert snapshot.counters["IpExt.OutOctets"] == 278_380_388_465
    assert snapshot.counters["Tcp.RetransSegs"] == 17440
    assert snapshot.counters["Tcp.MaxConn"] == -1
    assert len(snapshot.counters) == 7 + 3 + 3 + 2 + 9
    assert (snapshot.relative, snapshot.omits_zeros) == (False, False)


def test_a_loop_is_split_and_its_dates_are_kept() -> None:
    """A protocol that comes again begins a snapshot; the line before it belongs to it."""
    first, second = snapshots(f"Thu Nov 20\n{NETSTAT}Date: later\n{NETSTAT.replace('11612', '11620')}the end\n")
    assert (first.labels, first.unmatched_lines) == (("Thu Nov 20",), 1)
    assert (second.labels, second.unmatched_lines) == (("Date: later", "the end"), 2)
    assert (first.counters["TcpExt.ListenDrops"], second.counters["TcpExt.ListenDrops"]) == (11612, 11620)


def test_a_line_between_the_files_does_not_split_them() -> None:
    (snapshot,) = snapshots(f"{NETSTAT}---\n{SNMP}")
    assert {"TcpExt.TW", "Tcp.OutSegs"} <= snapshot.counters.keys()
    assert snapshot.labels == ("---",)


def test_labels_are_bounded_and_all_are_counted() -> None:
    (snapshot,) = snapshots("x" * 1000 + "\n" + "noise\n" * 99 + NETSTAT)
    assert [len(each) for each in snapshot.labels] == [200, 5, 5, 5, 5]
    assert snapshot.unmatched_lines == 100


def test_line_ends_of_windows_are_no_part_of_values() -> None:
    assert snapshots(NETSTAT.replace("\n", "\r\n"))[0].counters == snapshots(NETSTAT)[0].counters


def test_the_largest_value_of_64_bits_is_read() -> None:
    """The bound is the kernel's, not one less."""
    assert snapshots("Tcp: A\nTcp: 18446744073709551615\n")[0].counters == {"Tcp.A": 2**64 - 1}
