"""The parts of pyroute2 for sockets (sock_diag(7)): every lab lists them, but only shaped links need rtnetlink.

All of rtnetlink takes twice as long to load, on the CPU on which a lab's other containers start.
"""

from . import bare_pyroute2  # noqa: F401 - before pyroute2's own

# isort: split
from pyroute2.netlink.diag import DiagSocket

__all__ = ["DiagSocket"]
