"""What lists sockets (sock_diag(7)): every lab asks for that beside each nginx, and for links only where one is shaped.

All of rtnetlink takes twice as long to load, on the CPU that a lab's other containers start on.
"""

from . import bare_pyroute2  # noqa: F401 - before pyroute2's own

# isort: split
from pyroute2.netlink.diag import DiagSocket

__all__ = ["DiagSocket"]
