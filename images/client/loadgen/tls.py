"""TLS connections made one after the other: how many ClientHellos and records each took, and which could be resumed."""

import socket
import ssl
from collections.abc import Callable
from typing import Final, TypeVar

from tuneproof.lab.protocol.exchanges import TlsConnection

_CLIENT_HELLO: Final = 1
_HANDSHAKE: Final = 22
_RECORD_HEAD_BYTES: Final = 5
_READ_BYTES: Final = 65536
_VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}

Result = TypeVar("Result")


class Records:
    """Counts the records of a TLS stream (RFC 8446, section 5.1), in whatever pieces it arrives."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.hellos = 0
        self._unread = b""

    def add(self, data: bytes) -> None:
        """Process the next bytes."""
        self._unread += data
        while len(self._unread) > _RECORD_HEAD_BYTES:
            size = int.from_bytes(self._unread[3:5], "big")
            if len(self._unread) < _RECORD_HEAD_BYTES + size:
                return
            if self._unread[0] == _HANDSHAKE and self._unread[_RECORD_HEAD_BYTES] == _CLIENT_HELLO:
                self.hellos += 1
            self.sizes.append(size)
            self._unread = self._unread[_RECORD_HEAD_BYTES + size :]


class Connection:
    """One TLS connection over memory buffers, so that every record can be counted."""

    def __init__(
        self, address: tuple[str, int], context: ssl.SSLContext, *, session: ssl.SSLSession | None, timeout_s: float
    ) -> None:
        self._socket = socket.create_connection(address, timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="lab", session=session)
        self.sent, self.received = Records(), Records()

    def handshake(self) -> None:
        """Make the handshake."""
        self._pump(self._tls.do_handshake)

    def get(self, path: str) -> int:
        """Request a path, read until the connection ends, and return how many bytes arrived."""
        self._pump(lambda: self._tls.write(f"GET {path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n".encode()))
        count = 0
        try:
            while data := self._pump(lambda: self._tls.read(_READ_BYTES)):
                count += len(data)
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            pass
        return count

    @property
    def session(self) -> ssl.SSLSession | None:
        """The session for resumption that the server has given so far."""
        return self._tls.session

    @property
    def resumed(self) -> bool:
        """Whether this connection resumed an earlier session."""
        return bool(self._tls.session_reused)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _pump(self, step: Callable[[], Result]) -> Result:
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                self._flush()
                data = self._socket.recv(_READ_BYTES)
                if data:
                    self.received.add(data)
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            else:
                self._flush()
                return result

    def _flush(self) -> None:
        if data := self._outgoing.read():
            self.sent.add(data)
            self._socket.sendall(data)


class Client:
    """Keeps the sessions of its connections between calls."""

    def __init__(self) -> None:
        self._sessions: list[ssl.SSLSession | None] = []
        self._context = unchecked()

    def connect(
        self, address: str, port: int, count: int, path: str = "/", version: str = "", timeout_s: float = 10.0
    ) -> tuple[TlsConnection, ...]:
        """Make new connections one after the other, each with one request, and forget all earlier sessions."""
        self._context, self._sessions = unchecked(version), []
        return tuple(self._connect((address, port), path, None, timeout_s=timeout_s, keep=True) for _ in range(count))

    def resume(
        self, address: str, port: int, which: tuple[int, ...], path: str = "/", timeout_s: float = 10.0
    ) -> tuple[TlsConnection, ...]:
        """Try to resume the sessions of the last :meth:`connect`."""
        server, sessions = (address, port), [self._sessions[number] for number in which]
        return tuple(self._connect(server, path, session, timeout_s=timeout_s, keep=False) for session in sessions)

    def _connect(
        self, server: tuple[str, int], path: str, session: ssl.SSLSession | None, *, timeout_s: float, keep: bool
    ) -> TlsConnection:
        connection = Connection(server, self._context, session=session, timeout_s=timeout_s)
        try:
            connection.handshake()
            before = len(connection.received.sizes)
            received = connection.get(path)
            sizes = connection.received.sizes[before:]
            if keep:
                self._sessions.append(connection.session)
            return TlsConnection(
                hellos=connection.sent.hellos,
                records=len(sizes),
                largest_record_bytes=max(sizes, default=0),
                body_bytes=received,
                resumed=connection.resumed,
            )
        finally:
            connection.close()


def unchecked(version: str = "") -> ssl.SSLContext:
    """Return a TLS context that does not check the server's certificate.

    version: "1.2" or "1.3" (default: the best that both ends support).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if version:
        context.minimum_version = context.maximum_version = _VERSIONS[version]
    return context
