"""What a file descriptor of a running process is: a file's path, or a socket's peer."""

import ipaddress
import re
import sys
from pathlib import Path
from typing import Final

from tuneproof.watch.workers import PROC

_SOCKET: Final = re.compile(r"socket:\[(\d+)\]")
_LISTENS: Final = "0A"


def targets(pid: int, descriptors: set[int]) -> dict[int, str]:
    """Return what descriptors of a process are; those that are closed by now are left out.

    A socket whose local port is one that the process's network namespace listens on is a client's, any other one an
    upstream's.
    """
    links: dict[int, str] = {}
    for number in descriptors:
        try:
            links[number] = str((PROC / str(pid) / "fd" / str(number)).readlink())
        except OSError:
            continue
    inodes = {number: found[1] for number, link in links.items() if (found := _SOCKET.fullmatch(link))}
    peers = _peers(PROC / str(pid) / "net", set(inodes.values())) if inodes else {}
    return {number: peers.get(inodes.get(number, ""), link) for number, link in links.items()}


def _peers(net: Path, inodes: set[str]) -> dict[str, str]:
    """Return the peers of sockets by inode: /proc/net/tcp has addresses in the machine's byte order, in hexadecimal."""
    ports: set[str] = set()
    found: dict[str, tuple[str, str]] = {}
    for table in ("tcp", "tcp6"):
        try:
            lines = (net / table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            local, remote, state, inode = fields[1], fields[2], fields[3], fields[9]
            if state == _LISTENS:
                ports.add(local.rpartition(":")[2])
            elif inode in inodes:
                found[inode] = (local.rpartition(":")[2], remote)
    return {
        inode: f"{'client' if port in ports else 'upstream'} {address(remote)}"
        for inode, (port, remote) in found.items()
    }


def address(text: str) -> str:
    """Return an address of /proc/net/tcp or tcp6 as people write it."""
    host, _, port = text.rpartition(":")
    words = [bytes.fromhex(host[at : at + 8]) for at in range(0, len(host), 8)]
    packed = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    found = ipaddress.ip_address(packed)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    shown = mapped or found
    return f"[{shown}]:{int(port, 16)}" if shown.version == 6 else f"{shown}:{int(port, 16)}"  # noqa: PLR2004 - IPv6
