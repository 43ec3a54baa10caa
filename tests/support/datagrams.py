"""QUIC datagrams with their visible headers; the encrypted part is zeros."""

import struct
from dataclasses import dataclass, field
from typing import Final

from tuneproof.explain.parse.capture.framing import Packet
from tuneproof.explain.parse.capture.quic import QuicReader

V1: Final = 1
V2: Final = 0x6B3343CF
NEGOTIATION: Final = 0
UNKNOWN: Final = 0x1A2A3A4A  # a version that is reserved for provoking a Version Negotiation (RFC 9000, 15)
INITIAL, ZERO_RTT, HANDSHAKE, RETRY = range(4)  # packet types, by their number in version 1
FIRST_BYTES: Final = 1200
CLIENT: Final = bytes([10, 0, 0, 1])
SERVER: Final = bytes([10, 0, 0, 2]) + (443).to_bytes(2)
CLIENT_ID: Final = b"client42"
FIRST_ID: Final = b"made up!"
SERVER_ID: Final = b"server number one"


def long_header(
    kind: int, destination_id: bytes, source_id: bytes, *, version: int = V1, size_bytes: int = FIRST_BYTES
) -> bytes:
    ids = bytes([len(destination_id)]) + destination_id + bytes([len(source_id)]) + source_id
    return (bytes([0xC0 | kind << 4]) + version.to_bytes(4) + ids).ljust(size_bytes, b"\0")


def short_header(size_bytes: int = 60) -> bytes:
    """Return a datagram of an established connection."""
    return bytes([0x40]).ljust(size_bytes, b"\0")


def frame(time_ns: int, source: bytes, destination: bytes, payload: bytes) -> Packet:
    """Return an Ethernet frame with a UDP datagram over IPv4; at most its first 100 bytes are captured."""
    udp = source[4:] + destination[4:] + struct.pack("!HH", 8 + len(payload), 0) + payload
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + source[:4] + destination[:4]
    data = bytes(12) + b"\x08\x00" + ip + udp
    return time_ns, 1, data[:100], len(data)


@dataclass(kw_only=True)
class QuicTalk:
    """The datagrams between one client and the server, and the time."""

    reader: QuicReader = field(default_factory=QuicReader)
    server: bytes = SERVER
    port: int = 40_000
    now_s: float = 0.0
    frames: list[Packet] = field(default_factory=list)  # all datagrams, as in a capture

    @property
    def client(self) -> bytes:
        return CLIENT + self.port.to_bytes(2)

    def sends(self, payload: bytes, *, after_s: float = 0.001) -> bool:
        """Let the client send a datagram; return whether the reader recognises QUIC."""
        return self._pass(self.client, self.server, payload, after_s)

    def receives(self, payload: bytes) -> bool:
        """Let the server send a datagram after a millisecond; return whether the reader recognises QUIC."""
        return self._pass(self.server, self.client, payload, 0.001)

    def begins(self, *pauses_s: float, destination_id: bytes = FIRST_ID, source_id: bytes = CLIENT_ID) -> None:
        """Let the client send its Initial, and repeat it after each pause."""
        for pause_s in (0.001, *pauses_s):
            self.sends(long_header(INITIAL, destination_id, source_id), after_s=pause_s)

    def completes_handshake(self) -> None:
        """Let server and client complete a handshake that has begun, and exchange data."""
        self.receives(long_header(INITIAL, CLIENT_ID, SERVER_ID))
        self.sends(long_header(INITIAL, SERVER_ID, CLIENT_ID))
        self.sends(short_header())
        self.receives(short_header())

    def _pass(self, source: bytes, destination: bytes, payload: bytes, after_s: float) -> bool:
        self.now_s += after_s
        time_ns = round(self.now_s * 1e9)
        self.frames.append(frame(time_ns, source, destination, payload))
        return self.reader.add(time_ns, source, destination, len(payload), payload)
