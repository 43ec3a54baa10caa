"""What netadmin reads from /proc, as text into values."""

from pathlib import Path

import pytest

from images.netadmin.netadmin import snapshot

# The first columns of a kernel's own files, pair by pair.
NETSTAT = """\
TcpExt: SyncookiesSent ListenOverflows ListenDrops
TcpExt: 0 3 4
IpExt: InOctets OutOctets
IpExt: 123456789012 42
"""
SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm MaxConn RetransSegs
Tcp: 1 -1 17
"""


@pytest.mark.parametrize(
    ("text", "counters"),
    [
        (
            NETSTAT,
            {
                "TcpExt.SyncookiesSent": 0,
                "TcpExt.ListenOverflows": 3,
                "TcpExt.ListenDrops": 4,
                "IpExt.InOctets": 123456789012,
                "IpExt.OutOctets": 42,
            },
        ),
        (
            SNMP,
            {"Ip.Forwarding": 1, "Ip.DefaultTTL": 64, "Tcp.RtoAlgorithm": 1, "Tcp.MaxConn": -1, "Tcp.RetransSegs": 17},
        ),
    ],
    ids=["netstat", "snmp"],
)
def test_counters_are_named_by_protocol_and_column(text: str, counters: dict[str, int], tmp_path: Path) -> None:
    """Names stand in one line, values in the next; no protocol's column is taken for another's."""
    path = tmp_path / "counters"
    path.write_text(text, encoding="ascii")
    assert snapshot._counters(path) == counters


@pytest.mark.parametrize("text", ["Tcp: A B\nTcp: 1\n", "Tcp: A B\n"], ids=["value", "line"])
def test_what_is_missing_is_an_error_and_no_shift(text: str, tmp_path: Path) -> None:
    """A kernel with another format is noticed; a wrong counter would not be."""
    path = tmp_path / "counters"
    path.write_text(text, encoding="ascii")
    with pytest.raises(ValueError, match="shorter"):
        snapshot._counters(path)


def test_the_cpu_model_is_the_first_ones() -> None:
    """On x86 every CPU has a line with its model's name."""
    cpuinfo = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Xeon: Gold\n\nprocessor\t: 1\nmodel name\t: Other\n"
    assert snapshot._cpu_model(cpuinfo) == "Xeon: Gold"


def test_a_cpu_without_a_model_name_has_an_empty_one() -> None:
    """On arm64 there is no such line."""
    assert snapshot._cpu_model("processor\t: 0\nCPU part\t: 0xd0c\n") == ""


def test_sysctls_have_single_spaces_and_missing_ones_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel separates the parts of tcp_rmem with tabs, and shows not every sysctl in a namespace."""
    values = {"/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n"}
    monkeypatch.setattr(Path, "exists", lambda path: str(path) in values)
    monkeypatch.setattr(Path, "read_text", lambda path, **_: values[str(path)])
    assert snapshot.sysctl("net.ipv4.tcp_rmem") == "4096 131072 6291456"
    assert snapshot.sysctl("net.core.somaxconn") is None


def test_a_snapshot_of_this_machine_has_what_the_library_reads() -> None:
    """The running kernel's files are in the format; backlogs are passed on as they came from the kernel."""
    taken = snapshot.take(listener_backlogs={8000: [511, 511]})
    assert taken["listener_backlogs"] == {8000: [511, 511]}
    assert len(taken["sysctls"]["net.ipv4.tcp_rmem"].split()) == 3
    assert "TcpExt.ListenDrops" in taken["counters"]
    assert "Tcp.RetransSegs" in taken["counters"]
