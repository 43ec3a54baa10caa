"""Sysctls and listening sockets of this network namespace, and its machine."""

from collections.abc import Mapping
from pathlib import Path

from tuneproof.lab.protocol.observer import Snapshot

_SYSCTLS = (
    "net.core.somaxconn",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
)


def take(*, listener_backlogs: Mapping[int, list[int]]) -> Snapshot:
    """Return the snapshot.

    Args:
        listener_backlogs: Backlogs of the listening sockets by port, from :mod:`netadmin.listeners`.
    """
    return Snapshot(
        sysctls={name: sysctl(name) for name in _SYSCTLS},
        listener_backlogs={port: tuple(backlogs) for port, backlogs in listener_backlogs.items()},
        cpu_model=_cpu_model(Path("/proc/cpuinfo").read_text(encoding="utf-8")),
    )


def sysctl(name: str) -> str | None:
    """Return a value; None where this kernel does not show it inside a namespace."""
    path = Path("/proc/sys") / name.replace(".", "/")
    return " ".join(path.read_text(encoding="ascii").split()) if path.exists() else None


def _cpu_model(cpuinfo: str) -> str:
    """Return the first model name; on architectures without that line, the empty string."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return ""
