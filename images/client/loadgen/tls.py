"""TLS connections made one after the other: how many ClientHellos and records each took, and which were resumed."""

import socket
import ssl

from tuneproof.lab.protocol.exchanges import TlsConnection
from tuneproof.lab.protocol.tls_records import READ_BYTES, CountedTls, unchecked

# The longest silence on a connection.
_TIMEOUT_S = 10.0


class Client:
    """Makes connections, and keeps their sessions between calls."""

    def __init__(self) -> None:
        self._sessions: list[ssl.SSLSession | None] = []
        self._context = unchecked()

    def connect(
        self, address: str, port: int, count: int, path: str = "/", version: str = ""
    ) -> tuple[TlsConnection, ...]:
        """Make new connections one after the other, each with one request, and forget all earlier sessions."""
        self._context, self._sessions = unchecked(version), []
        return tuple(self._connect((address, port), path, None, keep=True) for _ in range(count))

    def resume(self, address: str, port: int, which: tuple[int, ...], path: str = "/") -> tuple[TlsConnection, ...]:
        """Try to resume the sessions of the last :meth:`connect`."""
        server, sessions = (address, port), [self._sessions[number] for number in which]
        return tuple(self._connect(server, path, session, keep=False) for session in sessions)

    def _connect(
        self, server: tuple[str, int], path: str, session: ssl.SSLSession | None, *, keep: bool
    ) -> TlsConnection:
        with socket.create_connection(server, timeout=_TIMEOUT_S) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            counted = CountedTls(plain, self._context, session=session)
            counted.run(counted.tls.do_handshake)
            before = len(counted.received.sizes)
            received = _get(counted, path)
            sizes = counted.received.sizes[before:]
            if keep:
                self._sessions.append(counted.tls.session)
            return TlsConnection(
                hellos=counted.sent.hellos,
                records=len(sizes),
                largest_record_bytes=max(sizes, default=0),
                body_bytes=received,
                resumed=bool(counted.tls.session_reused),
            )


def _get(counted: CountedTls, path: str) -> int:
    counted.run(lambda: counted.tls.write(f"GET {path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n".encode()))
    count = 0
    try:
        while data := counted.run(lambda: counted.tls.read(READ_BYTES)):
            count += len(data)
    except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
        pass
    return count
