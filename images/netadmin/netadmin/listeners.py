"""Listening sockets of this network namespace, through netlink."""

from collections import defaultdict

from .rtnetlink import DiagSocket
from .sockets import LISTENING, tcp_sockets


def listener_backlogs() -> dict[int, list[int]]:
    """Return the backlog of every listening TCP socket, by port.

    For a listening socket, sock_diag(7) gives the backlog as the send queue (``ss -ltn`` shows the same).
    """
    found: defaultdict[int, list[int]] = defaultdict(list)
    with DiagSocket() as diag:
        diag.bind()
        for entry in tcp_sockets(diag, states=LISTENING):
            found[entry["idiag_sport"]].append(entry["idiag_wqueue"])
    return found
