"""The native path, tried on a pair of links: both directions are shaped, and a packet is timed each way."""

import socket
import time
from collections.abc import Mapping
from typing import Any, Final

from . import native
from .rtnetlink import IPRoute

_NEAR: Final = "trial-near"
_FAR: Final = "trial-far"
# Two frames each way per turn; EtherType 0x88B5 is set aside for local experiments (IEEE 802).
_ETHER_TYPE: Final = 0x88B5
_TURNS: Final = 20
_TIMEOUT_S: Final = 1.0


def try_natively(ip: IPRoute, wanted: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Shape one end of a veth pair natively and time frames in both directions; the links are gone afterwards.

    Returns ``read_back``: what the kernel has; ``egress_ms`` and ``ingress_ms``: shortest time of a frame from one end
    of the pair to the other; whatever else a busy host does only makes it longer.
    """
    ip.link("add", ifname=_NEAR, kind="veth", peer=_FAR)
    try:
        for name in (_NEAR, _FAR):
            ip.link("set", index=ip.link_lookup(ifname=name)[0], state="up")
        read_back = native.shape(ip, _NEAR, egress=wanted["egress"], ingress=wanted["ingress"])
        return {
            "read_back": read_back,
            "egress_ms": _shortest_ms(_NEAR, _FAR),
            "ingress_ms": _shortest_ms(_FAR, _NEAR),
        }
    finally:
        ip.link("del", ifname=_NEAR)
        native.remove(ip)


def _shortest_ms(sender: str, receiver: str) -> float:
    with _socket(sender) as out, _socket(receiver) as arriving:
        return min(_once_ms(out, arriving, number) for number in range(_TURNS))


def _once_ms(out: socket.socket, arriving: socket.socket, number: int) -> float:
    frame = b"\xff" * 6 + b"\x02" + b"\0" * 5 + _ETHER_TYPE.to_bytes(2, "big") + number.to_bytes(46, "big")
    sent_s = time.monotonic()
    out.send(frame)
    while not arriving.recv(2048).startswith(frame):
        pass
    return (time.monotonic() - sent_s) * 1e3


def _socket(interface: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETHER_TYPE))
    opened.bind((interface, _ETHER_TYPE))
    opened.settimeout(_TIMEOUT_S)
    return opened
