"""Requests with detailed results, over HTTP/1.1, TLS and HTTP/2; images/client/loadgen makes them."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


class Step(enum.StrEnum):
    """The action of a connection after its requests."""

    STAY = "stay"
    """Stay open until the flows are ended, even if the server closes the connection. Flows without STAY or REPEAT start
    once all connections with one of these steps stay open or have failed.
    """
    REPEAT = "repeat"
    """Stay open, but repeat the request until the flows are ended, and once after that. If the server announces that it
    will close the connection, or ``close`` is set, the client continues on another one; after a failed request, it
    sends no more.
    """
    ASK = "ask"
    """Send one more request, or the rest of one that has begun, and read its response; if a response has begun, only
    read its rest. The client sends even if the server has closed the connection: the request may cross the close.
    """
    AWAIT_END = "await_end"  # wait until the server closes it


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Simultaneous connections that all do the same."""

    connections: int = 1
    at_once: int = 0  # how many may be open (or, if they stay open, being opened) at a time; 0 for all
    requests: int = 1  # on each connection, one after the other
    path: str = "/"  # {c} is replaced by the connection's number, {n} by the request's
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body_bytes: int = 0
    close: bool = False  # whether the last request of a connection asks to close it
    head_bytes: int = 0  # if not 0, only this much of the first request is sent, and no further request
    then: tuple[Step, ...] = ()  # what each connection does after its requests; at the end it is reset
    read_bytes_per_s: int = 0  # 0 for at once; with STAY, this is the rate until the flows are ended
    sends_bytes_per_s: int = 0  # of its only request, in 20 parts per second; 0 for at once
    receive_buffer_bytes: int = 0  # SO_RCVBUF (socket(7)); 0 for the kernel's default
    fast_open: bool = False  # requests may be in the SYN (RFC 7413), once the server has given a cookie
    keeps_heads: bool = False  # whether the result contains the header lines of responses
    tls: bool = False  # certificates are not checked
    tls_version: str = ""  # only "1.2" or only "1.3"; empty for either
    tls_trusts_nobody: bool = False  # whether certificates are checked after all, by a client that trusts no authority
    says: str = ""  # what is sent instead of each request (Latin-1)
    proxy_protocol: bool = False
    """Whether a connection begins with a line of the PROXY protocol, version 1, with its own addresses
    (https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt, section 2.1).
    """
    timeout_s: float = 30.0  # for a connection's requests, and again for each later step and repetition; STAY has none

    @property
    def stays(self) -> bool:
        """Whether its connections stay open until the flows are ended."""
        return Step.STAY in self.then or Step.REPEAT in self.then


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One response, as far as it arrived."""

    status: int  # 0 for none
    worker: int  # process id of the worker that answered, from X-Worker; 0 if unknown
    numbered: str
    """The stand-in's number of the response, "<connection>.<response on it, from 1>", from X-Tuneproof-Answer; empty if
    no stand-in has answered.
    """
    body_bytes: int
    complete: bool
    says_close: bool  # whether it contains Connection: close
    total_s: float
    head: tuple[str, ...] = ()  # header lines as received, such as "Server: nginx"; only with ``keeps_heads``


@dataclass(frozen=True, kw_only=True)
class Connection:
    """The result of one connection."""

    answers: tuple[Answer, ...]  # in the order of the requests
    error: str  # Python's name of the error that ended it, such as ConnectionResetError, or TIMEOUT; empty for none
    closed_by_server: bool  # by FIN or by a reset
    open_s: float


@dataclass(frozen=True, kw_only=True)
class TlsConnection:
    """The costs of a TLS connection with one request."""

    hellos: int  # ClientHellos sent: a second one answers a HelloRetryRequest (RFC 8446, section 4.1.4)
    records: int  # received after the handshake
    largest_record_bytes: int
    body_bytes: int  # of the response, including its headers
    resumed: bool  # whether an earlier connection's session was resumed


@dataclass(frozen=True, kw_only=True)
class Streams:
    """Requests for responses that stay open."""

    count: int = 1  # each on its own connection
    port: int = 0  # 0 for the port of the call
    host: str = "lab"
    path: str = "/"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    tls: bool = False  # certificates are not checked
    http2: bool = False  # without TLS: "with prior knowledge" (RFC 9113, section 3.3)
    proxy_protocol: bool = False  # as in a Flow
    timeout_s: float = 10.0  # for connecting, and again for the TLS handshake


@dataclass(frozen=True, kw_only=True)
class Arrived:
    """The part of a response that has arrived."""

    status: int  # 0 for none
    body_bytes: int  # without the framing of chunks and HTTP/2; gzip is decompressed, but not over HTTP/2
    end: str
    """"complete" if the response has ended, "closed" or "reset" if its connection or stream ended before that; empty
    while it is open.
    """
