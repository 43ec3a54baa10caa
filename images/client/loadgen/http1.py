"""The part of HTTP/1.1 (RFC 9112) that the load generators need: a request, and the headers of its response."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass

_HEAD_END = b"\r\n\r\n"
_MAX_HEAD_BYTES = 16384


@dataclass(frozen=True, kw_only=True)
class Head:
    """Status line and headers of a response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    lines: tuple[str, ...]  # of the headers, as received

    @property
    def worker_pid(self) -> int:
        """Process id of the nginx worker that answered, from the subject's X-Worker header."""
        return int(self.headers["x-worker"])

    @property
    def content_length(self) -> int:
        """Length of the body in bytes, as announced."""
        return int(self.headers["content-length"])


def request(path: str, headers: Mapping[str, str], *, method: str = "GET", body_bytes: int = 0) -> bytes:
    """Return the bytes of a request; its body consists of zeros."""
    lines = (f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()))
    return "\r\n".join(lines).encode("latin-1") + _HEAD_END + bytes(body_bytes)


def get(path: str, *, host: str, trial: str, keep_alive: bool = True) -> bytes:
    """Return the bytes of a GET request; ``trial`` is sent as X-Trial, to find its lines in the access log."""
    return request(path, {"Host": host, "X-Trial": trial, "Connection": "keep-alive" if keep_alive else "close"})


def parse_head(raw: bytes) -> Head:
    """Parse the bytes before the empty line.

    Raises ValueError: the bytes are not the status line and headers of an HTTP response.
    """
    status_line, *header_lines = raw.decode("latin-1").split("\r\n")
    protocol, _, rest = status_line.partition(" ")
    if not protocol.startswith("HTTP/"):
        raise ValueError(f"not an HTTP response: {status_line[:80]!r}")
    headers = {}
    for line in header_lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return Head(status=int(rest[:3]), headers=headers, lines=tuple(header_lines))


def receive_head(connection: socket.socket) -> tuple[Head, bytes]:
    """Read the headers of one response from a blocking socket; return them with the part of the body that came along.

    Raises ConnectionError: the peer closed before the headers were complete. Raises ValueError: they are not HTTP, or
    too long.
    """
    received = b""
    while _HEAD_END not in received:
        chunk = connection.recv(4096)
        if not chunk:
            raise ConnectionError(f"connection closed after {len(received)} bytes of the response head")
        received += chunk
        if len(received) > _MAX_HEAD_BYTES:
            raise ValueError(f"response head longer than {_MAX_HEAD_BYTES} bytes")
    head, _, body = received.partition(_HEAD_END)
    return parse_head(head), body


def exchange(connection: socket.socket, request: bytes) -> Head:
    """Send a request on a keepalive connection and read the whole response, whose body must be short."""
    connection.sendall(request)
    head, body = receive_head(connection)
    missing = head.content_length - len(body)
    while missing > 0:
        chunk = connection.recv(min(missing, 65536))
        if not chunk:
            raise ConnectionError(f"connection closed with {missing} bytes of the body missing")
        missing -= len(chunk)
    return head
