"""TCP sockets of this network namespace, from sock_diag(7); net/ipv4/tcp_diag.c defines the numbers."""

import socket
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from tuneproof.lab.protocol.observer import ListenerFigures, SocketCounts

# Numbers from include/net/tcp_states.h.
_ESTABLISHED: Final = 1
_TIME_WAIT: Final = 6
_LISTEN: Final = 10
NAMES: Final = (
    *("", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "UNCONN", "CLOSE-WAIT", "LAST-ACK"),
    *("LISTEN", "CLOSING", "SYN-RECV"),
)
"""ss(8)'s names of the states, by number; two states share a name."""
# The kernel takes a bit mask of them. Many ended connections are counted differently: see time_waits().
EVERY: Final = sum(1 << number for number in range(1, 12))
UNENDED: Final = EVERY & ~(1 << _TIME_WAIT)
LISTENING: Final = 1 << _LISTEN
MANY_ENDED: Final = 100
"""From this many connections on, reading their tables takes less CPU time than messages about them."""


class Diag(Protocol):
    """The part of pyroute2's DiagSocket that is used here."""

    def bind(self) -> None:
        """Make the socket ready for queries."""

    def get_sock_stats(self, *, family: int, states: int) -> Iterable[Mapping[str, Any]]:
        """Return an inet_diag_msg for every TCP socket of an address family in one of the states."""


def tcp_sockets(diag: Diag, *, states: int) -> Iterator[Mapping[str, Any]]:
    """Return the sockets of IPv4 and IPv6. A socket for both counts as IPv6, and so do its connections.

    The kernel lists them while they change: a socket that changes its state meanwhile may appear twice, or not at all.
    """
    for family in (socket.AF_INET, socket.AF_INET6):
        yield from diag.get_sock_stats(family=family, states=states)


def time_waits(tables: Iterable[str]) -> Counter[int]:
    """Return the number of connections in TIME-WAIT, by local port.

    Brief connections leave tens of thousands of them. sock_diag sends a message for each, and parsing it takes seven
    times as long as reading a line here, on a CPU that a load generator needs. For each table, the kernel walks through
    the whole machine's hash table of sockets, which takes 5 ms on a machine with 24 GiB.

    tables: the text of /proc/net/tcp and of /proc/net/tcp6 (see proc_pid_net(5)).
    """
    ports: Counter[int] = Counter()
    for table in tables:
        for line in table.splitlines()[1:]:
            _, local, _, state, _ = line.split(None, 4)
            if int(state, 16) == _TIME_WAIT:
                ports[int(local.rpartition(":")[2], 16)] += 1
    return ports


def ended(sockstat: str) -> int:
    """Return how many connections are in TIME-WAIT, from the text of /proc/net/sockstat, for both address families.

    This includes connections in FIN-WAIT-2 that no process uses any more.
    """
    words = sockstat.split()
    return int(words[words.index("tw") + 1])


def figures(sockets: Iterable[Mapping[str, Any]], *, time_waits: Mapping[int, int], port: int) -> SocketCounts:
    """Count TCP sockets; those with this local port separately."""
    listeners = []
    local: Counter[str] = Counter()
    others: Counter[str] = Counter()
    send_queue_bytes = 0
    unread_bytes = []
    for entry in sockets:
        state = entry["idiag_state"]
        if entry["idiag_sport"] != port:
            others[NAMES[state]] += 1
            if state == _ESTABLISHED:
                unread_bytes.append(entry["idiag_rqueue"])
            continue
        local[NAMES[state]] += 1
        if state == _LISTEN:
            listeners.append(ListenerFigures(queued=entry["idiag_rqueue"], backlog=entry["idiag_wqueue"]))
        elif state == _ESTABLISHED:
            send_queue_bytes += entry["idiag_wqueue"]
    for sport, count in time_waits.items():
        (local if sport == port else others)[NAMES[_TIME_WAIT]] += count
    return SocketCounts(
        listeners=tuple(listeners),
        local=dict(local),
        others=dict(others),
        send_queue_bytes=send_queue_bytes,
        unread_bytes=tuple(unread_bytes),
    )


def listener_backlogs(diag: Diag) -> dict[int, list[int]]:
    """Return the backlog of every listening TCP socket by port: sock_diag reports it as the send queue, like ss."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for entry in tcp_sockets(diag, states=LISTENING):
        found[entry["idiag_sport"]].append(entry["idiag_wqueue"])
    return found


def queued(diag: Diag, *, port: int) -> int:
    """Return how many connections wait for accept(2) on a port, for all of its listeners together."""
    listening = tcp_sockets(diag, states=LISTENING)
    return sum(int(entry["idiag_rqueue"]) for entry in listening if entry["idiag_sport"] == port)
