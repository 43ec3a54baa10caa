"""``python3 -m netadmin.neighbours ADDRESS=MAC...``: fixed entries in the neighbour table of the role's link.

netem's wrong bits come after the point where an Ethernet switch would drop a frame, and hit ARP, too: a neighbour that
was learnt from such an answer is out of reach for half a minute.
"""

import sys
from typing import Any, Final

from .links import ROLE_LINK
from .rtnetlink import IPRoute

_PERMANENT: Final = 0x80
_IPV4: Final = 2


def fix(ip: IPRoute, index: int, neighbours: dict[str, str]) -> None:
    """Set MAC addresses by IPv4 address for an interface (its index), never to be asked for again."""
    for address, mac in neighbours.items():
        ip.neigh("replace", dst=address, lladdr=mac, ifindex=index, state=_PERMANENT)


def fixed(ip: IPRoute, index: int) -> dict[str, str]:
    """Return what :func:`fix` has set for an interface."""
    entries: list[Any] = list(ip.get_neighbours(family=_IPV4, ifindex=index))
    return {
        entry.get_attr("NDA_DST"): entry.get_attr("NDA_LLADDR") for entry in entries if entry["state"] == _PERMANENT
    }


if __name__ == "__main__":
    with IPRoute() as netlink:
        fix(netlink, netlink.link_lookup(ifname=ROLE_LINK)[0], dict(argument.split("=") for argument in sys.argv[1:]))
