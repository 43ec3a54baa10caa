"""Responses that stay open, over HTTP/1.1 and HTTP/2, with and without TLS, and how much of each has arrived.

Data is read only when a call needs the counts, and then everything that the kernel has, so that counts do not depend on
this program's timing.
"""

import socket
import ssl
import zlib
from typing import Final, Protocol

from tuneproof.lab.protocol.exchanges import Arrived, Streams
from tuneproof.lab.protocol.tls_records import unchecked

from . import http1, proxy_protocol

_HEAD_END: Final = b"\r\n\r\n"
_READ_BYTES: Final = 65536
_GZIP: Final = 31  # wbits of zlib for a gzip header


class Chunks:
    """Decodes chunks (RFC 9112, section 7.1) that arrive in arbitrary pieces."""

    def __init__(self) -> None:
        self._unread = b""
        self._left = 0
        self.complete = False

    def add(self, data: bytes) -> bytes:
        """Process the next bytes; return what they add to the body."""
        self._unread += data
        body = b""
        while self._unread and not self.complete:
            if self._left:
                body += self._unread[: self._left]
                taken = min(self._left, len(self._unread))
                self._unread, self._left = self._unread[taken:], self._left - taken
                continue
            size, found, rest = self._unread.lstrip(b"\r\n").partition(b"\r\n")
            if not found:
                break
            self._unread, self._left = rest, int(size.split(b";")[0], 16)
            self.complete = self._left == 0
        return body


class Message(Protocol):
    """What has arrived on a connection."""

    status: int
    body_bytes: int
    end: str

    def add(self, data: bytes) -> bytes:
        """Process the next bytes; return what must be sent in response."""


class Http1:
    """One HTTP/1.1 response."""

    def __init__(self) -> None:
        self.status = 0
        self.body_bytes = 0
        self.end = ""
        self._unread = b""
        self._chunks: Chunks | None = None
        self._left: int | None = None
        self._unzip = zlib.decompressobj(_GZIP)
        self._is_zipped = False

    def add(self, data: bytes) -> bytes:
        """Process the next bytes; there is nothing to send in response."""
        if not self.status:
            self._unread += data
            raw, found, data = self._unread.partition(_HEAD_END)
            if not found:
                return b""
            head = http1.parse_head(raw)
            self.status = head.status
            length = head.headers.get("content-length")
            self._left = None if length is None else int(length)
            self._chunks = Chunks() if head.headers.get("transfer-encoding") == "chunked" else None
            self._is_zipped = head.headers.get("content-encoding") == "gzip"
        body = self._chunks.add(data) if self._chunks else data
        self.body_bytes += len(self._unzip.decompress(body) if self._is_zipped else body)
        if self._left is not None:
            self._left -= len(body)
        if self._left == 0 or (self._chunks and self._chunks.complete):
            self.end = "complete"
        return b""


class Stream:
    """One response and its connection."""

    def __init__(self, server: tuple[str, int], asked: Streams) -> None:
        plain = socket.socket()
        plain.settimeout(asked.timeout_s)
        self._connection = plain
        try:
            address, port = server
            plain.connect((address, asked.port or port))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if asked.proxy_protocol:
                plain.sendall(proxy_protocol.header(plain))
            if asked.tls:
                context = unchecked()
                context.set_alpn_protocols(["h2"] if asked.http2 else ["http/1.1"])
                self._connection = context.wrap_socket(plain, server_hostname=asked.host.partition(":")[0])
            self._message, request = _begin(asked)
            self._connection.sendall(request)
        except BaseException:
            self._connection.close()
            raise
        self._connection.setblocking(False)

    def read(self) -> Arrived:
        """Read everything that has arrived."""
        message = self._message
        while not message.end:
            try:
                data = self._connection.recv(_READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError):
                break
            except ConnectionError:
                message.end = "reset"
            else:
                if answer := message.add(data) if data else b"":
                    self._connection.sendall(answer)
                message.end = message.end or ("" if data else "closed")
        return Arrived(status=message.status, body_bytes=message.body_bytes, end=message.end)

    def leave(self) -> None:
        """Close the connection."""
        self._connection.close()


def _begin(asked: Streams) -> tuple[Message, bytes]:
    """Return the receiver of the response, and the request."""
    if asked.http2:
        from .http2 import Http2  # noqa: PLC0415 - the library is installed only in the image

        return Http2.ask(asked)
    return Http1(), http1.request(asked.path, {"Host": asked.host, **asked.headers})


class OpenStreams:
    """All open responses."""

    def __init__(self) -> None:
        self._streams: list[Stream] = []

    def open(self, address: str, port: int, asked: tuple[Streams, ...]) -> None:
        """Open further responses."""
        for each in asked:
            for _ in range(each.count):
                self._streams.append(Stream((address, port), each))

    def arrived(self) -> tuple[Arrived, ...]:
        """Read what has arrived on each stream."""
        return tuple(stream.read() for stream in self._streams)

    def leave(self) -> None:
        """Close all connections."""
        streams, self._streams = self._streams, []
        for stream in streams:
            stream.leave()
