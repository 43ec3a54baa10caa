"""The parts of pyroute2 that are used here, without the package's own imports.

``import pyroute2`` loads every module that it ships, and asyncio, unittest and an HTTP server with them: a sixth of a
second and ten megabytes natively, and several times that inside a user-mode kernel. The package's folder alone is
enough to find single modules in it.
"""

import importlib.util
import sys


def _enter_without_running(package: str) -> None:
    spec = importlib.util.find_spec(package)
    if package not in sys.modules and spec is not None:
        sys.modules[package] = importlib.util.module_from_spec(spec)


_enter_without_running("pyroute2")
_enter_without_running("pyroute2.ethtool")

# After the two lines above, or they would come too late.
from pyroute2.ethtool.ioctl import IoctlEthtool, NotSupportedError  # noqa: E402
from pyroute2.iproute.linux import IPRoute  # noqa: E402
from pyroute2.netlink.diag import DiagSocket  # noqa: E402
from pyroute2.netlink.exceptions import NetlinkError  # noqa: E402
from pyroute2.netlink.rtnl.tcmsg.common import tick_in_usec, time2tick  # noqa: E402

__all__ = ["DiagSocket", "IPRoute", "IoctlEthtool", "NetlinkError", "NotSupportedError", "tick_in_usec", "time2tick"]
