"""Names of the links of a role's namespace; see plumbing.py for the picture."""

import socket
from typing import Final

ROLE_LINK: Final = "eth0"
INGRESS: Final = "ingress"
"""The ifb link by way of which everything arrives where the host's kernel shapes it; see native.py."""
UPLINK: Final = "uplink"
WIRE_LINK: Final = "wire"
ASIDE: Final = "aside"
# The role's link under either name: which of them there is depends on whether a wire is led through.
LINKS_OF_ROLE: Final = (ROLE_LINK, UPLINK, ASIDE)


def arrives_on() -> str:
    """Return the link on which frames are as the role gets them: behind netem, wherever that is."""
    return INGRESS if INGRESS in {name for _, name in socket.if_nameindex()} else ROLE_LINK
