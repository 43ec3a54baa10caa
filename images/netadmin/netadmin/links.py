"""Names of the links of a role's namespace; see plumbing.py for the picture."""

import socket
from typing import Final

ROLE_LINK: Final = "eth0"
INGRESS: Final = "ingress"
"""The ifb link that all incoming packets pass if the host's kernel shapes them; see native.py."""
UPLINK: Final = "uplink"
WIRE_LINK: Final = "wire"
ASIDE: Final = "aside"
# The role's link, and the links that change names with it when a wire joins or leaves the path.
LINKS_OF_ROLE: Final = (ROLE_LINK, UPLINK, ASIDE)


def open_link(protocol: int = 0) -> socket.socket:
    """Return a packet(7) socket of the role's link that receives one protocol's frames; 0 for none."""
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    link.bind((ROLE_LINK, protocol))
    return link


def arrives_on() -> str:
    """Return the link with the frames that the role gets: after netem, which may run in a wire."""
    return INGRESS if INGRESS in {name for _, name in socket.if_nameindex()} else ROLE_LINK
