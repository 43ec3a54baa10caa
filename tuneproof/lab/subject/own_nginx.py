"""An nginx with a user's own configuration, and everything else that its container needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

CAPABILITIES: Final = ("CHOWN", "SETUID", "SETGID", "DAC_OVERRIDE")
"""Capabilities of an nginx that starts as root, as in production: to own folders, to become its workers' user, and to
read and write where only these may. Every port is unprivileged in the lab (net.ipv4.ip_unprivileged_port_start)."""
MEMORY_BYTES: Final = 1 << 30
PROCESSES: Final = 512
"""Limits of each container that runs a user's files, or is joined to one: ten times what a configuration for a large
machine needs, and harmless for the host."""
DESCRIPTORS: Final = 16_384
"""How many files and sockets each of their processes may have open: an engine without CAP_SYS_RESOURCE cannot give a
container more than it has itself, and 20,000 is the smallest limit seen."""
DISK_BYTES: Final = 2 << 30
"""How much free space the engine's disk may lose while they run."""
SOCKETS: Final = "/var/lib/tuneproof"
"""Folder of unix sockets that nginx shares with a stand-in."""


def socket_path(number: int) -> str:
    """Return the path of one of the stand-in's unix sockets."""
    return f"{SOCKETS}/{number}.sock"


@dataclass(frozen=True, kw_only=True)
class OwnNginx:
    """The files and settings of its container."""

    files: Mapping[str, bytes]  # Contents by path
    # Files that are made, by path: the names of materials that the stand-in's image has
    materials: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    script: str  # Path of the script that starts nginx, among the files
    image: str = ""  # Full name of its image; empty for the project's own
    sockets: int = 0  # How many unix sockets a stand-in creates, at :func:`socket_path`
    local_ports: tuple[int, ...] = ()  # TCP ports of a stand-in next to nginx
    local_addresses: tuple[str, ...] = ()  # Its addresses on nginx's own machine
    answers_names: bool = False  # Whether that stand-in is also a DNS server
    addresses: tuple[str, ...] = ()
    """Addresses that are redirected to a stand-in: IPv4 to the one on the network, IPv6 to the one next to nginx."""
    # Ports that are redirected to single listening addresses, each with address and port
    entries: Mapping[int, tuple[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    # Whether its workers run as root: only processes with the same privileges may inspect them (ptrace(2), access
    # checks)
    workers_are_root: bool = False
    is_part: bool = False  # Whether the configuration is a part of one
    told: tuple[str, ...] = ()  # The differences from the given configuration, in words

    @property
    def needs_local_standin(self) -> bool:
        """Whether an upstream is on nginx's own machine."""
        return bool(self.sockets or self.local_ports or self.answers_names)
