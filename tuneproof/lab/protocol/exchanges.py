"""Requests that are looked at one by one, over HTTP/1.1, TLS and HTTP/2. images/client/loadgen makes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Connections that do the same, at once."""

    connections: int = 1
    at_once: int = 0  # how many of them may be open, or on their way where they stay, at a time; 0 for all
    requests: int = 1  # on each, one after the other
    path: str = "/"  # {c} stands for the connection's number, {n} for the request's
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body_bytes: int = 0
    close: bool = False  # whether the last request of a connection asks for its end
    head_bytes: int = 0  # how much of the first request's head is sent, and nothing more; 0 for all of it
    stays: bool = False
    """Whether each connection, once it has been answered, stays until all flows have come to their end, even if the
    server has closed it; then it is reset. With ``head_bytes`` it stays once it has sent them; with
    ``read_bytes_per_s``, once its answer has begun. Other flows begin when all that stay do so, or have failed."""
    goes_on: bool = False
    """Whether a connection that stays goes on with what it was in the middle of when all flows have come to their end,
    instead of being reset: it sends the rest of its request and hears the answer, or hears the rest of its answer, or
    asks once more, whether or not the server has closed it: the request may cross the close on its way."""
    asks_on: bool = False
    """Whether a connection that stays asks again and again, until all flows have come to their end and once after that.
    Where the server says that it will close it, or ``close`` asks for that, its client takes another one; where a
    request is lost, its client asks no more."""
    awaits_end: bool = False  # whether a connection waits after its last answer until the server ends it
    read_bytes_per_s: int = 0  # 0 for at once
    receive_buffer_bytes: int = 0  # SO_RCVBUF (socket(7)); 0 for the kernel's own
    fast_open: bool = False  # requests may travel in the SYN (RFC 7413), as soon as the server has given a cookie
    keeps_heads: bool = False  # whether the header lines of answers are told, too
    tls: bool = False  # certificates are not checked
    tls_version: str = ""  # "1.2" or "1.3", and no other
    tls_trusts_nobody: bool = False  # whether they are checked after all, by a client that knows no authority
    says: str = ""  # what is sent instead of each request (Latin-1)
    proxy_protocol: bool = False
    """Whether a connection begins with its own addresses, as a load balancer tells a client's
    (https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt, section 2.1)."""
    timeout_s: float = 30.0  # the longest that a connection may take


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer, as far as it came."""

    status: int  # 0 for none
    worker: int  # process id of the worker that answered, from X-Worker; 0 where that is not said
    numbered: str
    """A stand-in's own number of the answer, "<connection>.<answer on it, from 1>", from X-Tuneproof-Answer; empty
    where none has answered."""
    body_bytes: int
    complete: bool
    says_close: bool  # whether it says that the server will close the connection (Connection: close)
    total_s: float
    head: tuple[str, ...] = ()  # header lines as they came, such as "Server: nginx"; none unless they are kept


@dataclass(frozen=True, kw_only=True)
class Connection:
    """What became of one connection."""

    answers: tuple[Answer, ...]  # in the order of the requests
    error: str  # what ended it early, as Python calls it, such as ConnectionResetError; TIMEOUT; empty for nothing
    closed_by_server: bool  # in order or by a reset
    open_s: float


@dataclass(frozen=True, kw_only=True)
class TlsConnection:
    """What a TLS connection with one request took."""

    hellos: int  # ClientHellos sent: a second one answers a HelloRetryRequest (RFC 8446, section 4.1.4)
    records: int  # received after the handshake
    largest_record_bytes: int
    body_bytes: int  # with the answer's head
    resumed: bool  # whether an earlier connection's session was gone on with


@dataclass(frozen=True, kw_only=True)
class Streams:
    """Requests whose responses stay open."""

    count: int = 1  # each on a connection of its own
    port: int = 0  # 0 for that of all others
    host: str = "lab"
    path: str = "/"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    tls: bool = False  # certificates are not checked
    http2: bool = False  # without TLS: "with prior knowledge" (RFC 9113, section 3.3)
    proxy_protocol: bool = False  # as in a Flow
    timeout_s: float = 10.0  # the longest that a connection and its handshake may take


@dataclass(frozen=True, kw_only=True)
class Arrived:
    """What has arrived of a response."""

    status: int  # 0 for none
    body_bytes: int  # without what chunks, frames and compression add
    end: str
    """"whole" where the response has come to its end, "closed" or "reset" where its connection or stream did so before;
    empty while it is open."""
