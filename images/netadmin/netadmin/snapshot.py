"""Sysctls, listening sockets and counters of this network namespace."""

import socket
from collections import defaultdict
from pathlib import Path
from typing import Any

from pyroute2 import DiagSocket

_SYSCTLS = (
    "net.core.somaxconn",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
# States are a bit mask of the kernel's TCP states; TCP_LISTEN is number 10 (include/net/tcp_states.h).
_LISTEN = 1 << 10


def take() -> dict[str, Any]:
    """Return the snapshot as a JSON-able object."""
    return {
        "sysctls": {name: _sysctl(name) for name in _SYSCTLS},
        "listener_backlogs": _listener_backlogs(),
        "counters": {**_counters(Path("/proc/net/netstat")), **_counters(Path("/proc/net/snmp"))},
        "cpu_model": _cpu_model(Path("/proc/cpuinfo").read_text(encoding="utf-8")),
    }


def _sysctl(name: str) -> str | None:
    """Return a value; None where this kernel does not show it inside a namespace."""
    path = Path("/proc/sys") / name.replace(".", "/")
    return " ".join(path.read_text(encoding="ascii").split()) if path.exists() else None


def _listener_backlogs() -> dict[int, list[int]]:
    """For a listening socket, sock_diag(7) gives the backlog as the send queue (``ss -ltn`` shows the same)."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    with DiagSocket() as diag:
        diag.bind()
        for family in (socket.AF_INET, socket.AF_INET6):
            for entry in diag.get_sock_stats(family=family, states=_LISTEN):
                found[entry["idiag_sport"]].append(entry["idiag_wqueue"])
    return found


def _counters(path: Path) -> dict[str, int]:
    """Both files come in pairs of lines: the names, then the values, each behind its protocol's name."""
    lines = path.read_text(encoding="ascii").splitlines()
    counters = {}
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        protocol, *columns = names.split()
        for name, value in zip(columns, values.split()[1:], strict=True):
            counters[f"{protocol}{name}".replace(":", ".")] = int(value)
    return counters


def _cpu_model(cpuinfo: str) -> str:
    """Return the first model name; on architectures without that line, the empty string."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return ""
