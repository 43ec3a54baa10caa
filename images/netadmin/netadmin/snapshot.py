"""Sysctls, listening sockets and counters of this network namespace, and counters of its machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def take(*, listener_backlogs: Mapping[int, list[int]]) -> dict[str, Any]:
    """Return the snapshot as a JSON-able object.

    Args:
        listener_backlogs: Backlogs of the listening sockets by port, from :mod:`netadmin.listeners`.
    """
    return {
        "sysctls": {name: sysctl(name) for name in _SYSCTLS},
        "listener_backlogs": dict(listener_backlogs),
        "counters": network_counters(),
        "cpu_model": _cpu_model(Path("/proc/cpuinfo").read_text(encoding="utf-8")),
    }


def network_counters() -> dict[str, int]:
    """Return the counters of this network namespace, such as "TcpExt.ListenDrops"; see proc_pid_net(5)."""
    return {**_counters(Path("/proc/net/netstat")), **_counters(Path("/proc/net/snmp"))}


def softnet() -> list[dict[str, int]]:
    """Return what each CPU did with packets that were received, on the whole machine and not in this namespace only.

    Returns:
        For every CPU that is online, since the machine's start, as 32-bit counters: packets ``processed``, ``dropped``
        because its backlog was full (net.core.netdev_max_backlog), and how often it stopped with work left over
        (``squeezed``, net.core.netdev_budget); softnet_seq_show in net/core/net-procfs.c.
    """
    return _softnet(Path("/proc/net/softnet_stat").read_text(encoding="ascii"))


def _softnet(text: str) -> list[dict[str, int]]:
    rows = []
    for line in text.splitlines():
        # Hexadecimal, and more columns with every kernel.
        processed, dropped, squeezed = (int(column, 16) for column in line.split()[:3])
        rows.append({"processed": processed, "dropped": dropped, "squeezed": squeezed})
    return rows


def sysctl(name: str) -> str | None:
    """Return a value; None where this kernel does not show it inside a namespace."""
    path = Path("/proc/sys") / name.replace(".", "/")
    return " ".join(path.read_text(encoding="ascii").split()) if path.exists() else None


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
