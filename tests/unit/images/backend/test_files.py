"""The accept queue of the backend that serves files."""

import http.server
import socket
from contextlib import ExitStack

from images.backend.files import FilesServer


def test_many_simultaneous_connections_fit_into_the_accept_queue() -> None:
    """Nothing accepts them yet. With socketserver's default queue of five, the seventh would wait for a second."""
    with FilesServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server, ExitStack() as opened:
        address = ("127.0.0.1", server.server_address[1])
        for _ in range(20):
            opened.enter_context(socket.create_connection(address, timeout=0.5))
    assert FilesServer.request_queue_size == 1024
