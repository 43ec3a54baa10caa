"""Requests that are looked at one by one, over HTTP/1.1, TLS and HTTP/2. images/client/loadgen makes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tuneproof.lab.protocol.messages import Question


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Connections that do the same, at once.

    Attributes:
        connections: How many.
        at_once: How many of them may be open at a time; 0 for all.
        requests: How many on each, one after the other.
        path: What is asked for; {c} stands for the connection's number, {n} for the request's.
        method: The request's method.
        headers: Further headers.
        body_bytes: Length of the request's body.
        wait_s: How long each connection waits before it is made.
        close: Whether the last request of a connection asks for its end.
        head_bytes: How much of the first request's head is sent, and nothing more; 0 for all of it.
        hold_s: How long a connection stays open after its last answer, unless the server ends it.
        read_bytes_per_s: How fast answers are read; 0 for at once.
        receive_buffer_bytes: SO_RCVBUF (socket(7)) of each connection; 0 for the kernel's own.
        linger_s: How long its socket is kept after all that, even if the server has ended the connection.
        fast_open: Whether requests may travel in the SYN (RFC 7413), as soon as the server has given a cookie.
        tls: Whether the connections are TLS; certificates are not checked.
        timeout_s: The longest that a connection may take.
    """

    connections: int = 1
    at_once: int = 0
    requests: int = 1
    path: str = "/"
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body_bytes: int = 0
    wait_s: float = 0.0
    close: bool = False
    head_bytes: int = 0
    hold_s: float = 0.0
    read_bytes_per_s: int = 0
    receive_buffer_bytes: int = 0
    linger_s: float = 0.0
    fast_open: bool = False
    tls: bool = False
    timeout_s: float = 30.0


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer, as far as it came.

    Attributes:
        status: Its status; 0 for none.
        worker: Process id of the worker that answered, from X-Worker; 0 where that is not said.
        numbered: A stand-in's own number of the answer, "<connection>.<answer on it, from 1>", from X-Tuneproof-Answer;
            empty where none has answered.
        body_bytes: Bytes of its body that came.
        complete: Whether all of it came.
        first_byte_s: Time from the request until its head was there.
        total_s: Time until its end.
    """

    status: int
    worker: int
    numbered: str
    body_bytes: int
    complete: bool
    first_byte_s: float
    total_s: float


@dataclass(frozen=True, kw_only=True)
class Connection:
    """What became of one connection.

    Attributes:
        answers: In the order of the requests.
        error: What ended it early, as Python calls it, such as ConnectionResetError; TIMEOUT; empty for nothing.
        closed_by_server: Whether the server ended it, in order or by a reset.
        open_s: How long it was there.
    """

    answers: tuple[Answer, ...]
    error: str
    closed_by_server: bool
    open_s: float


@dataclass(frozen=True, kw_only=True)
class Exchanged:
    """What became of flows.

    Attributes:
        flows: The connections of each.
    """

    flows: tuple[tuple[Connection, ...], ...]


@dataclass(frozen=True, kw_only=True)
class RunFlows(Question[Exchanged]):
    """Run flows at once.

    Attributes:
        address: IPv4 address of the server.
        port: Its TCP port.
        flows: The flows.
        host: What is sent as Host.
        sources: IPv4 addresses of the client that connections come from, in turn; the kernel's choice without any.
    """

    address: str
    port: int
    flows: tuple[Flow, ...]
    host: str = "lab"
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TlsConnection:
    """What a TLS connection with one request took.

    Attributes:
        hellos: ClientHellos that were sent: a second one answers a HelloRetryRequest (RFC 8446, section 4.1.4).
        records: Records that were received after the handshake.
        largest_record_bytes: Length of the longest of them.
        body_bytes: What the answer had, with its head.
        resumed: Whether an earlier connection's session was gone on with.
    """

    hellos: int
    records: int
    largest_record_bytes: int
    body_bytes: int
    resumed: bool


@dataclass(frozen=True, kw_only=True)
class TlsConnected:
    """TLS connections.

    Attributes:
        connections: In the order in which they were made.
    """

    connections: tuple[TlsConnection, ...]


@dataclass(frozen=True, kw_only=True)
class TlsConnect(Question[TlsConnected]):
    """Make new TLS connections one after the other, each with one request, and forget all earlier sessions.

    Attributes:
        address: IPv4 address of the server.
        port: Its TCP port.
        count: How many.
        path: What each asks for.
        version: "1.2" or "1.3" (default: what both ends like best).
        timeout_s: The longest that a connection may be silent.
    """

    address: str
    port: int
    count: int
    path: str = "/"
    version: str = ""
    timeout_s: float = 10.0


@dataclass(frozen=True, kw_only=True)
class TlsResume(Question[TlsConnected]):
    """Try to go on with sessions of the last :class:`TlsConnect`.

    Attributes:
        address: IPv4 address of the server.
        port: Its TCP port.
        which: Numbers of those connections, from 0.
        path: What each asks for.
        timeout_s: The longest that a connection may be silent.
    """

    address: str
    port: int
    which: tuple[int, ...]
    path: str = "/"
    timeout_s: float = 10.0


@dataclass(frozen=True, kw_only=True)
class Http2Statuses:
    """Answers on one connection of HTTP/2.

    Attributes:
        statuses: In the order of their streams; 0 for none.
    """

    statuses: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Http2Streams(Question[Http2Statuses]):
    """Ask several times at once on one connection of HTTP/2.

    Attributes:
        address: IPv4 address of the server.
        port: Its TCP port.
        streams: How many times.
        path: What is asked for.
        timeout_s: The longest that the connection may be silent.
    """

    address: str
    port: int
    streams: int
    path: str = "/"
    timeout_s: float = 10.0
