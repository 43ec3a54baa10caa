"""TCP sockets of this network namespace, through sock_diag(7); what the numbers mean is in net/ipv4/tcp_diag.c."""

import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

# Numbers from include/net/tcp_states.h, names as ss(8) prints them.
STATES: Final = {
    1: "ESTAB",
    2: "SYN-SENT",
    3: "SYN-RECV",
    4: "FIN-WAIT-1",
    5: "FIN-WAIT-2",
    6: "TIME-WAIT",
    7: "UNCONN",
    8: "CLOSE-WAIT",
    9: "LAST-ACK",
    10: "LISTEN",
    11: "CLOSING",
}
_TIME_WAIT: Final = 6
# The kernel is asked with a bit mask of them. Ended connections are counted elsewhere: see time_waits().
UNENDED: Final = sum(1 << number for number in STATES if number != _TIME_WAIT)
LISTENING: Final = 1 << 10


class Diag(Protocol):
    """What is used of pyroute2's DiagSocket."""

    def bind(self) -> None:
        """Make it ready for questions."""

    def get_sock_stats(self, *, family: int, states: int) -> Iterable[Mapping[str, Any]]:
        """Return an inet_diag_msg for every TCP socket of an address family in one of the states."""


def tcp_sockets(diag: Diag, *, states: int = UNENDED) -> Iterator[Mapping[str, Any]]:
    """Return the sockets of IPv4 and IPv6. A socket that takes both is one of IPv6, and so are its connections.

    The kernel lists them while they change: one that changes its state meanwhile may come twice, or not at all.
    """
    for family in (socket.AF_INET, socket.AF_INET6):
        yield from diag.get_sock_stats(family=family, states=states)


def time_waits(tables: Iterable[str]) -> Counter[int]:
    """Return how many connections in TIME-WAIT each local port has.

    Brief connections leave tens of thousands of them. Through sock_diag each becomes a message that is taken apart,
    which takes seven times as long as reading its line here, and the CPU is one that a load generator needs.

    Args:
        tables: The text of /proc/net/tcp and of /proc/net/tcp6 (see proc_pid_net(5)).
    """
    ports: Counter[int] = Counter()
    for table in tables:
        for line in table.splitlines()[1:]:
            _, local, _, state, _ = line.split(None, 4)
            if int(state, 16) == _TIME_WAIT:
                ports[int(local.rpartition(":")[2], 16)] += 1
    return ports


def figures(sockets: Iterable[Mapping[str, Any]], *, time_waits: Mapping[int, int], port: int) -> dict[str, Any]:
    """Count sockets around a port that is listened on.

    Args:
        sockets: Those that have not ended.
        time_waits: Number of those in TIME-WAIT by local port.
        port: The port.

    Returns:
        ``listeners``: for every socket that listens on the port, how many connections wait for accept(2) (``queued``)
        and how many may (``backlog``). ``local``: number of sockets with this local port by state, listeners included;
        those that wait for accept(2) are established already. ``others``: likewise for all other sockets.
        ``send_queue_bytes``: what the established ones with this local port were given to send and is not acknowledged
        yet, on its way or not.
    """
    listeners = []
    local: Counter[str] = Counter()
    others: Counter[str] = Counter()
    send_queue_bytes = 0
    for entry in sockets:
        state = STATES[entry["idiag_state"]]
        if entry["idiag_sport"] != port:
            others[state] += 1
            continue
        local[state] += 1
        if state == "LISTEN":
            listeners.append({"queued": entry["idiag_rqueue"], "backlog": entry["idiag_wqueue"]})
        elif state == "ESTAB":
            send_queue_bytes += entry["idiag_wqueue"]
    for sport, count in time_waits.items():
        (local if sport == port else others)[STATES[_TIME_WAIT]] += count
    return {
        "listeners": listeners,
        "local": dict(local),
        "others": dict(others),
        "send_queue_bytes": send_queue_bytes,
    }


def queued(diag: Diag, *, port: int) -> int:
    """Return how many connections wait for accept(2) on a port, all of its listeners together."""
    listening = tcp_sockets(diag, states=LISTENING)
    return sum(int(entry["idiag_rqueue"]) for entry in listening if entry["idiag_sport"] == port)
