"""What a lab must leave as it was: which readings count, and which differences are told."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.host_state import HostState

# As tc(8) prints them.
QDISCS = [
    {"kind": "noqueue", "handle": "0:", "dev": "lo", "root": True},
    {"kind": "netem", "handle": "8001:", "dev": "eth0", "root": True},
    {"kind": "clsact", "handle": "ffff:", "dev": "eth0", "parent": "ffff:fff1"},
]


@pytest.fixture
def sysctls(tmp_path: Path) -> Path:
    """An empty folder in the place of /proc/sys."""
    return folder(tmp_path / "sys")


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """A folder in the place of /sys/class/net, with two links."""
    parent = folder(tmp_path / "class-net")
    for name in ("lo", "eth0"):
        folder(parent / name)
    return parent


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as the only one in which programs are found: no reading asks this machine's own tc."""
    only = folder(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(only))
    return only


def folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def write(root: Path, values: dict[str, str]) -> None:
    for name, value in values.items():
        folder((root / name).parent)
        (root / name).write_text(value, encoding="latin-1")


def tc(programs: Path, prints: str) -> None:
    """Put a tc there that prints a text, if it is asked for queueing disciplines as JSON."""
    program = programs / "tc"
    program.write_text(f"#!/bin/sh\n[ \"$*\" = '-json qdisc show' ] && printf '%s' '{prints}'\n", encoding="ascii")
    program.chmod(0o755)


def state(**changes: Any) -> HostState:
    """Return a host's state, but for what a test cares about."""
    usual: dict[str, Any] = {
        "sysctls": {"net/core/somaxconn": "4096", "vm/swappiness": "60"},
        "links": frozenset({"lo", "eth0"}),
        "qdiscs": {"eth0": ("fq_codel 0:",)},
    }
    return HostState(**{**usual, **changes})


def test_sysctls_are_read_by_their_path_without_their_last_newline(sysctls: Path, links: Path) -> None:
    """However deep they are; what stands between several numbers stays."""
    write(
        sysctls, {"net/ipv4/tcp_rmem": "4096\t131072\t6291456\n", "net/core/somaxconn": "4096\n", "vm/swappiness": "60"}
    )
    assert HostState.read(sysctls=sysctls, links=links).sysctls == {
        "net/core/somaxconn": "4096",
        "net/ipv4/tcp_rmem": "4096\t131072\t6291456",
        "vm/swappiness": "60",
    }


@pytest.mark.parametrize(
    "passing",
    [
        "net/netfilter/nf_conntrack_count",
        "net/ipv4/conf/eth0/forwarding",
        "net/ipv6/neigh/veth1/retrans_time_ms",
        "vm/drop_caches",
        "vm/stat_refresh",
        "kernel/pid_max",
        "fs/file-nr",
    ],
)
def test_what_changes_by_itself_or_belongs_to_no_lab_is_left_out(passing: str, sysctls: Path, links: Path) -> None:
    """Counts, and settings of single links, which come and go with anybody's containers; neighbours stay."""
    beside = "net/netfilter/nf_conntrack_max"
    write(sysctls, {passing: "1\n", beside: "262144\n"})
    assert HostState.read(sysctls=sysctls, links=links).sysctls == {beside: "262144"}


def test_a_sysctl_that_cannot_be_read_is_left_out(sysctls: Path, links: Path) -> None:
    write(sysctls, {"vm/admin_reserve_kbytes": "8192\n", "vm/swappiness": "60\n"})
    # Permissions would not keep root from reading; nothing is mapped at a process's address 0, for anybody.
    unreadable = sysctls / "vm" / "compact_memory"
    unreadable.symlink_to("/proc/self/mem")
    assert unreadable.is_file()
    read = HostState.read(sysctls=sysctls, links=links)
    assert read.sysctls == {"vm/admin_reserve_kbytes": "8192", "vm/swappiness": "60"}


def test_queueing_disciplines_are_read_by_interface(programs: Path, sysctls: Path, links: Path) -> None:
    """Kind and handle, sorted: the kernel's order may differ from one reading to the next."""
    wanted = {"lo": ("noqueue 0:",), "eth0": ("clsact ffff:", "netem 8001:")}
    for shown in (QDISCS, QDISCS[::-1]):
        tc(programs, json.dumps(shown))
        assert HostState.read(sysctls=sysctls, links=links).qdiscs == wanted


@pytest.mark.parametrize("values", [{"net/core/somaxconn": "4096"}, {**state().sysctls, "net/core/optmem_max": "1"}])
def test_a_sysctl_of_only_one_reading_is_no_change(values: dict[str, str]) -> None:
    """It came or went with a module of the kernel, or could not be read once."""
    assert state(sysctls=values).changes_since(state()) == []


@pytest.mark.parametrize("qdiscs", [{}, {"eth0": ("fq_codel 0:",), "veth1": ("noqueue 0:",)}])
def test_queueing_disciplines_of_an_interface_in_only_one_reading_are_no_change(
    qdiscs: dict[str, tuple[str, ...]],
) -> None:
    assert state(qdiscs=qdiscs).changes_since(state()) == []


def test_all_changes_are_told_in_one_order() -> None:
    after = state(
        sysctls={"vm/swappiness": "10", "net/core/somaxconn": "128"},
        links=frozenset({"lo", "eth0", "br-1"}),
        qdiscs={"eth0": ()},
    )
    assert after.changes_since(state()) == [
        "sysctl net/core/somaxconn: '4096' became '128'",
        "sysctl vm/swappiness: '60' became '10'",
        "link br-1 is new",
        "qdiscs of eth0: ('fq_codel 0:',) became ()",
    ]


def test_links_of_other_peoples_containers_are_no_change(sysctls: Path, links: Path) -> None:
    """Somebody starts a container while a scenario runs; a bridge of their own making is told all the same."""
    before = HostState.read(sysctls=sysctls, links=links)
    for name in ("vethfbca4e1", "br-6aa6b7103714", "br-lan"):
        (links / name).mkdir()
    assert HostState.read(sysctls=sysctls, links=links).changes_since(before) == ["link br-lan is new"]


def test_a_link_that_goes_away_while_it_is_read_is_no_error(
    sysctls: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(sysctls, {"net/ipv4/conf/veth1/mtu": "1500\n", "net/ipv4/tcp_syncookies": "1\n"})
    scandir = os.scandir

    def gone(path: Any) -> Any:
        if str(path).endswith("veth1"):
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", gone)
    assert HostState.read(sysctls=sysctls, links=links).sysctls == {"net/ipv4/tcp_syncookies": "1"}


def test_a_byte_that_is_no_text_is_no_error(sysctls: Path, links: Path) -> None:
    """It is the same in every reading, so it can be compared."""
    write(sysctls, {"net/core/odd": "\xff1\n"})
    assert HostState.read(sysctls=sysctls, links=links).sysctls == {"net/core/odd": "\N{REPLACEMENT CHARACTER}1"}


def test_a_host_without_one_of_the_folders_has_no_such_values(sysctls: Path, links: Path) -> None:
    """A container may not see them."""
    assert HostState.read(sysctls=sysctls, links=links) == HostState(
        sysctls={}, links=frozenset({"lo", "eth0"}), qdiscs={}
    )


def test_a_tc_that_shows_nothing_has_seen_none(programs: Path, sysctls: Path, links: Path) -> None:
    """Without rights it prints an error, and no JSON."""
    tc(programs, "")
    assert HostState.read(sysctls=sysctls, links=links).qdiscs == {}


def test_a_new_link_is_told_and_one_that_went_is_not() -> None:
    """A lab ends no link that it has not made."""
    after = state(links=frozenset({"lo", "veth2", "veth1"}))
    assert after.changes_since(state()) == ["link veth1 is new", "link veth2 is new"]
