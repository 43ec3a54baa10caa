"""A TLS connection with one request, over memory buffers, so that packets and ClientHellos can be counted."""

import socket
import ssl
import time
from typing import Final

from tuneproof.lab.protocol.http3 import TlsRequest, TlsSeen
from tuneproof.lab.protocol.serving import CannotDoError
from tuneproof.lab.protocol.tls_records import READ_BYTES, CountedTls, unchecked

_POST_QUANTUM_SINCE: Final = (3, 5)  # OpenSSL
_CLASSIC: Final = "X25519"
_IP_AND_TCP_BYTES: Final = 40
_TIMEOUT_S: Final = 10.0
# The offset of tcpi_data_segs_out, a 32-bit number, in struct tcp_info (include/uapi/linux/tcp.h).
_DATA_SEGMENTS_AT: Final = 156


def ask(server: tuple[str, int], asked: TlsRequest) -> TlsSeen:
    """Send the request."""
    if ssl.OPENSSL_VERSION_INFO < _POST_QUANTUM_SINCE:
        raise CannotDoError(f"{ssl.OPENSSL_VERSION} has no post-quantum groups")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as plain:
        plain.settimeout(_TIMEOUT_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The MSS is set before connecting, because the SYN announces it.
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, asked.mtu_bytes - _IP_AND_TCP_BYTES)
        plain.connect(server)
        return _Connection(plain, asked).run()


class _Connection:
    def __init__(self, plain: socket.socket, asked: TlsRequest) -> None:
        self._socket, self._asked = plain, asked
        context = unchecked()
        if not asked.post_quantum:
            context.set_ecdh_curve(_CLASSIC)
        self._counted = CountedTls(plain, context, send=self._send)
        self._hello_bytes = self._hello_packets = 0

    def run(self) -> TlsSeen:
        counted = self._counted
        head = f"GET {self._asked.path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n".encode()
        try:
            counted.run(counted.tls.do_handshake)
            counted.run(lambda: counted.tls.write(head))
            status = int(counted.run(lambda: counted.tls.read(READ_BYTES))[9:12])
        except (ssl.SSLEOFError, ConnectionError):
            status = 0
        return TlsSeen(
            hellos=counted.sent.hellos,
            hello_bytes=self._hello_bytes,
            hello_packets=self._hello_packets,
            status=status,
        )

    def _send(self, flight: bytes) -> None:
        if self._hello_bytes:
            self._socket.sendall(flight)
            return
        self._hello_bytes = len(flight)
        if self._asked.pause_s:
            half = len(flight) // 2
            self._socket.sendall(flight[:half])
            time.sleep(self._asked.pause_s)
            flight = flight[half:]
        self._socket.sendall(flight)
        tcp_info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _DATA_SEGMENTS_AT + 4)
        self._hello_packets = int.from_bytes(tcp_info[_DATA_SEGMENTS_AT:], "little")
