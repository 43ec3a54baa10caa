"""The parts of pyroute2 for links."""

from . import bare_pyroute2  # noqa: F401 - before pyroute2's own

# isort: split
from pyroute2.ethtool.ioctl import IoctlEthtool, NotSupportedError
from pyroute2.iproute.linux import IPRoute
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.rtnl.tcmsg.common import tick_in_usec, time2tick

__all__ = ["IPRoute", "IoctlEthtool", "NetlinkError", "NotSupportedError", "tick_in_usec", "time2tick"]
