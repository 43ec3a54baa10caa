"""An nginx with somebody's own configuration, and everything that its container must have besides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

CAPABILITIES: Final = ("CHOWN", "SETUID", "SETGID", "DAC_OVERRIDE", "NET_BIND_SERVICE")
"""What an nginx keeps that starts as root, as it does at home: to own its folders, to become its workers' user, and to
read and to listen where only root may."""
SOCKETS: Final = "/var/lib/tuneproof"
"""Folder of unix sockets that nginx shares with a stand-in."""


def socket_path(number: int) -> str:
    """Return the path of one of the stand-in's unix sockets."""
    return f"{SOCKETS}/{number}.sock"


@dataclass(frozen=True, kw_only=True)
class OwnNginx:
    """What is uploaded, made and started.

    Attributes:
        files: Contents by path, as they are.
        materials: Files that are made, by path: the names of materials that the stand-in's image has.
        script: Path of the script that starts nginx, among the files.
        image: Full name of its image; empty for the project's own.
        sockets: How many unix sockets a stand-in makes, at :func:`socket_path`.
        local_ports: TCP ports that a stand-in listens on beside nginx.
        local_addresses: The addresses of nginx's own machine that it does so on.
        answers_names: Whether that stand-in answers about names, too.
        addresses: IPv4 addresses that lead to the stand-in on the network.
        entries: Ports that lead to single addresses which it listens on, each with the address and port there.
        is_part: Whether the configuration is a part of one.
        told: What of all this differs from the configuration as it was given, in words.
    """

    files: Mapping[str, bytes]
    materials: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    script: str
    image: str = ""
    sockets: int = 0
    local_ports: tuple[int, ...] = ()
    local_addresses: tuple[str, ...] = ()
    answers_names: bool = False
    addresses: tuple[str, ...] = ()
    entries: Mapping[int, tuple[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    is_part: bool = False
    told: tuple[str, ...] = ()

    @property
    def needs_local_standin(self) -> bool:
        """Whether anything is passed on to nginx's own machine."""
        return bool(self.sockets or self.local_ports or self.answers_names)
