"""HTTP/3 clients, each with its own socket, so that every datagram can be counted, delayed, or sent again."""

import selectors
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Final

from aioquic.buffer import Buffer
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted
from aioquic.quic.packet import QuicPacketType, pull_quic_header
from aioquic.tls import SessionTicket

from tuneproof.lab.protocol.http3 import RESET, SILENT, TIMEOUT, Http3Connection

_DATAGRAM_BYTES: Final = 65536
_TOKEN_BYTES: Final = 16  # of a stateless reset (RFC 9000, section 10.3)
_RECEIVE_BUFFER_BYTES: Final = 4_000_000
_ID_BYTES: Final = 8  # of aioquic's connection ids
_LONG: Final = 0x80  # the first bit of packets with a long header
# Pauses double, so that four of them take 15 times as long as the first.
_PROBES: Final = 4


class Client:
    """One HTTP/3 connection."""

    def __init__(self, server: tuple[str, int], *, ticket: SessionTicket | None = None) -> None:
        self._server = server
        self.tickets: list[SessionTicket] = []
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=H3_ALPN,
            server_name="lab",
            verify_mode=ssl.CERT_NONE,
            session_ticket=ticket,
            # The client's flow control never makes the server wait.
            max_data=2**30,
            max_stream_data=2**30,
        )
        self.quic = QuicConnection(configuration=configuration, session_ticket_handler=self.tickets.append)
        self._http = H3Connection(self.quic)
        self.socket = self._new_socket()
        self._statuses: dict[int, int] = {}  # by stream
        self._whole: set[int] = set()  # streams with a complete response
        self.body_bytes = 0
        self.is_up = False
        self.end = ""
        self._retries = 0
        self._sent_bytes = 0
        self._received_bytes = 0

    def connect(self) -> None:
        """Make the first flight, which :meth:`send` sends."""
        self.quic.connect(self._server, now=time.monotonic())

    def ask(self, path: str, *, method: str = "GET") -> None:
        """Request a path on a new stream; before the handshake is complete, in 0-RTT packets if there is a ticket."""
        stream = self.quic.get_next_available_stream_id()
        head = {":method": method, ":scheme": "https", ":authority": "lab", ":path": path}
        self._statuses[stream] = 0
        self._http.send_headers(stream, [(k.encode(), v.encode()) for k, v in head.items()], end_stream=True)

    def flight(self) -> list[bytes]:
        """Return the datagrams that are due."""
        return [data for data, _ in self.quic.datagrams_to_send(now=time.monotonic())]

    def send(self, flight: Sequence[bytes] | None = None) -> None:
        """Send what is due, or these datagrams."""
        for data in self.flight() if flight is None else flight:
            self._sent_bytes += len(data)
            try:
                self.socket.send(data)
            except OSError as error:
                self.end = self.end or type(error).__name__

    def receive(self) -> int:
        """Process the datagrams that have arrived; return their number."""
        taken = 0
        while not self.end:
            try:
                data = self.socket.recv(_DATAGRAM_BYTES)
            except BlockingIOError:
                break
            except OSError as error:
                self.end = type(error).__name__
                break
            taken += 1
            self._take(data)
        return taken

    def count(self) -> int:
        """Read what has arrived without processing it; return how many bytes have arrived in total."""
        while True:
            try:
                self._received_bytes += len(self.socket.recv(_DATAGRAM_BYTES))
            except OSError:
                return self._received_bytes

    def _take(self, data: bytes) -> None:
        self._received_bytes += len(data)
        if self._is_reset(data):
            self.end = RESET
            return
        if data[0] & _LONG:
            header = pull_quic_header(Buffer(data=data), host_cid_length=_ID_BYTES)
            self._retries += header.packet_type == QuicPacketType.RETRY
        self.quic.receive_datagram(data, self._server, now=time.monotonic())
        while (event := self.quic.next_event()) is not None:
            self.is_up |= isinstance(event, HandshakeCompleted)
            if isinstance(event, ConnectionTerminated):
                self.end = self.end or f"closed with error {event.error_code:#x}"
            for each in self._http.handle_event(event):
                self._hear(each)

    def _hear(self, event: H3Event) -> None:
        if isinstance(event, HeadersReceived):
            self._statuses[event.stream_id] = int(dict(event.headers)[b":status"])
        if isinstance(event, DataReceived):
            self.body_bytes += len(event.data)
        if isinstance(event, HeadersReceived | DataReceived) and event.stream_ended:
            self._whole.add(event.stream_id)

    def _is_reset(self, data: bytes) -> bool:
        # aioquic keeps the tokens, but does not look for them in what it receives.
        ids = [self.quic._peer_cid, *self.quic._peer_cid_available]  # noqa: SLF001 - there is no public name for them
        return not data[0] & _LONG and data[-_TOKEN_BYTES:] in {one.stateless_reset_token for one in ids}

    @property
    def is_done(self) -> bool:
        """Whether every request was answered, or the connection has ended."""
        return bool(self.end) or len(self._whole) == len(self._statuses)

    @property
    def may_ask_early(self) -> bool:
        """Whether the session that this connection resumes allows 0-RTT packets."""
        ticket = self.quic.configuration.session_ticket
        return ticket is not None and bool(ticket.max_early_data_size)

    def take_time(self) -> None:
        """Run the timers that are due; a connection ends after several probes in a row without an answer."""
        due_s = self.quic.get_timer()
        if due_s is not None and due_s <= time.monotonic():
            self.quic.handle_timer(now=time.monotonic())
        if self.quic._loss._pto_count >= _PROBES:  # noqa: SLF001 - aioquic shows it only in its log
            self.end = self.end or SILENT

    def result(self, round_trips: int) -> Http3Connection:
        """Return the results so far."""
        return Http3Connection(
            statuses=tuple(self._statuses.values()),
            whole=len(self._whole),
            body_bytes=self.body_bytes,
            end=self.end,
            retries=self._retries,
            sent_bytes=self._sent_bytes,
            received_bytes=self._received_bytes,
            round_trips=round_trips,
        )

    def change_port(self) -> None:
        """Continue from another port, like a client behind a NAT that has dropped its mapping."""
        old, self.socket = self.socket, self._new_socket()
        old.close()

    def close(self) -> None:
        """Close the connection cleanly."""
        self.quic.close()
        self.send()

    def _new_socket(self) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        made.connect(self._server)
        made.setblocking(False)
        return made


def run(clients: Sequence[Client], done: Callable[[Client], bool], *, timeout_s: float, late: str = TIMEOUT) -> None:
    """Serve the clients' sockets and timers until each is done or has ended; the time limit ends others as ``late``."""
    until_s = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        left = set(clients)
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.send()
        while left and (now_s := time.monotonic()) < until_s:
            timers = [due_s for client in left if (due_s := client.quic.get_timer()) is not None]
            for key, _ in selector.select(max(0.0, min([until_s, *timers]) - now_s)):
                key.data.receive()
            for client in list(left):
                client.take_time()
                client.send()
                if client.end or done(client):
                    left.discard(client)
                    selector.unregister(client.socket)
        for client in left:
            client.end = late
