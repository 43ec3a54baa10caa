"""Simultaneous requests on one HTTP/2 connection without TLS, "with prior knowledge" (RFC 9113, section 3.3)."""

import socket
from typing import Final, Self

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset

from tuneproof.lab.protocol.exchanges import Streams

_READ_BYTES: Final = 65536
# As much as browsers grant a connection, so that the server never waits for more (Chromium: 15 MiB).
_WINDOW_BYTES: Final = 15 * 2**20


def run(address: str, port: int, streams: int, path: str, timeout_s: float) -> tuple[int, ...]:
    """Send several requests at once; return the statuses in the same order, 0 for none.

    Raises OSError: there is no connection, or it was silent for too long.
    """
    http2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
    with socket.create_connection((address, port), timeout=timeout_s) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        http2.initiate_connection()
        http2.increment_flow_control_window(_WINDOW_BYTES)
        head = [(":method", "GET"), (":path", path), (":scheme", "http"), (":authority", "lab")]
        statuses: dict[int, int] = {}
        for _ in range(streams):
            stream = http2.get_next_available_stream_id()
            http2.send_headers(stream, head, end_stream=True)
            statuses[stream] = 0
        connection.sendall(http2.data_to_send())
        open_streams = set(statuses)
        while open_streams and (data := connection.recv(_READ_BYTES)):
            for event in http2.receive_data(data):
                if isinstance(event, ResponseReceived):
                    statuses[event.stream_id] = int(dict(event.headers)[":status"])
                elif isinstance(event, DataReceived):
                    http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, StreamEnded | StreamReset):
                    open_streams.discard(event.stream_id)
                elif isinstance(event, ConnectionTerminated):
                    open_streams.clear()
            connection.sendall(http2.data_to_send())
    return tuple(statuses.values())


class Http2:
    """One response, on an HTTP/2 connection of its own; it is not decompressed."""

    def __init__(self, http2: H2Connection) -> None:
        self._http2 = http2
        self.status = 0
        self.body_bytes = 0
        self.end = ""

    @classmethod
    def ask(cls, asked: Streams) -> tuple[Self, bytes]:
        """Return the receiver of the response, and the request."""
        http2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        http2.initiate_connection()
        scheme = "https" if asked.tls else "http"
        head = [(":method", "GET"), (":path", asked.path), (":scheme", scheme), (":authority", asked.host)]
        fields = [(name.lower(), value) for name, value in asked.headers.items()]
        http2.send_headers(http2.get_next_available_stream_id(), [*head, *fields], end_stream=True)
        return cls(http2), http2.data_to_send()

    def add(self, data: bytes) -> bytes:
        """Process the next bytes; return what must be sent for them."""
        for event in self._http2.receive_data(data):
            if isinstance(event, ResponseReceived):
                self.status = int(dict(event.headers)[":status"])
            elif isinstance(event, DataReceived):
                self.body_bytes += len(event.data)
                self._http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                self.end = "whole"
            elif isinstance(event, StreamReset):
                self.end = "reset"
        return bytes(self._http2.data_to_send())
