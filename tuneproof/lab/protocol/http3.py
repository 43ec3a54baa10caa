"""The functions of the HTTP/3 and post-quantum TLS clients; images/http3/http3 implements them.

Each connection has its own UDP socket. A connection counts as lost after several unanswered probes in a row (RFC 9002,
section 6.2.4), not after a fixed time, since the time between probes depends on the measured round-trip time.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from tuneproof.lab.protocol.lasting import lasts

RESET: Final = "RESET"
"""The end of a connection that the server does not know, reported by a stateless reset (RFC 9000, section 10.3)."""
SILENT: Final = "SILENT"
"""The end of a connection with several unanswered probes in a row."""
STALLED: Final = "STALLED"
"""The end of a download if all downloads together take several times as long as they would one after the other."""
TIMEOUT: Final = "TIMEOUT"

# Twice the clients' time limit: once for the handshakes, and once for the requests.
_long = lasts(lambda **_: 60.0)


@dataclass(frozen=True, kw_only=True)
class Http3Connection:
    """The result of one connection."""

    statuses: tuple[int, ...]  # of the requests in their order; 0 for none
    whole: int  # number of complete responses
    body_bytes: int
    end: str  # RESET, SILENT, STALLED, TIMEOUT, "closed with error <code>", or a socket error; empty if it stayed open
    retries: int  # Retry packets received
    sent_bytes: int  # in UDP datagrams
    received_bytes: int
    round_trips: int = 0  # until the end of the last response, if they were counted


@dataclass(frozen=True, kw_only=True)
class Http3Flow:
    """Simultaneous connections that all do the same."""

    connections: int = 1
    requests: int = 1  # on each
    path: str = "/"
    at_once: bool = False  # whether a connection makes its requests at the same time; otherwise one after the other
    new_port: bool = False
    """Whether each connection continues from another UDP port after its first request, like a client behind a NAT that
    has dropped its mapping.
    """


@dataclass(frozen=True, kw_only=True)
class TlsRequest:
    """A request on a new TLS connection."""

    path: str = "/"
    post_quantum: bool = True  # whether the client offers X25519MLKEM768 with a key share, as OpenSSL 3.5 does
    mtu_bytes: int = 1500  # of the path: the client announces and keeps this limit for IPv4 packets
    pause_s: float = 0.0  # between the two halves of the ClientHello; 0 sends it at once


@dataclass(frozen=True, kw_only=True)
class TlsSeen:
    """The result of a TLS request."""

    hellos: int  # ClientHellos: a second one answers a HelloRetryRequest (RFC 8446, section 4.1.4)
    hello_bytes: int  # of the first, with the header of its record
    hello_packets: int  # data packets that carried the first ClientHello
    status: int  # of the response; 0 if the server closed or reset the connection


class Http3(Protocol):
    """``python3 -m http3``."""

    @_long
    def flow(self, address: str, port: int, flow: Http3Flow) -> tuple[Http3Connection, ...]:
        """Run a flow."""

    @_long
    def begin(self, address: str, port: int, path: str, connections: int) -> None:
        """Download a file, then start this many downloads, one per connection; read no further until :meth:`go_on`."""

    @_long
    def go_on(self) -> tuple[Http3Connection, ...]:
        """Continue each download to its end, or until its connection is lost or all stall."""

    @_long
    def round_trips(self, address: str, port: int, path: str) -> Http3Connection:
        """Count the round trips of a new connection with one request: flights that waited for an answer."""

    @_long
    def resumed_round_trips(self, address: str, port: int, path: str) -> Http3Connection:
        """Count the round trips of a connection that continues the TLS session of an earlier one.

        The request is in 0-RTT packets if the server announced that it accepts them. It is an error if the server gave
        no session.
        """

    @_long
    def forged(self, address: str, port: int, count: int, seconds: float) -> tuple[Http3Connection, ...]:
        """Send this many first datagrams of handshakes, and answer nothing, as if the addresses were forged.

        The bytes that arrive within this time are counted.
        """

    @_long
    def replay(self, address: str, port: int, path: str, method: str) -> Http3Connection:
        """Send a request in 0-RTT packets, close the connection, then send the same datagrams again from another port.

        Returns the first connection, as soon as the server has answered the replay. It is an error if there is no such
        answer.
        """

    @_long
    def curl(self, address: str, port: int, path: str, times: int) -> tuple[str, ...]:
        """Use curl, which remembers Alt-Svc; return the HTTP version of each request, such as "2" or "3"."""

    @_long
    def tls(self, address: str, port: int, asked: TlsRequest) -> TlsSeen:
        """Send a request over TCP and TLS. It is an error if this OpenSSL has no post-quantum groups."""
