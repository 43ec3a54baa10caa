"""Finds QUIC connections in a capture by their long headers: everything after these is encrypted.

A long header names the version and both connection IDs (RFC 8999, 5.1), and in known versions the packet's type (RFC
9000, 17.2; RFC 9369, 3.2). A client begins with Initial packets in datagrams of at least 1200 bytes, to a connection ID
of at least 8 bytes (RFC 9000, 14.1 and 7.2), and then uses the connection ID that the server chose. So a client that
changes the ID, or sends packets that need keys, has received the server's packets, even if the capture lacks that
direction. When and why a connection ends cannot be seen.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tuneproof.explain.parse.capture.records import Endpoint, endpoint

LIVE_CONNECTIONS: Final = 20_000
"""The maximum number of connections to track, the latest ones; each takes about half a KiB."""
FLIGHTS: Final = 3
"""A client that sends its Initial this often, in half a second or more, gets no answer. Fewer Initials show nothing:
the capture may have ended, or a packet may be lost. Timers begin at 0.3 to 1 s, and double (RFC 9002, 6.2)."""

_SERVICES: Final = 64
# The limit on servers while reading: a scan of all addresses must not use unlimited memory.
_FOLLOWED: Final = 1024
_LONG: Final = 0x80
_FIXED: Final = 0x40
_V1: Final = 1
_V2: Final = 0x6B33_43CF
_DRAFTS: Final = 0xFF_0000  # the versions of IETF drafts, without their last byte
_TYPES_AT: Final = 4  # bits
_INITIAL, _ZERO_RTT, _HANDSHAKE, _RETRY = "Initial", "0-RTT", "Handshake", "Retry"
_NEGOTIATION, _UNKNOWN = "Version Negotiation", "unknown"
_V1_TYPES: Final = (_INITIAL, _ZERO_RTT, _HANDSHAKE, _RETRY)
_V2_TYPES: Final = (_RETRY, _INITIAL, _ZERO_RTT, _HANDSHAKE)
_IDS_AT: Final = 5
_MOST_ID_BYTES: Final = 20
_LEAST_ID_BYTES: Final = 8
_LEAST_BYTES: Final = 1200
_PRIVILEGED: Final = 1024
# A flight's packets leave together; a client's shortest timer is several times this.
_FLIGHT_NS: Final = 50_000_000
_WAITED_NS: Final = 500_000_000
# The longest pause between two Initials is 32 s; what comes later is another connection on the same ports.
_IDLE_NS: Final = 60_000_000_000


@dataclass(frozen=True, kw_only=True)
class QuicService:
    """The QUIC connections of one service, that is one address and UDP port of a server."""

    server: Endpoint
    connections: int = 0  # connections with an Initial packet or a Version Negotiation
    established: int = 0  # connections with client packets that need the handshake's keys
    answered: int = 0  # established ones, and others with an answer other than Retry or Version Negotiation
    retried: int = 0  # connections to which the server sent a Retry
    negotiated: int = 0  # connections with a Version Negotiation: the server does not support the client's version
    unanswered: int = 0  # connections with FLIGHTS Initials or an ICMP error, and without any answer
    unreachable: int = 0  # unanswered ones for which ICMP reported the port or the host as unreachable
    unanswered_after_retry: int = 0  # connections with FLIGHTS Initials after a Retry, or an ICMP error, and no answer


class _Header(NamedTuple):
    kind: str
    is_fixed: bool
    destination_id: bytes
    source_id: bytes


def _long_header(payload: bytes) -> _Header | None:
    """Return the header at the beginning of a datagram; None if there is none, or if it is truncated."""
    if len(payload) < _IDS_AT + 2 or not payload[0] & _LONG:
        return None
    version = int.from_bytes(payload[1:_IDS_AT])
    destination_bytes = payload[_IDS_AT]
    source_at = _IDS_AT + 1 + destination_bytes
    if destination_bytes > _MOST_ID_BYTES or len(payload) <= source_at or payload[source_at] > _MOST_ID_BYTES:
        return None
    end = source_at + 1 + payload[source_at]
    if len(payload) < end:
        return None
    is_v1 = version == _V1 or version >> 8 == _DRAFTS
    kind = _UNKNOWN if version else _NEGOTIATION
    if is_v1 or version == _V2:
        kind = (_V1_TYPES if is_v1 else _V2_TYPES)[payload[0] >> _TYPES_AT & 3]
    return _Header(kind, bool(payload[0] & _FIXED), payload[_IDS_AT + 1 : source_at], payload[source_at + 1 : end])


@dataclass(kw_only=True, slots=True, eq=False)
class _Connection:
    server: bytes
    first_id: bytes  # the connection ID that the client made up for the server
    client_id: bytes
    is_known: bool  # whether its version is a known one; if not, this may not be QUIC
    waits_since_ns: int
    last_ns: int
    flights: int = 1  # flights of Initial packets, since the beginning or the Retry
    knows_server_id: bool = False  # whether the client knows the server's connection ID
    answered: bool = False
    established: bool = False
    retried: bool = False
    negotiated: bool = False
    unreachable: bool = False

    def is_followed_by(self, header: _Header, time_ns: int) -> bool:
        """Tell whether an Initial on the same ports begins another connection."""
        return header.source_id != self.client_id or time_ns - self.last_ns >= _IDLE_NS

    def sends(self, header: _Header | None, time_ns: int) -> None:
        """Add a datagram from the client."""
        if header is None or header.kind == _HANDSHAKE:
            self.established = True
        elif header.kind in {_INITIAL, _UNKNOWN}:
            # After a Version Negotiation, a client may continue with a known version.
            self.is_known = self.is_known or header.kind == _INITIAL
            self.knows_server_id = self.knows_server_id or header.destination_id != self.first_id
            self.flights += time_ns - self.last_ns >= _FLIGHT_NS
        self.last_ns = time_ns

    def receives(self, header: _Header | None, time_ns: int) -> None:
        """Add a datagram from the server."""
        if header is not None and header.kind == _NEGOTIATION:
            ids = (header.destination_id, header.source_id)
            self.negotiated = self.negotiated or ids == (self.client_id, self.first_id)
        elif header is not None and header.kind == _RETRY:
            if not self.retried:
                # The client's next Initial begins a new series, however soon it comes.
                self.flights, self.waits_since_ns, self.last_ns = 0, time_ns, time_ns - _FLIGHT_NS
            self.retried = True
        else:
            self.answered = True

    def counts(self) -> dict[str, bool]:
        """Return whether this connection adds to each count of its service, by the count's name."""
        answered = self.answered or self.established or (self.knows_server_id and not self.retried)
        waited = self.flights >= FLIGHTS and self.last_ns - self.waits_since_ns >= _WAITED_NS
        silent = (waited or self.unreachable) and not answered and not self.negotiated
        return {
            "connections": self.is_known or self.negotiated,
            "established": self.established and self.is_known,
            "answered": answered and self.is_known,
            "retried": self.retried and self.is_known,
            "negotiated": self.negotiated,
            "unanswered": silent and self.is_known and not self.retried,
            "unreachable": silent and self.is_known and not self.retried and self.unreachable,
            "unanswered_after_retry": silent and self.is_known and self.retried,
        }


@dataclass(kw_only=True)
class QuicReader:
    """Finds the QUIC connections among UDP datagrams, in one pass and bounded memory."""

    live_connections: int = LIVE_CONNECTIONS
    datagrams: int = 0  # QUIC datagrams
    _live: dict[bytes, _Connection] = field(default_factory=dict)  # by the client's end and the server's, oldest first
    _totals: dict[bytes, Counter[str]] = field(default_factory=dict)  # by server

    def add(self, time_ns: int, source: bytes, destination: bytes, payload_bytes: int, payload: bytes) -> bool:
        """Add the captured part of a datagram; return whether it is QUIC.

        ``source``, ``destination``: 4 or 16 bytes of address, 2 of port.
        ``payload_bytes``: the payload's length on the wire.
        """
        is_quic = self._add(time_ns, source, destination, payload_bytes, payload)
        self.datagrams += is_quic
        return is_quic

    def _add(self, time_ns: int, source: bytes, destination: bytes, payload_bytes: int, payload: bytes) -> bool:
        if not payload:
            return False
        header = _long_header(payload)
        known = self._live.get(destination + source)
        if known is not None:
            known.receives(header, time_ns)
            return known.is_known or known.negotiated
        known = self._live.get(source + destination)
        if header is not None and _begins(header, payload_bytes, source, destination):
            if known is None or known.is_followed_by(header, time_ns):
                self._open(source, destination, header, time_ns)
                return header.kind == _INITIAL
        elif known is None:
            return False
        if header is None and payload[0] & _LONG:
            # Truncated inside its header: it may use the server's own connection ID.
            known.knows_server_id = True
        else:
            known.sends(header, time_ns)
        return known.is_known

    def unreachable(self, source: bytes, destination: bytes) -> None:
        """Record an ICMP report of an undeliverable datagram between these ends."""
        known = self._live.get(source + destination)
        if known is not None:
            known.unreachable = True

    def services(self) -> tuple[QuicService, ...]:
        """Return the services seen so far, most connections first, 64 at most."""
        for connection in self._live.values():
            self._count(connection)
        self._live.clear()
        return tuple(QuicService(server=endpoint(server), **counts) for server, counts in self._busiest(_SERVICES))

    def _busiest(self, most: int) -> list[tuple[bytes, Counter[str]]]:
        return sorted(self._totals.items(), key=lambda item: -item[1]["connections"])[:most]

    def _open(self, source: bytes, destination: bytes, header: _Header, time_ns: int) -> None:
        before = self._live.pop(source + destination, None)
        if before is None and len(self._live) >= self.live_connections:
            before = self._live.pop(next(iter(self._live)))
        if before is not None:
            self._count(before)
        self._live[source + destination] = _Connection(
            server=destination,
            first_id=header.destination_id,
            client_id=header.source_id,
            is_known=header.kind == _INITIAL,
            waits_since_ns=time_ns,
            last_ns=time_ns,
        )

    def _count(self, connection: _Connection) -> None:
        counts = connection.counts()
        if not counts["connections"]:
            return
        if connection.server not in self._totals and len(self._totals) >= _FOLLOWED:
            self._totals = dict(self._busiest(_FOLLOWED // 2))
        totals = self._totals.setdefault(connection.server, Counter())
        for name, applies in counts.items():
            totals[name] += applies


def _begins(header: _Header, payload_bytes: int, source: bytes, destination: bytes) -> bool:
    """Tell whether a datagram may be a client's first."""
    # If the capture began during a handshake, the server's Initial may come first.
    is_servers = int.from_bytes(source[-2:]) < _PRIVILEGED <= int.from_bytes(destination[-2:])
    is_first = header.kind == _UNKNOWN or (header.kind == _INITIAL and header.is_fixed)
    is_long = payload_bytes >= _LEAST_BYTES and len(header.destination_id) >= _LEAST_ID_BYTES
    return is_first and is_long and not is_servers
