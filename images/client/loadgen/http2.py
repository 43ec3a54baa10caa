"""Simultaneous requests on one HTTP/2 connection; without TLS, "with prior knowledge" (RFC 9113, section 3.3)."""

import socket
from collections.abc import Sequence
from typing import Final, Self

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset

from tuneproof.lab.protocol.exchanges import Streams

_READ_BYTES: Final = 65536
# The longest silence.
_TIMEOUT_S: Final = 10.0
# Browsers grant a connection so large a window that the server never waits (Chromium: 15 MiB).
_WINDOW_BYTES: Final = 15 * 2**20


def run(address: str, port: int, streams: int, path: str) -> tuple[int, ...]:
    """Send several requests at once; return the statuses in the same order, 0 for none."""
    http2, request = Http2.ask(Streams(path=path), requests=streams, window_bytes=_WINDOW_BYTES)
    with socket.create_connection((address, port), timeout=_TIMEOUT_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(request)
        while http2.open and (data := connection.recv(_READ_BYTES)):
            connection.sendall(http2.add(data))
    return tuple(http2.statuses.values())


class Http2:
    """The responses on one HTTP/2 connection; they are not decompressed."""

    def __init__(self, http2: H2Connection, streams: Sequence[int]) -> None:
        self._http2 = http2
        self.statuses = dict.fromkeys(streams, 0)
        self.status = 0  # of the response that began last
        self.open = set(streams)
        self.body_bytes = 0
        self.end = ""

    @classmethod
    def ask(cls, asked: Streams, *, requests: int = 1, window_bytes: int = 0) -> tuple[Self, bytes]:
        """Return the receiver of the responses to identical requests, and the bytes of the requests.

        window_bytes: by how much the connection's flow-control window is larger than by default.
        """
        http2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        http2.initiate_connection()
        if window_bytes:
            http2.increment_flow_control_window(window_bytes)
        scheme = "https" if asked.tls else "http"
        head = [(":method", "GET"), (":path", asked.path), (":scheme", scheme), (":authority", asked.host)]
        fields = [(name.lower(), value) for name, value in asked.headers.items()]
        streams = []
        for _ in range(requests):
            streams.append(http2.get_next_available_stream_id())
            http2.send_headers(streams[-1], [*head, *fields], end_stream=True)
        return cls(http2, streams), http2.data_to_send()

    def add(self, data: bytes) -> bytes:
        """Process the next bytes; return what must be sent for them."""
        for event in self._http2.receive_data(data):
            if isinstance(event, ResponseReceived):
                self.status = self.statuses[event.stream_id] = int(dict(event.headers)[":status"])
            elif isinstance(event, DataReceived):
                self.body_bytes += len(event.data)
                self._http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded | StreamReset):
                self.open.discard(event.stream_id)
                self.end = "complete" if isinstance(event, StreamEnded) else "reset"
            elif isinstance(event, ConnectionTerminated):
                self.open.clear()
        return bytes(self._http2.data_to_send())
