"""Shapes a link natively, as on a host with netem, times frames on it, and prints the results.

Each argument contains the impairments of both directions, as JSON in hexadecimal. The program prints one line of JSON
for each.
"""

import ctypes
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

sys.path.insert(0, "/opt/netadmin")

from netadmin import guest

_NEAR: Final = "trial-near"
_FAR: Final = "trial-far"
# EtherType 0x88B5 is reserved for local experiments (IEEE 802).
_ETHER_TYPE: Final = 0x88B5
_FRAMES: Final = 20
_POWER_OFF: Final = 0x4321FEDC


def tried(wanted: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Return why shaping is impossible, the settings read back, and the shortest time in ms of 20 frames each way."""
    from netadmin import native  # noqa: PLC0415 - netlink needs /proc and the modules
    from netadmin.rtnetlink import IPRoute  # noqa: PLC0415

    with IPRoute() as ip:
        impossible = native.why_impossible()
        ip.link("add", ifname=_NEAR, kind="veth", peer=_FAR)
        try:
            for name in (_NEAR, _FAR):
                ip.link("set", index=ip.link_lookup(ifname=name)[0], state="up")
            read_back = native.shape(_NEAR, wanted)
            times_ms = {"egress": _shortest_ms(_NEAR, _FAR), "ingress": _shortest_ms(_FAR, _NEAR)}
        finally:
            ip.link("del", ifname=_NEAR)
            for index in ip.link_lookup(ifname="ingress"):
                ip.link("del", index=index)
    return {"impossible": impossible, "read_back": read_back, "times_ms": times_ms}


def _shortest_ms(sender: str, receiver: str) -> float:
    with _socket(sender) as out, _socket(receiver) as arriving:
        return min(_once_ms(out, arriving, number) for number in range(_FRAMES))


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
    opened.settimeout(10)
    return opened


if __name__ == "__main__":
    try:
        guest.mount("proc", "/proc")
        guest.mount("sysfs", "/sys")
        guest.load((*guest.MODULES, "drivers/net/ifb", "drivers/net/veth"))
        for argument in sys.argv[1:]:
            sys.stdout.write(f"\n{json.dumps(tried(json.loads(bytes.fromhex(argument))))}\n")
            sys.stdout.flush()
    finally:
        ctypes.CDLL(None).reboot(_POWER_OFF)
        os._exit(0)
