"""TCP conversations, built segment by segment: a test decides which end sends a segment, and when."""

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from tuneproof.explain.parse.capture.decode import ACK, FIN, RST, SYN, Segment
from tuneproof.explain.parse.capture.flows import flows
from tuneproof.explain.parse.capture.framing import Packet
from tuneproof.explain.parse.capture.headers import ETHERNET, LINUX_COOKED, RAW_IP
from tuneproof.explain.parse.capture.records import FlowRecord

START_NS: Final = 1_700_000_000_000_000_000
MODULUS: Final = 2**32
WINDOW: Final = 64_000


def end(address: str, port: int) -> bytes:
    return bytes(int(part) for part in address.split(".")) + port.to_bytes(2)


CLIENT: Final = end("10.0.0.1", 40_000)
SERVER: Final = end("10.0.0.2", 80)


class Conversation:
    """Two TCP ends; their segments go to a list, in order.

    Attributes:
        segments: All segments so far; several conversations may share the list.
        now_s: The time in seconds, from 0.
        seq: The next sequence number of each end.
    """

    def __init__(
        self,
        *,
        client: bytes = CLIENT,
        server: bytes = SERVER,
        seqs: tuple[int, int] = (1_000, 500_000),
        segments: list[Segment] | None = None,
        now_s: float = 0.0,
    ) -> None:
        self.client, self.server = client, server
        self.seq = {client: seqs[0], server: seqs[1]}
        self.segments: list[Segment] = [] if segments is None else segments
        self.now_s = now_s

    def send(
        self,
        source: bytes,
        payload: bytes = b"",
        *,
        flags: int = ACK,
        after_s: float = 0.001,
        seq: int | None = None,
        ack: int | None = None,
        window: int = WINDOW,
        captured: bool = True,
    ) -> None:
        """Send one segment, by default the next one, with an acknowledgement of everything that the other end sent."""
        self.now_s += after_s
        peer = self.server if source == self.client else self.client
        at = self.seq[source] if seq is None else seq % MODULUS
        acked = self.seq[peer] if ack is None else ack % MODULUS
        if captured:
            self.segments.append(
                (
                    START_NS + round(self.now_s * 1e9),
                    source,
                    peer,
                    at,
                    acked if flags & ACK else 0,
                    flags,
                    window,
                    len(payload),
                    payload,
                )
            )
        if seq is None and not flags & RST:
            self.seq[source] = (at + len(payload) + bool(flags & (SYN | FIN))) % MODULUS

    def handshake(self, *, there_s: float = 0.010, back_s: float = 0.002) -> None:
        """Open the connection: ``there_s`` passes from SYN to SYN/ACK, and ``back_s`` from SYN/ACK to ACK."""
        self.send(self.client, flags=SYN)
        self.send(self.server, flags=SYN | ACK, after_s=there_s)
        self.send(self.client, after_s=back_s)

    def close(self) -> None:
        self.send(self.server, flags=FIN | ACK)
        self.send(self.client, flags=FIN | ACK)
        self.send(self.server)

    def record(self) -> FlowRecord:
        return only(self.segments)


def records(segments: Iterable[Segment]) -> list[FlowRecord]:
    return list(flows(segments))


def only(segments: Sequence[Segment]) -> FlowRecord:
    [record] = records(segments)
    return record


def get(path: str = "/", *, version: str = "1.1") -> bytes:
    return f"GET {path} HTTP/{version}\r\nHost: h\r\n\r\n".encode()


def ok(body: bytes = b"hello", *, length: int | None = None) -> bytes:
    """Return a response; its header may announce more bytes than its body has."""
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


Send = Callable[[Conversation], None]


def client(payload: bytes = b"", **how: Any) -> Send:
    return lambda talk: talk.send(CLIENT, payload, **how)


def server(payload: bytes = b"", **how: Any) -> Send:
    return lambda talk: talk.send(SERVER, payload, **how)


_PORT_BYTES: Final = 2
_IPV4_BYTES: Final = 4
_TCP: Final = 6
_MSS_AND_WINDOW_SCALE: Final = bytes((2, 4, 5, 180, 1, 3, 3, 7))
_MACS: Final = bytes(12)


def framed(
    segment: Segment, *, linktype: int = ETHERNET, vlan: bool = False, options: bytes = _MSS_AND_WINDOW_SCALE
) -> Packet:
    """Return the captured packet of a segment; only a SYN has TCP options."""
    time_ns, source, destination, seq, ack, flags, window, _, payload = segment
    options = options if flags & SYN else b""
    ports = source[-_PORT_BYTES:] + destination[-_PORT_BYTES:]
    offset = (5 + len(options) // 4) << 4
    tcp = ports + struct.pack("!IIBBHHH", seq, ack, offset, flags, window, 0, 0) + options + payload
    addresses = source[:-_PORT_BYTES] + destination[:-_PORT_BYTES]
    if len(source) == _IPV4_BYTES + _PORT_BYTES:
        ethertype, packet = 0x0800, struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, _TCP, 0)
    else:
        ethertype, packet = 0x86DD, struct.pack("!IHBB", 6 << 28, len(tcp), _TCP, 64)
    link = {ETHERNET: _MACS + b"\x81\x00\x00\x07" * vlan, LINUX_COOKED: bytes(14), RAW_IP: b""}[linktype]
    if linktype != RAW_IP:
        link += struct.pack("!H", ethertype)
    data = link + packet + addresses + tcp
    return time_ns, linktype, data, len(data)
