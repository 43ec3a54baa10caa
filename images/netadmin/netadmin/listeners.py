"""Listening sockets of this network namespace, through netlink."""

import socket
from collections import defaultdict

from .rtnetlink import DiagSocket

# States are a bit mask of the kernel's TCP states; TCP_LISTEN is number 10 (include/net/tcp_states.h).
_LISTEN = 1 << 10


def listener_backlogs() -> dict[int, list[int]]:
    """Return the backlog of every listening TCP socket, by port.

    For a listening socket, sock_diag(7) gives the backlog as the send queue (``ss -ltn`` shows the same).
    """
    found: defaultdict[int, list[int]] = defaultdict(list)
    with DiagSocket() as diag:
        diag.bind()
        for family in (socket.AF_INET, socket.AF_INET6):
            for entry in diag.get_sock_stats(family=family, states=_LISTEN):
                found[entry["idiag_sport"]].append(entry["idiag_wqueue"])
    return found
