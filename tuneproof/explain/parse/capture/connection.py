"""The state of one connection while its segments are read: two sides, a handshake, an HTTP/1 conversation, and its end.

Wireshark's rules decide whether a side's segments are new, repeated, out of order or probes
(tcp_analyze_sequence_number() in epan/dissectors/packet-tcp.c, described at
https://www.wireshark.org/docs/wsug_html_chunked/ChAdvTCPAnalysis.html), with the differences listed here.

- Retransmission: payload below the highest sequence number seen, and not out of order. Wireshark's kinds (fast,
  spurious, other) are one kind here. Repeated SYNs are counted separately, and repeated FINs are not counted. A segment
  with only its first byte below is new data after a probe.
- Out of order: payload below the highest sequence number seen that fills a gap in the capture, less than a round trip
  after the gap was opened (3 ms if the handshake was not seen), and before two duplicate acknowledgements ask for it. A
  retransmission cannot come that early. Wireshark does not require a gap, and measures the time from the latest new
  data, which on a busy flow is always short: it calls many retransmissions out of order. The sum of both counts is
  the same as Wireshark's.
- Duplicate acknowledgement: same acknowledgement and same window, not 0, as before, without payload, SYN, FIN or RST,
  at the next sequence number, and not an answer to a keep-alive probe.
- Window probe: one byte at the next sequence number while the peer's window is 0. Linux's probes look like
  keep-alive probes (tcp_xmit_probe_skb() in net/ipv4/tcp_output.c), and Wireshark counts them as such.
- Keep-alive probe: 0 or 1 byte at the next sequence number minus 1.
- Zero window: a window of 0, with any scale, in a segment without SYN, FIN or RST.

If a capture lacks a direction or a connection's beginning, a side's position is taken from its first segment. A packet
that was captured twice counts as a retransmission, as in Wireshark; see records.Side.suspected_copies.
"""

from dataclasses import dataclass, field
from typing import Final, Protocol

from tuneproof.explain.parse.capture.decode import ACK, FIN
from tuneproof.explain.parse.capture.durations import Durations
from tuneproof.explain.parse.capture.handshake import Handshake, seconds
from tuneproof.explain.parse.capture.http1 import begins_tls, request, response
from tuneproof.explain.parse.capture.records import FlowRecord, Peer, Side, endpoint
from tuneproof.explain.parse.capture.sequence import HALF, MASK, Gaps, is_after

UNKNOWN: Final = -1
# What to look for in the payload; see SideState.watch.
WATCH_HTTP: Final = 1
WATCH_AFTER_FIN: Final = 2

_ASKED_FOR: Final = 2
_COPY_NS: Final = 1_000_000
_NS: Final = 1e9
_SERVER_ERROR: Final = 500
# A request that crosses the close of an idle connection is reset within a round trip. A server that had the request
# for longer gave up on it, or exited.
_CROSSING_NS: Final = 200_000_000
# If the round trip is unknown; as in Wireshark.
_REORDERING_NS: Final = 3_000_000


@dataclass(kw_only=True, slots=True, eq=False)
class SideState(Side):
    """Counters and position of one side. It has slots and plain numbers, because there are millions of segments."""

    raw: bytes  # address and port, as in the segments
    flow: "FlowState" = field(init=False)
    peer: "SideState" = field(init=False)
    opening: bool = False  # whether the handshake is unfinished
    # WATCH_HTTP while payload may begin a request or a response, WATCH_AFTER_FIN once the peer has sent its FIN or RST.
    watch: int = WATCH_HTTP
    isn: int = UNKNOWN  # sequence number of the SYN
    next_seq: int = UNKNOWN  # the highest sequence number seen, plus one; UNKNOWN before the first segment
    fin_end: int = UNKNOWN  # sequence number after the FIN
    ack: int = UNKNOWN  # latest acknowledgement
    window: int = UNKNOWN
    advanced_ns: int  # time of the last new data
    last_ns: int  # time of the last segment
    gaps: Gaps | None = None
    closed: bool = False
    closed_ns: int = 0
    zero_window_ns: int = 0
    probed_at: int = UNKNOWN  # number of packets at the latest keep-alive probe
    repeated_ack: int = UNKNOWN
    repeated_acks: int = 0

    def place_syn(self, time_ns: int, seq: int, payload_bytes: int, *, repeated: bool) -> None:
        """Count and place a SYN, with the payload of TCP Fast Open (RFC 7413), if any."""
        self.packets += 1
        self.last_ns = time_ns
        if payload_bytes:
            self.payload_bytes += payload_bytes
            self.data_segments += 1
            self.retransmitted_segments += repeated
        if not repeated:
            self.isn = seq
            self.next_seq = (seq + 1 + payload_bytes) & MASK
            self.advanced_ns = time_ns

    def place_data(self, time_ns: int, seq: int, payload_bytes: int) -> bool:
        """Place payload, and tell whether any of it is new; the caller counts it in payload_bytes."""
        if self.next_seq == UNKNOWN:
            self.next_seq = seq
        ahead = (seq - self.next_seq) & MASK
        if payload_bytes == 1:
            if ahead == 0 and self.peer.closed:
                # The byte stays first in the sender's queue: it is sent again once the window opens.
                return False
            if ahead == MASK:
                self.probed_at = self.packets
                return False
        self.data_segments += 1
        if ahead >= HALF:
            return self._place_behind(time_ns, seq, payload_bytes)
        if ahead:
            self._open_gap(time_ns, seq)
        self.next_seq = (seq + payload_bytes) & MASK
        self.advanced_ns = time_ns
        return True

    def place_empty(self, time_ns: int, seq: int, flags: int) -> None:
        """Place a segment without payload that is not at the next sequence number."""
        if self.next_seq == UNKNOWN:
            self.next_seq = seq
            return
        ahead = (seq - self.next_seq) & MASK
        if ahead < HALF:
            self._open_gap(time_ns, seq)
            self.next_seq = seq
        elif ahead == MASK and not flags & FIN:
            self.probed_at = self.packets

    def place_fin(self, end: int) -> None:
        """Place a FIN, after the payload that it came with."""
        self.fin_end = end
        if self.next_seq == (end - 1) & MASK:
            self.next_seq = end

    def count_duplicate_ack(self, ack: int) -> None:
        """Count an acknowledgement that repeats the one before it."""
        if self.peer.probed_at == self.peer.packets:
            # The peer's latest segment was a keep-alive probe: this is its answer.
            return
        self.duplicate_acks += 1
        self.repeated_acks = self.repeated_acks + 1 if self.repeated_ack == ack else 1
        self.repeated_ack = ack

    def see_window(self, time_ns: int, window: int, flags: int) -> None:
        """Track a window that is or was closed."""
        if window:
            self.closed = False
            self.zero_window_ns += max(time_ns - self.closed_ns, 0)
        elif not flags & FIN:
            self.zero_windows += 1
            if not self.closed:
                self.closed = True
                self.closed_ns = time_ns
                self.zero_window_episodes += 1

    def received_seq(self) -> int:
        """Return where the data that this side sent ends: the peer may have acknowledged more than was captured."""
        return self.peer.ack if is_after(self.peer.ack, self.next_seq) else self.next_seq

    def is_incomplete(self) -> bool:
        """Tell whether the capture lacks some of this side's data that the peer acknowledged."""
        if UNKNOWN in {self.next_seq, self.peer.ack}:
            return False
        return self.received_seq() != self.next_seq or (
            self.gaps is not None and self.gaps.is_any_before(self.peer.ack)
        )

    def counts(self, end_ns: int) -> Side:
        """Return the counts; a window that did not reopen counts as closed until the end."""
        open_ns = max(end_ns - self.closed_ns, 0) if self.closed else 0
        self.zero_window_s = (self.zero_window_ns + open_ns) / _NS
        return self

    def _place_behind(self, time_ns: int, seq: int, payload_bytes: int) -> bool:
        behind = (self.next_seq - seq) & MASK
        beyond = payload_bytes > behind
        opened_ns = None if self.gaps is None else self.gaps.fill(seq, payload_bytes)
        asked_for = self.peer.repeated_acks >= _ASKED_FOR and seq == self.peer.repeated_ack == self.peer.ack
        if opened_ns is not None and not asked_for and time_ns - opened_ns < self.flow.reordering_ns():
            self.out_of_order_segments += 1
        elif behind > 1 or payload_bytes == 1:
            self.retransmitted_segments += 1
            self.resent_arrived_segments += opened_ns is None
            if payload_bytes == behind and time_ns - self.advanced_ns < _COPY_NS:
                self.suspected_copies += 1
        if beyond:
            self.next_seq = (seq + payload_bytes) & MASK
        if not beyond and opened_ns is None:
            return False
        self.advanced_ns = time_ns
        return True

    def _open_gap(self, time_ns: int, seq: int) -> None:
        if self.gaps is None:
            self.gaps = Gaps()
        self.gaps.open(self.next_seq, seq, time_ns)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """A request with the beginning of its response. Times are nanoseconds since 1970."""

    client: bytes  # address and port, as in the segments
    server: bytes
    request: str  # method and target
    request_start_ns: int  # the first segment of the request
    request_ns: int  # the last segment of the request
    first_byte_ns: int  # the first segment of its response
    by_nginx: bool  # whether the response's header names nginx
    handshake: Handshake | None
    """The connection's handshake, for its first request; None for others, or if not seen."""


class ExchangeObserver(Protocol):
    """An observer of every exchange on every flow, in the order of the capture."""

    def requested(self, server: bytes) -> None:
        """A request was sent to a server (address and port as in the segments)."""

    def answered(self, answered: Answered) -> None:
        """A response has begun."""


@dataclass(kw_only=True, slots=True)
class Conversation:
    """Requests and responses, one after the other."""

    observer: ExchangeObserver | None
    exchanges: int = 0  # requests so far
    awaiting: bool = False  # whether the latest request has no response yet
    response_times: Durations = field(default_factory=Durations)  # from a request to its response's first byte
    server_errors: int = 0  # responses with a status of 500 or above
    left_before: bool = False  # whether the client left before a response
    left_in: bool = False  # whether the client left during a response
    hung_up_ns: int | None = None  # when the server closed before the end of a response; see records.FlowRecord
    _request: str = ""
    _start_ns: int = 0
    _end_seq: int = UNKNOWN
    _asked_seq: int = UNKNOWN  # the server's position at the time of the request
    # Whether the client left when it was unknown whether the response was complete.
    _unfinished: bool = False

    def request(self, client: SideState, asked: str, time_ns: int) -> None:
        """Begin an exchange."""
        self.exchanges += 1
        self.awaiting = True
        self._request = asked
        self._start_ns = time_ns
        self._asked_seq = client.peer.next_seq
        if client.peer.fin_end != UNKNOWN or client.peer.resets:
            # The request crossed the server's FIN or RST, or the client ignored it.
            self.hung_up_ns = time_ns
        client.watch &= ~WATCH_HTTP
        client.peer.watch |= WATCH_HTTP
        if self.observer is not None:
            self.observer.requested(client.peer.raw)

    def answer(self, server: SideState, time_ns: int, seq: int, payload: bytes) -> None:
        """Look for a response in the server's data while one is pending."""
        client = server.peer
        begun = response(payload, to_head=self._request.startswith("HEAD "))
        if begun is None:
            return
        self.awaiting = False
        self._end_seq = UNKNOWN if begun.size_bytes is None else (seq + begun.size_bytes) & MASK
        self.response_times.add_ns(time_ns - client.advanced_ns)
        self.server_errors += begun.status is not None and begun.status >= _SERVER_ERROR
        server.watch &= ~WATCH_HTTP
        client.watch |= WATCH_HTTP
        if self.observer is not None:
            first = self.exchanges == 1
            self.observer.answered(
                Answered(
                    client=client.raw,
                    server=server.raw,
                    request=self._request,
                    request_start_ns=self._start_ns,
                    request_ns=client.advanced_ns,
                    first_byte_ns=time_ns,
                    by_nginx=begun.from_nginx,
                    handshake=server.flow.handshake if first else None,
                )
            )

    def client_leaves(self, server: SideState) -> None:
        """Note whether the client leaves an exchange with its FIN or RST."""
        if self.left_before or self.left_in or self.hung_up_ns is not None:
            return
        if self.awaiting:
            # The client may have acknowledged a response that the capture lacks.
            self.left_before = self._asked_seq == UNKNOWN or not is_after(server.peer.ack, self._asked_seq)
        elif self._end_seq == UNKNOWN:
            self._unfinished = True
        elif self._is_cut_short(server.received_seq()) and server.fin_end == UNKNOWN:
            self.left_in = True

    def server_leaves(self, server: SideState) -> None:
        """Note whether the server leaves an exchange with its FIN or RST."""
        has_left = self.left_before or self.left_in or self._unfinished or self.hung_up_ns is not None
        # The FIN's number shows how much of a response the capture lacks.
        end_seq = server.next_seq if server.fin_end == UNKNOWN else (server.fin_end - 1) & MASK
        is_silent = self.awaiting and end_seq == self._asked_seq
        if not has_left and (is_silent or self._is_cut_short(end_seq)):
            self.hung_up_ns = server.last_ns

    def _is_cut_short(self, at_seq: int) -> bool:
        return self._end_seq != UNKNOWN and is_after(self._end_seq, at_seq)

    def server_goes_on(self) -> None:
        """Note that the server sent new data after the client's FIN or RST."""
        self.left_in |= self._unfinished


@dataclass(kw_only=True, slots=True, eq=False)
class FlowState:
    """A connection; see records.FlowRecord."""

    client: SideState
    server: SideState
    first_ns: int
    handshake: Handshake | None  # None if the capture began later
    observer: ExchangeObserver | None
    over: bool = False  # whether it has ended, except for late segments
    gone: bool = False  # whether its record was returned
    _conversation: Conversation | None = None
    _reset_after_own_fin: Peer | None = None
    _data_after_fin_bytes: int = 0
    _server_after_fin: bool = False
    _tls: bool = False

    def __post_init__(self) -> None:
        """Join the sides."""
        self.client.peer, self.server.peer = self.server, self.client
        self.client.flow = self.server.flow = self
        self.client.opening = self.server.opening = self.handshake is not None
        if self.handshake is not None:
            # A server does not send requests; if it is unknown which side is the server, both are watched.
            self.server.watch = 0

    @property
    def last_ns(self) -> int:
        """The time of its latest segment."""
        return max(self.client.last_ns, self.server.last_ns)

    def reordering_ns(self) -> int:
        """Return how late a segment may be to count as out of order, not as lost and retransmitted: a round trip."""
        return (self.handshake.total_ns() if self.handshake is not None else None) or _REORDERING_NS

    def open_side(self, side: SideState, time_ns: int, ack: int, flags: int, payload_bytes: int) -> None:
        """Check whether a segment shows that the connection is open."""
        handshake, server = self.handshake, self.server
        if handshake is None:
            return
        if side is self.client:
            # A capture may contain one direction only; then any acknowledgement shows that the connection is open.
            covers_syn = server.isn == UNKNOWN or (ack - server.isn - 1) & MASK < HALF
            if flags & ACK and covers_syn:
                handshake.acknowledged(time_ns)
        elif payload_bytes and handshake.syn_ns is None:
            handshake.done = True
        if handshake.done:
            self.client.opening = self.server.opening = False

    def watched(self, side: SideState, time_ns: int, seq: int, ack: int, payload: bytes, payload_bytes: int) -> None:
        """Inspect new data of a watched side."""
        if side.watch & WATCH_AFTER_FIN:
            if side.peer.fin_end != UNKNOWN and (ack - side.peer.fin_end) & MASK < HALF:
                self._data_after_fin_bytes += payload_bytes
                self._server_after_fin |= side is self.server
            if side is self.server and self._conversation is not None:
                self._conversation.server_goes_on()
        if not side.watch & WATCH_HTTP:
            return
        if self._conversation is not None and self._conversation.awaiting and side is self.server:
            self._conversation.answer(side, time_ns, seq, payload)
            return
        asked = request(payload)
        if asked is None:
            self._tls |= side is self.client and begins_tls(payload)
            return
        if side is self.server:
            if self.handshake is not None or self._conversation is not None:
                return
            # Client and server were guessed wrongly.
            self.client, self.server = side, side.peer
        if self._conversation is None:
            self._conversation = Conversation(observer=self.observer)
        self._conversation.request(side, asked, time_ns)

    def fin(self, side: SideState) -> None:
        """Note a FIN that its side has placed."""
        side.peer.watch |= WATCH_AFTER_FIN
        self._leaves(side)
        self.over |= side.peer.fin_end != UNKNOWN

    def reset(self, side: SideState) -> None:
        """Note a RST."""
        peer: Peer = "client" if side is self.client else "server"
        if side.fin_end != UNKNOWN:
            self._reset_after_own_fin = self._reset_after_own_fin or peer
        handshake = self.handshake
        if handshake is not None and handshake.synack_ns is None and not handshake.done and side is self.server:
            handshake.refused = True
        side.peer.watch |= WATCH_AFTER_FIN
        self._leaves(side)
        self.over = True

    def reopen(self) -> None:
        """Continue when a SYN is repeated after a RST: that RST ended an older connection."""
        self.over = False

    def record(self, *, evicted: bool) -> FlowRecord:
        """Return the record. ``evicted``: whether it is returned before the connection's end."""
        handshake, conversation = self.handshake, self._conversation
        last_ns = self.last_ns
        values: dict[str, object] = {}
        if handshake is not None:
            values |= {
                "handshake": handshake.outcome,
                "handshake_s": seconds(handshake.total_ns()),
                "syn_to_synack_s": seconds(handshake.syn_to_synack_ns),
                "synack_to_ack_s": seconds(handshake.synack_to_ack_ns),
                "syn_retransmissions": tuple(delay_ns / _NS for delay_ns in handshake.syn_repeats_ns),
                "synack_retransmissions": tuple(delay_ns / _NS for delay_ns in handshake.synack_repeats_ns),
            }
        # Without the server's direction, every client seems to leave before its response.
        if conversation is not None and self.server.packets:
            values |= {
                "exchanges": conversation.exchanges,
                "response_times": conversation.response_times,
                "server_errors": conversation.server_errors,
                "client_left_before_response": conversation.left_before or conversation.left_in,
                "client_left_in_response": conversation.left_in,
                "hung_up_ns": conversation.hung_up_ns,
                "hung_up_reused": conversation.awaiting
                and conversation.exchanges > 1
                and conversation.hung_up_ns is not None
                and conversation.hung_up_ns - self.client.advanced_ns <= _CROSSING_NS,
            }
        return FlowRecord(
            client=endpoint(self.client.raw),
            server=endpoint(self.server.raw),
            first_ns=self.first_ns,
            duration_s=max(last_ns - self.first_ns, 0) / _NS,
            from_client=self.client.counts(last_ns),
            from_server=self.server.counts(last_ns),
            reset_after_own_fin=self._reset_after_own_fin,
            data_after_peer_fin_acked_bytes=self._data_after_fin_bytes,
            served_gone_client=self._server_after_fin and self._reset_after_own_fin == "client",
            tls=self._tls,
            incomplete=self.client.is_incomplete() or self.server.is_incomplete(),
            evicted=evicted,
            **values,  # type: ignore[arg-type]  # each by its name in FlowRecord
        )

    def take_apart(self) -> None:
        """Break the reference cycle, so that memory is freed at once; the object is unusable afterwards."""
        for side in (self.client, self.server):
            del side.peer, side.flow

    def _leaves(self, side: SideState) -> None:
        if self._conversation is not None and side is self.client:
            self._conversation.client_leaves(self.server)
        elif self._conversation is not None:
            self._conversation.server_leaves(self.server)
