"""An nginx with a user's own configuration, and everything else that its container needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

CAPABILITIES: Final = ("CHOWN", "SETUID", "SETGID", "DAC_OVERRIDE")
"""Capabilities of an nginx that starts as root, as in production: to change the owner of folders, to switch to its
workers' user, and to read and write where only that user may. Every port is unprivileged in the lab
(net.ipv4.ip_unprivileged_port_start)."""
MEMORY_BYTES: Final = 1 << 30
PROCESSES: Final = 512
"""Limits for each container that runs a user's files or joins one that does: several times what a configuration for a
large machine needs, and harmless for the host."""
DESCRIPTORS: Final = 16_384
"""How many files and sockets each process in these containers may have open: an engine without CAP_SYS_RESOURCE
cannot give a container more than it has itself, and 20,000 is the smallest limit seen."""
DISK_BYTES: Final = 2 << 30
"""How much free space the engine's disk may lose while such containers run."""
SOCKETS: Final = "/var/lib/tuneproof"
"""Folder of unix sockets that nginx shares with a stand-in."""


def socket_path(number: int) -> str:
    """Return the path of one of the stand-in's unix sockets."""
    return f"{SOCKETS}/{number}.sock"


@dataclass(frozen=True, kw_only=True)
class OwnNginx:
    """The files and settings of the container with a user's own nginx."""

    files: Mapping[str, bytes]  # Contents by path
    # Files that the lab adds, by path: the names of materials in the stand-in's image
    materials: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    script: str  # Path of the script that starts nginx, among the files
    image: str = ""  # Full name of its image; empty for the project's own
    sockets: int = 0  # How many unix sockets a stand-in creates, at :func:`socket_path`
    local_ports: tuple[int, ...] = ()  # TCP ports of a stand-in on nginx's own machine
    local_addresses: tuple[str, ...] = ()  # Addresses of that stand-in
    answers_names: bool = False  # Whether that stand-in is also a DNS server
    addresses: tuple[str, ...] = ()
    """Addresses that are redirected to a stand-in: IPv4 to the one on the network, IPv6 to the one on nginx's
    machine."""
    # By redirected port: the address and port that nginx listens on, for a listener on a single address
    entries: Mapping[int, tuple[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    # Whether its workers run as root: only processes with the same privileges may inspect them (ptrace(2))
    workers_are_root: bool = False
    is_part: bool = False  # Whether the files are only part of a configuration
    notes: tuple[str, ...] = ()  # How the lab's files differ from the given configuration, in words

    @property
    def needs_local_standin(self) -> bool:
        """Whether a stand-in must run on nginx's own machine."""
        return bool(self.sockets or self.local_ports or self.answers_names)
