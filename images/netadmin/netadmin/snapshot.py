"""The sysctls and listening sockets of this network namespace, and the machine that it is on."""

from collections.abc import Mapping
from pathlib import Path

from tuneproof.lab.protocol.cpus import Cpus
from tuneproof.lab.protocol.observer import Snapshot

_SYSCTLS = (
    "net.core.somaxconn",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_migrate_req",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
)


def take(*, listener_backlogs: Mapping[int, list[int]]) -> Snapshot:
    """Return the snapshot."""
    return Snapshot(
        sysctls={name: sysctl(name) for name in _SYSCTLS},
        listener_backlogs={port: tuple(backlogs) for port, backlogs in listener_backlogs.items()},
        cpu_model=_after_name(Path("/proc/cpuinfo"), "model name"),
        cpus=_cpus(),
    )


def sysctl(name: str) -> str | None:
    """Return a value; None if this kernel does not show it inside a namespace."""
    path = Path("/proc/sys") / name.replace(".", "/")
    return " ".join(path.read_text(encoding="ascii").split()) if path.exists() else None


def _cpus(devices: Path = Path("/sys/devices/system"), *, status: Path = Path("/proc/self/status")) -> Cpus:
    """Return the CPUs that this container may run on, and how the machine's CPUs are grouped."""
    nodes = [_text(path) for path in sorted(devices.glob("node/node*/cpulist"))]
    cores = {_text(path) for path in devices.glob("cpu/cpu*/topology/thread_siblings_list")}
    return Cpus(
        allowed=_after_name(status, "Cpus_allowed_list"),
        # A node may have only memory; a core with one CPU has no siblings.
        nodes=tuple(filter(None, nodes)),
        cores=tuple(sorted(core for core in cores if not core.isdecimal())),
    )


def _after_name(path: Path, wanted: str) -> str:
    """Return the first value with that name in a file of the kernel, or an empty string (arm64 has no model name)."""
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == wanted:
            return value.strip()
    return ""


def _text(path: Path) -> str:
    return path.read_text(encoding="ascii").strip()
