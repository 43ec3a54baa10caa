"""The host's state that a lab must not change: the settings that are read, and the differences that are reported."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.host_state import HostState

# In the format of tc(8)'s JSON output.
QDISCS = [
    {"kind": "noqueue", "handle": "0:", "dev": "lo", "root": True},
    {"kind": "netem", "handle": "8001:", "dev": "eth0", "root": True},
    {"kind": "clsact", "handle": "ffff:", "dev": "eth0", "parent": "ffff:fff1"},
]
# Counters, triggers, settings of single interfaces (which come and go with containers), and unrelated sysctls.
PASSING = (
    *("net/netfilter/nf_conntrack_count", "net/ipv4/conf/eth0/forwarding", "net/ipv6/neigh/veth1/retrans_time_ms"),
    *("vm/drop_caches", "vm/stat_refresh", "kernel/pid_max", "fs/file-nr"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with replacements for /proc/sys, /sys/class/net (with one link) and the directories in PATH."""
    for name in ("sys/vm", "links/eth0", "bin"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def read(folder: Path, **values: str) -> HostState:
    """Return the state with these additional sysctls; two underscores stand for a slash."""
    for name, value in values.items():
        path = folder / "sys" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value, encoding="latin-1")
    return HostState.read(sysctls=folder / "sys", links=folder / "links")


def test_sysctls_are_read_by_their_path_except_changing_or_unreadable_ones(folder: Path) -> None:
    """The separator between several numbers stays; a byte that is not ASCII is replaced."""
    # Permissions would not stop root; reading a process's memory at address 0 fails for every user.
    (folder / "sys/vm/compact_memory").symlink_to("/proc/self/mem")
    values = {"net__ipv4__tcp_rmem": "4096\t131072\t6291456\n", "vm__swappiness": "60", "net__core__odd": "\xff1\n"}
    assert read(folder, **values, **dict.fromkeys(PASSING, "1\n")) == HostState(
        sysctls={
            "net/ipv4/tcp_rmem": "4096\t131072\t6291456",
            "vm/swappiness": "60",
            "net/core/odd": "\N{REPLACEMENT CHARACTER}1",
        },
        links=frozenset({"eth0"}),
        qdiscs={},
    )


@pytest.mark.parametrize("prints", [json.dumps(QDISCS), json.dumps(QDISCS[::-1]), ""])
def test_queueing_disciplines_are_read_by_interface(folder: Path, prints: str) -> None:
    """An interface's disciplines are sorted, since the kernel's order may differ. If tc fails, it prints no JSON."""
    program = folder / "bin/tc"
    program.write_text(f"#!/bin/sh\n[ \"$*\" = '-json qdisc show' ] && printf '%s' '{prints}'\n", encoding="ascii")
    program.chmod(0o755)
    assert read(folder).qdiscs == ({"lo": ("noqueue 0:",), "eth0": ("clsact ffff:", "netem 8001:")} if prints else {})


def test_entries_that_disappear_while_being_read_are_not_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def gone(path: Any) -> Any:
        if str(path).endswith("veth1"):
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", gone)
    found = read(folder, net__ipv4__conf__veth1__mtu="1500\n", net__ipv4__tcp_syncookies="1\n")
    assert found.sysctls == {"net/ipv4/tcp_syncookies": "1"}


def test_interfaces_that_the_engine_made_do_not_count_as_a_change(folder: Path) -> None:
    """Another user may start a container while a scenario runs. Other new interfaces, such as br-lan, are reported."""
    before = read(folder)
    for name in ("vethfbca4e1", "br-6aa6b7103714", "br-lan"):
        (folder / "links" / name).mkdir()
    assert read(folder).changes_since(before) == ["link br-lan is new"]


def state(sysctls: Mapping[str, str], qdiscs: Mapping[str, tuple[str, ...]], *links: str) -> HostState:
    return HostState(sysctls=sysctls, links=frozenset(links), qdiscs=qdiscs)


def test_changed_values_and_new_links_are_reported_but_no_other_additions_or_removals() -> None:
    """A kernel module or a link adds entries, and an entry may have been unreadable in one of the readings."""
    before = state({"vm/b": "60", "net/a": "4096", "gone": "1"}, {"eth0": ("fq_codel 0:",), "lo": ()}, "lo", "eth0")
    after = state({"vm/b": "10", "net/a": "128", "new": "1"}, {"eth0": (), "veth1": ("noqueue 0:",)}, "lo", "br-1", "a")
    assert after.changes_since(before) == [
        "sysctl net/a: '4096' became '128'",
        "sysctl vm/b: '60' became '10'",
        "link a is new",
        "link br-1 is new",
        "qdiscs of eth0: ('fq_codel 0:',) became ()",
    ]
    assert before.changes_since(before) == []
