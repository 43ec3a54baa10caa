"""What a lab must leave as it was: which readings count, and which differences are told."""

import json
import os
from collections.abc import Mapping, Sequence
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
# Counts, settings of single links, which come and go with anybody's containers, and what belongs to no lab.
PASSING = (
    *("net/netfilter/nf_conntrack_count", "net/ipv4/conf/eth0/forwarding", "net/ipv6/neigh/veth1/retrans_time_ms"),
    *("vm/drop_caches", "vm/stat_refresh", "kernel/pid_max", "fs/file-nr"),
)
BEFORE = HostState(
    sysctls={"net/core/somaxconn": "4096", "vm/swappiness": "60"},
    links=frozenset({"lo", "eth0"}),
    qdiscs={"eth0": ("fq_codel 0:",)},
)


class Host:
    """Folders in the place of /proc/sys and /sys/class/net, and the only one in which programs are found."""

    def __init__(self, folder: Path) -> None:
        self.sysctls, self.links, self.programs = (folder / name for name in ("sys", "class-net", "bin"))
        for path in (self.sysctls, self.links / "lo", self.links / "eth0", self.programs):
            path.mkdir(parents=True)

    def write(self, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            (self.sysctls / name).parent.mkdir(parents=True, exist_ok=True)
            (self.sysctls / name).write_text(value, encoding="latin-1")

    def has_tc(self, prints: str) -> None:
        """Put a tc there that prints a text, if it is asked for queueing disciplines as JSON."""
        program = self.programs / "tc"
        program.write_text(f"#!/bin/sh\n[ \"$*\" = '-json qdisc show' ] && printf '%s' '{prints}'\n", encoding="ascii")
        program.chmod(0o755)

    def read(self) -> HostState:
        return HostState.read(sysctls=self.sysctls, links=self.links)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host(tmp_path)
    monkeypatch.setenv("PATH", str(made.programs))
    return made


def test_sysctls_are_read_by_their_path_but_for_what_passes_or_cannot_be_read(host: Host) -> None:
    """What stands between several numbers stays; a byte that is no text can be compared as well."""
    host.write({"net/ipv4/tcp_rmem": "4096\t131072\t6291456\n", "vm/swappiness": "60", "net/core/odd": "\xff1\n"})
    host.write({"net/netfilter/nf_conntrack_max": "262144\n", **dict.fromkeys(PASSING, "1\n")})
    # Permissions would not keep root from reading; nothing is mapped at a process's address 0, for anybody.
    (host.sysctls / "vm" / "compact_memory").symlink_to("/proc/self/mem")
    assert host.read().sysctls == {
        "net/ipv4/tcp_rmem": "4096\t131072\t6291456",
        "vm/swappiness": "60",
        "net/core/odd": "\N{REPLACEMENT CHARACTER}1",
        "net/netfilter/nf_conntrack_max": "262144",
    }


def test_queueing_disciplines_are_read_by_interface(host: Host) -> None:
    """Kind and handle, sorted: the kernel's order may differ. Without rights, tc prints an error, and no JSON."""
    wanted = {"lo": ("noqueue 0:",), "eth0": ("clsact ffff:", "netem 8001:")}
    for prints, told in ((json.dumps(QDISCS), wanted), (json.dumps(QDISCS[::-1]), wanted), ("", {})):
        host.has_tc(prints)
        assert host.read().qdiscs == told


def test_what_a_container_does_not_see_and_what_goes_away_meanwhile_are_no_errors(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert host.read() == HostState(sysctls={}, links=frozenset({"lo", "eth0"}), qdiscs={})
    host.write({"net/ipv4/conf/veth1/mtu": "1500\n", "net/ipv4/tcp_syncookies": "1\n"})
    scandir = os.scandir

    def gone(path: Any) -> Any:
        if str(path).endswith("veth1"):
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", gone)
    assert host.read().sysctls == {"net/ipv4/tcp_syncookies": "1"}


def test_links_of_other_peoples_containers_are_no_change(host: Host) -> None:
    """Somebody starts a container while a scenario runs; a bridge of their own making is told all the same."""
    before = host.read()
    for name in ("vethfbca4e1", "br-6aa6b7103714", "br-lan"):
        (host.links / name).mkdir()
    assert host.read().changes_since(before) == ["link br-lan is new"]


@pytest.mark.parametrize(
    ("sysctls", "links", "qdiscs", "changes"),
    [
        (
            {"vm/swappiness": "10", "net/core/somaxconn": "128"},
            {"lo", "eth0", "br-1"},
            {"eth0": ()},
            [
                "sysctl net/core/somaxconn: '4096' became '128'",
                "sysctl vm/swappiness: '60' became '10'",
                "link br-1 is new",
                "qdiscs of eth0: ('fq_codel 0:',) became ()",
            ],
        ),
        # It came or went with a module of the kernel or a link, or could not be read once.
        ({"net/core/somaxconn": "4096"}, {"lo", "eth0"}, {}, []),
        ({**BEFORE.sysctls, "new": "1"}, {"lo", "eth0"}, {"eth0": ("fq_codel 0:",), "veth1": ("noqueue 0:",)}, []),
        (BEFORE.sysctls, {"lo", "veth2", "veth1"}, {}, ["link veth1 is new", "link veth2 is new"]),
    ],
    ids=["all in one order", "less than before", "more than before", "links that are new, none that went"],
)
def test_changes_are_told(
    sysctls: Mapping[str, str], links: set[str], qdiscs: Mapping[str, tuple[str, ...]], changes: Sequence[str]
) -> None:
    after = HostState(sysctls=sysctls, links=frozenset(links), qdiscs=qdiscs)
    assert after.changes_since(BEFORE) == changes
