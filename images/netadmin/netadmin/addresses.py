"""``python3 -m netadmin.addresses take|lead ADDRESS...``: IPv4 addresses that are not of the lab's own network.

One side takes them on the role's link; the other side looks for them there, as for neighbours.
"""

import sys
from collections.abc import Sequence

from .links import ROLE_LINK
from .rtnetlink import IPRoute


def take(ip: IPRoute, index: int, addresses: Sequence[str]) -> None:
    """Add addresses to an interface (its index)."""
    for address in addresses:
        ip.addr("replace", index=index, address=address, prefixlen=32)


def lead(ip: IPRoute, index: int, addresses: Sequence[str]) -> None:
    """Route addresses to an interface (its index)."""
    for address in addresses:
        ip.route("replace", dst=f"{address}/32", oif=index, scope="link")


if __name__ == "__main__":
    with IPRoute() as netlink:
        {"take": take, "lead": lead}[sys.argv[1]](netlink, netlink.link_lookup(ifname=ROLE_LINK)[0], sys.argv[2:])
