"""Loads that are about connections: storms, slow readers, held ones. images/client/loadgen makes them."""

from collections.abc import Mapping
from dataclasses import dataclass

from tuneproof.lab.protocol.messages import Done, Question


@dataclass(frozen=True, kw_only=True)
class StormSeen:
    """What became of a storm. Times are milliseconds.

    Attributes:
        started_in_ms: From the first to the last connect().
        connect_ms: Of those that stood, in ascending order, each from its own connect().
        unfinished: How many did neither stand nor fail.
        failed: How many failed, by the errno's name.
    """

    started_in_ms: float
    connect_ms: tuple[float, ...]
    unfinished: int
    failed: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class StartStorm(Question[StormSeen]):
    """Begin connections as fast as possible; wait until all stood.

    A connection stands when the client's kernel says so (the handshake's second packet has come); whether the server
    ever accepts it is not looked at. All are reset at the end.

    Attributes:
        address: IPv4 address of the server.
        port: Its TCP port.
        connections: How many; each needs a file descriptor and a local port.
        wait_s: The longest wait after the first began.
    """

    address: str
    port: int
    connections: int
    wait_s: float


@dataclass(frozen=True, kw_only=True)
class StartSlowReaders(Question[Done]):
    """Ask for a file on some connections, and read a little of each per interval, while other things are done.

    A server that closes a connection while it still has data for it is seen only when it sends a reset: its FIN stands
    behind the data, in its own send buffer. So "alive" means that nothing else has been heard.

    Attributes:
        address: IPv4 address of the server.
        port: Its TCP port.
        path: Path of the file.
        count: How many connections.
        hold_s: From the beginning to the end, unless :class:`EndSlowReaders` comes before.
        interval_s: Time between two reads (default: 3 s, the article's).
        read_bytes: How much each reads at most every time (default: one byte, the article's).
        receive_buffer_bytes: SO_RCVBUF (socket(7)), which the kernel doubles; None (the default): the kernel's own
            size, which grows by itself (tcp_rmem in tcp(7)).
        trial: What is sent as X-Trial.
    """

    address: str
    port: int
    path: str
    count: int
    hold_s: float
    interval_s: float = 3.0
    read_bytes: int = 1
    receive_buffer_bytes: int | None = None
    trial: str = "slow_readers"


@dataclass(frozen=True, kw_only=True)
class SlowReadersSeen:
    """What became of slow readers.

    Attributes:
        alive: Connections open at the end.
        ended: How many the server closed.
        failed: How many never stood, by the errno's name.
        read_bytes: What was read.
        unread_bytes: What waits in the receive buffers at the end (SIOCINQ, tcp(7)), in those that the server closed,
            too.
    """

    alive: int
    ended: int
    failed: Mapping[str, int]
    read_bytes: int
    unread_bytes: int


@dataclass(frozen=True, kw_only=True)
class EndSlowReaders(Question[SlowReadersSeen]):
    """End the slow readers."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """Connections that are held.

    Attributes:
        held: Connections that are open now, with those of earlier questions.
        failed: How many of this question's were not answered in time by a 200, by the errno's name, or ``closed`` (by
            the server, before the head's end), or ``HTTP <status>``, or ``not HTTP``.
        closed_since: How many the server closed after their answer, since the last question.
        rss_bytes: The client program's memory in RAM without the kernel's part.
    """

    held: int
    failed: Mapping[str, int]
    closed_since: int
    rss_bytes: int


@dataclass(frozen=True, kw_only=True)
class Hold(Question[Held]):
    """Open further connections, at most 256 at a time, ask on each, and keep those that are answered.

    Attributes:
        address: IPv4 address of the server.
        port: Its TCP port.
        path: What is asked for.
        count: How many connections.
        timeout_s: From a connection's beginning to its answer's head (default: 10 s, which is enough for a SYN that is
            lost three times).
        trial: What is sent as X-Trial.
    """

    address: str
    port: int
    path: str
    count: int
    timeout_s: float = 10.0
    trial: str = "hold"


@dataclass(frozen=True, kw_only=True)
class Released:
    """Connections that were held.

    Attributes:
        released: How many were still open.
        closed_since: How many the server had closed since the last question.
    """

    released: int
    closed_since: int


@dataclass(frozen=True, kw_only=True)
class Release(Question[Released]):
    """Reset all connections that are held."""
