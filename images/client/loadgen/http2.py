"""Requests at once on one connection of HTTP/2 without TLS, "with prior knowledge" (RFC 9113, section 3.3)."""

import socket
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset

from tuneproof.lab.protocol.exchanges import Http2Statuses, Http2Streams

_READ_BYTES: Final = 65536


def run(asked: Http2Streams) -> Http2Statuses:
    """Ask several times at once.

    Raises:
        OSError: There is no connection, or it was silent for too long.
    """
    http2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
    with socket.create_connection((asked.address, asked.port), timeout=asked.timeout_s) as connection:
        http2.initiate_connection()
        head = [(":method", "GET"), (":path", asked.path), (":scheme", "http"), (":authority", "lab")]
        streams = []
        for _ in range(asked.streams):
            streams.append(http2.get_next_available_stream_id())
            http2.send_headers(streams[-1], head, end_stream=True)
        connection.sendall(http2.data_to_send())
        statuses = dict.fromkeys(streams, 0)
        open_streams = set(streams)
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
    return Http2Statuses(statuses=tuple(statuses[stream] for stream in streams))
