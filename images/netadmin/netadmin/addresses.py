"""Addresses outside the lab's own network: traffic to them is redirected to an address inside it.

IPv4 destinations are replaced before packets leave (nft(8), "NAT statements"): in a network without a route to the
outside, the engine's own rules drop packets to addresses beyond it. IPv6 traffic, which that network may not carry,
ends in this namespace.
"""

import ipaddress
import itertools
import json
import subprocess
from collections.abc import Sequence
from typing import Final

from .links import ROLE_LINK

_IPV6: Final = 6
_RULES: Final = """\
table ip tuneproof {{
    chain out {{
        type nat hook output priority -100; policy accept;
        ip daddr {{ {addresses} }} dnat to {to}
    }}
}}
"""


_ENTRIES: Final = """\
table ip tuneproof-entries {{
    chain in {{
        type nat hook prerouting priority -100; policy accept;
{rules}
    }}
}}
"""


def run(*command: str, stdin: str = "") -> None:
    """Run a command with this text on standard input; the command must succeed."""
    subprocess.run([*command], input=stdin.encode(), check=True, stdout=subprocess.DEVNULL)


def open_entries(entries: Sequence[tuple[int, str, int]]) -> None:
    """Give this namespace addresses, and redirect ports to them; an entry: a port, an IPv4 address and a port there."""
    rules = []
    for port, address, there in entries:
        place = ipaddress.IPv4Address(address)
        if not place.is_loopback:
            run("ip", "address", "replace", f"{place}/32", "dev", "lo")
        rules.append(f"        tcp dport {int(port)} dnat to {place}:{int(there)}")
    run("nft", "-f", "-", stdin=_ENTRIES.format(rules="\n".join(rules)))


def add_addresses(count: int, used: Sequence[str]) -> tuple[str, ...]:
    """Give the role's link up to this many further addresses of its subnet, so that one machine can be many clients."""
    own = interface_network(ROLE_LINK)
    found = unused_addresses(own.network, used=(str(own.ip), *used), count=count)
    run("ip", "-batch", "-", stdin="".join(f"address replace {address}/32 dev {ROLE_LINK}\n" for address in found))
    return tuple(found)


def lead_addresses(addresses: Sequence[str], to: str) -> None:
    """Redirect what this namespace sends to these addresses: IPv4 packets to ``to``, IPv6 packets to itself."""
    checked = [ipaddress.ip_address(address) for address in addresses]
    batch = "".join(f"address replace {address}/128 dev lo\n" for address in checked if address.version == _IPV6)
    run("ip", "-batch", "-", stdin=batch)
    led = ", ".join(str(address) for address in checked if address.version != _IPV6)
    if led:
        run("nft", "-f", "-", stdin=_RULES.format(addresses=led, to=ipaddress.IPv4Address(to)))


def unused_addresses(network: ipaddress.IPv4Network, *, used: Sequence[str], count: int) -> list[str]:
    """Return unused addresses of a subnet, from its top: the engine assigns the lowest ones (ValueError: none left)."""
    taken = {ipaddress.IPv4Address(address) for address in used} | {network.network_address + 1}
    # Addresses are counted as numbers, since a list of all addresses in a large subnet would be long.
    lowest, highest = int(network.network_address) + 1, int(network.broadcast_address) - 1
    downwards = (ipaddress.IPv4Address(number) for number in range(highest, lowest - 1, -1))
    found = [str(address) for address in itertools.islice((item for item in downwards if item not in taken), count)]
    if not found:
        raise ValueError(f"{network} has no address left")
    return found


def interface_network(interface: str) -> ipaddress.IPv4Interface:
    """Return an interface's IPv4 address with its subnet (OSError: there is no such interface, or no address)."""
    command = ["ip", "-json", "-4", "address", "show", "dev", interface]
    shown = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for link in json.loads(shown or "[]"):
        for address in link.get("addr_info", ()):
            return ipaddress.IPv4Interface(f"{address['local']}/{address['prefixlen']}")
    raise OSError(f"{interface} has no IPv4 address")
