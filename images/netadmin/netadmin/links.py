"""Names of the links of a role's namespace; see plumbing.py for the picture."""

from typing import Final

ROLE_LINK: Final = "eth0"
UPLINK: Final = "uplink"
WIRE_LINK: Final = "wire"
ASIDE: Final = "aside"
# The role's link under either name: which of them there is depends on whether a wire is led through.
LINKS_OF_ROLE: Final = (ROLE_LINK, UPLINK, ASIDE)
