"""The subnet of an interface, and addresses in it that nobody has."""

import fcntl
import ipaddress
import itertools
import socket
from collections.abc import Sequence
from typing import Final

# netdevice(7); the address is in the second half of struct ifreq, behind family and port.
_SIOCGIFADDR: Final = 0x8915
_SIOCGIFNETMASK: Final = 0x891B
_IFREQ_BYTES: Final = 40
_IFREQ_ADDRESS: Final = slice(20, 24)


def unused_addresses(network: ipaddress.IPv4Network, *, used: Sequence[str], count: int) -> list[str]:
    """Return addresses of a subnet that nobody has, from its top downwards: the engine gives out the lowest first.

    Raises ValueError: there is none.
    """
    taken = {ipaddress.IPv4Address(address) for address in used} | {network.network_address + 1}
    # By number: a list of all addresses of a large subnet would be long.
    lowest, highest = int(network.network_address) + 1, int(network.broadcast_address) - 1
    downwards = (ipaddress.IPv4Address(number) for number in range(highest, lowest - 1, -1))
    found = [str(address) for address in itertools.islice((item for item in downwards if item not in taken), count)]
    if not found:
        raise ValueError(f"{network} has no address left")
    return found


def interface_network(interface: str) -> ipaddress.IPv4Interface:
    """Return an interface's IPv4 address with its subnet.

    Raises OSError: there is no such interface, or it has no address.
    """
    request = interface.encode().ljust(_IFREQ_BYTES, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        address, mask = [
            socket.inet_ntoa(fcntl.ioctl(asked, what, request)[_IFREQ_ADDRESS])
            for what in (_SIOCGIFADDR, _SIOCGIFNETMASK)
        ]
    return ipaddress.IPv4Interface(f"{address}/{mask}")
