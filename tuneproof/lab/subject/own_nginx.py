"""An nginx with somebody's own configuration, and everything else that its container must have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

CAPABILITIES: Final = ("CHOWN", "SETUID", "SETGID", "DAC_OVERRIDE")
"""Capabilities of an nginx that starts as root, as in production: to own folders, to become its workers' user, and to
read and write where only these may. Every port is unprivileged in the lab (net.ipv4.ip_unprivileged_port_start)."""
MEMORY_BYTES: Final = 1 << 30
PROCESSES: Final = 512
"""Limits of each container that runs a user's files, or is joined to one that does: ten times what a configuration
for a large machine takes here, and little enough for the host."""
DESCRIPTORS: Final = 16_384
"""How many files and sockets each of their processes may have open: an engine without CAP_SYS_RESOURCE cannot give a
container more than it has itself, and 20,000 is the least that was seen."""
DISK_BYTES: Final = 2 << 30
"""How much free space the engine's disk may lose while they run."""
SOCKETS: Final = "/var/lib/tuneproof"
"""Folder of unix sockets that nginx shares with a stand-in."""


def socket_path(number: int) -> str:
    """Return the path of one of the stand-in's unix sockets."""
    return f"{SOCKETS}/{number}.sock"


@dataclass(frozen=True, kw_only=True)
class OwnNginx:
    """What is uploaded, made and started."""

    files: Mapping[str, bytes]  # Contents by path, as they are
    # Files that are made, by path: the names of materials that the stand-in's image has
    materials: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    script: str  # Path of the script that starts nginx, among the files
    image: str = ""  # Full name of its image; empty for the project's own
    sockets: int = 0  # How many unix sockets a stand-in makes, at :func:`socket_path`
    local_ports: tuple[int, ...] = ()  # TCP ports that a stand-in listens on beside nginx
    local_addresses: tuple[str, ...] = ()  # The addresses of nginx's own machine that it does so on
    answers_names: bool = False  # Whether that stand-in answers about names, too
    addresses: tuple[str, ...] = ()
    """Addresses that lead to a stand-in: of IPv4, to that on the network; of IPv6, to that beside nginx."""
    # Ports that lead to single addresses which it listens on, each with the address and port there
    entries: Mapping[int, tuple[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    # Whether its workers run as root: only who may do as much as they may look at them (ptrace(2), access checks)
    workers_are_root: bool = False
    is_part: bool = False  # Whether the configuration is a part of one
    told: tuple[str, ...] = ()  # What of all this differs from the configuration as it was given, in words

    @property
    def needs_local_standin(self) -> bool:
        """Whether an upstream is on nginx's own machine."""
        return bool(self.sockets or self.local_ports or self.answers_names)
