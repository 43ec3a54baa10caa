"""TLS over memory buffers, so that everything that is sent and received can be counted."""

import socket
import ssl
from collections.abc import Callable
from typing import Final, TypeVar

READ_BYTES: Final = 65536
_CLIENT_HELLO: Final = 1
_HANDSHAKE: Final = 22
_HEAD_BYTES: Final = 5
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
        while len(self._unread) > _HEAD_BYTES:
            size = int.from_bytes(self._unread[3:5], "big")
            if len(self._unread) < _HEAD_BYTES + size:
                return
            if self._unread[0] == _HANDSHAKE and self._unread[_HEAD_BYTES] == _CLIENT_HELLO:
                self.hellos += 1
            self.sizes.append(size)
            self._unread = self._unread[_HEAD_BYTES + size :]


class CountedTls:
    """A client's side of TLS on a connected socket.

    send: sends a flight (default: the socket's own function).
    """

    def __init__(
        self,
        plain: socket.socket,
        context: ssl.SSLContext,
        *,
        session: ssl.SSLSession | None = None,
        send: Callable[[bytes], None] | None = None,
    ) -> None:
        self._socket = plain
        self._send = send or plain.sendall
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="lab", session=session)
        self.sent, self.received = Records(), Records()

    def run(self, step: Callable[[], Result]) -> Result:
        """Call a function of :attr:`tls`, with as much sending and receiving as it needs."""
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                self._flush()
                if data := self._socket.recv(READ_BYTES):
                    self.received.add(data)
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            else:
                self._flush()
                return result

    def _flush(self) -> None:
        if flight := self._outgoing.read():
            self.sent.add(flight)
            self._send(flight)


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
