"""A TLS connection with one request, over memory, so that the packets and the number of ClientHellos are seen."""

import socket
import ssl
import time
from collections.abc import Callable
from typing import Final, TypeVar

from tuneproof.lab.protocol.http3 import TlsRequest, TlsSeen
from tuneproof.lab.protocol.serving import CannotDoError

_POST_QUANTUM_SINCE: Final = (3, 5)  # OpenSSL
_CLASSIC: Final = "X25519"
_IP_AND_TCP_BYTES: Final = 40
_TIMEOUT_S: Final = 10.0
_READ_BYTES: Final = 65536
_RECORD_HEAD_BYTES: Final = 5
_HANDSHAKE, _CLIENT_HELLO = 22, 1
# struct tcp_info (include/uapi/linux/tcp.h): its size up to tcpi_data_segs_out, a 32-bit number.
_DATA_SEGMENTS_AT: Final = 156

Result = TypeVar("Result")


def ask(server: tuple[str, int], asked: TlsRequest) -> TlsSeen:
    """Send the request."""
    if ssl.OPENSSL_VERSION_INFO < _POST_QUANTUM_SINCE:
        raise CannotDoError(f"{ssl.OPENSSL_VERSION} has no post-quantum groups")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as plain:
        plain.settimeout(_TIMEOUT_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Before it connects: it is announced in the SYN.
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, asked.mtu_bytes - _IP_AND_TCP_BYTES)
        plain.connect(server)
        return _Connection(plain, asked).run()


class _Connection:
    def __init__(self, plain: socket.socket, asked: TlsRequest) -> None:
        self._socket, self._asked = plain, asked
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if not asked.post_quantum:
            context.set_ecdh_curve(_CLASSIC)
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="lab")
        self._hellos = self._hello_bytes = self._hello_packets = 0

    def run(self) -> TlsSeen:
        head = f"GET {self._asked.path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n".encode()
        try:
            self._pump(self._tls.do_handshake)
            self._pump(lambda: self._tls.write(head))
            status = int(self._pump(lambda: self._tls.read(_READ_BYTES))[9:12])
        except (ssl.SSLEOFError, ConnectionError):
            status = 0
        return TlsSeen(
            hellos=self._hellos, hello_bytes=self._hello_bytes, hello_packets=self._hello_packets, status=status
        )

    def _pump(self, step: Callable[[], Result]) -> Result:
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                self._flush()
                if data := self._socket.recv(_READ_BYTES):
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            else:
                self._flush()
                return result

    def _flush(self) -> None:
        if not (flight := self._outgoing.read()):
            return
        self._hellos += _hellos(flight)
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
        told = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _DATA_SEGMENTS_AT + 4)
        self._hello_packets = int.from_bytes(told[_DATA_SEGMENTS_AT:], "little")


def _hellos(flight: bytes) -> int:
    """Count the records of a flight that begin with a ClientHello (RFC 8446, section 5.1)."""
    count = 0
    while flight:
        count += flight[0] == _HANDSHAKE and flight[_RECORD_HEAD_BYTES] == _CLIENT_HELLO
        flight = flight[_RECORD_HEAD_BYTES + int.from_bytes(flight[3:5], "big") :]
    return count
