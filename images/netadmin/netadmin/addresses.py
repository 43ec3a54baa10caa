"""IPv4 addresses that are not of the lab's own network: what is sent there is led to one that is.

Their destination is replaced before they leave (nft(8), "NAT statements"): the engine's own rules for a network without
a way out drop packets to all others.
"""

import ipaddress
import subprocess
from collections.abc import Sequence
from typing import Final

from .links import ROLE_LINK
from .subnets import interface_network, unused_addresses

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


def open_entries(entries: Sequence[tuple[int, str, int]]) -> None:
    """Give this network namespace addresses of its own, and lead ports to them.

    entries: each a port of this namespace, an IPv4 address and the port there.
    Raises ValueError: one of them is no IPv4 address.
    Raises subprocess.CalledProcessError: the kernel refused.
    """
    rules = []
    for port, address, there in entries:
        place = ipaddress.IPv4Address(address)
        if not place.is_loopback:
            command = ["ip", "address", "replace", f"{place}/32", "dev", "lo"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rules.append(f"        tcp dport {int(port)} dnat to {place}:{int(there)}")
    text = _ENTRIES.format(rules="\n".join(rules))
    subprocess.run(["nft", "-f", "-"], input=text.encode(), check=True, stdout=subprocess.DEVNULL)


def add_addresses(count: int, used: Sequence[str]) -> list[str]:
    """Give the role's link further addresses of its subnet, for one machine that stands for many clients.

    Raises ValueError: there is none left.
    Raises subprocess.CalledProcessError: the kernel refused.
    """
    own = interface_network(ROLE_LINK)
    found = unused_addresses(own.network, used=(str(own.ip), *used), count=count)
    batch = "".join(f"address replace {address}/32 dev {ROLE_LINK}\n" for address in found)
    subprocess.run(["ip", "-batch", "-"], input=batch.encode(), check=True, stdout=subprocess.DEVNULL)
    return found


def lead(addresses: Sequence[str], to: str) -> None:
    """Lead what this network namespace sends to some addresses to another one.

    Raises ValueError: one of them is no IPv4 address.
    Raises subprocess.CalledProcessError: the kernel refused.
    """
    checked = [str(ipaddress.IPv4Address(address)) for address in addresses]
    rules = _RULES.format(addresses=", ".join(checked), to=ipaddress.IPv4Address(to))
    subprocess.run(["nft", "-f", "-"], input=rules.encode(), check=True, stdout=subprocess.DEVNULL)
