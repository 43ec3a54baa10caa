"""Captures of rare behaviour of links and hosts, and of attacks, which the lab cannot record itself."""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Final

from tests.support.capture_files import pcap
from tests.support.segments import CLIENT, SERVER, Conversation, end, framed, get, ok
from tuneproof.explain.parse.capture.decode import ACK, FIN, RST, SYN, Segment

# Ethernet, IPv4 and TCP without options; no payload.
_HEADERS_BYTES: Final = 14 + 20 + 20
_CUT_BYTES: Final = 7
_FLOOD: Final = 2_000


def captures() -> Mapping[str, bytes]:
    """Return pcap files with nanosecond timestamps, by name."""
    both = _exchange(Conversation())
    return {
        "vlan-one-way": _file(both, tagged=CLIENT),
        "ipv6": _file(_exchange(Conversation(client=_ipv6("2001:db8::1", 40_000), server=_ipv6("2001:db8::2", 80)))),
        "cropped": _file(both, snap_bytes=_HEADERS_BYTES),
        "cut": _file(both)[:-_CUT_BYTES],
        "mid-flow": _file(both[4:]),
        "one-direction": _file([segment for segment in both if segment[1] == SERVER]),
        "rst-with-payload": _file(_reset_with_payload()),
        "syn-flood": _file(_syn_flood()),
        "repeated-handshake": _file(_repeated_handshake()),
        "probes": _file(_probes()),
        "out-of-order": _file(_out_of_order()),
        "repeated-on-a-busy-flow": _file(_repeated_on_a_busy_flow()),
        "asked-for": _file(_asked_for()),
        "reused-ports": _file(_reused_ports()),
    }


def _exchange(talk: Conversation) -> Sequence[Segment]:
    """Return an exchange in which three duplicate ACKs request a segment of the response, and it is sent again."""
    talk.handshake()
    talk.send(talk.client, get("/a"))
    talk.send(talk.server)
    lost = talk.seq[talk.server]
    body = ok(b"x" * 3000)
    for start in range(0, len(body), 1000):
        talk.send(talk.server, body[start : start + 1000], after_s=0.0001)
    for _ in range(3):
        talk.send(talk.client, ack=lost)
    talk.send(talk.server, body[:1000], seq=lost, after_s=0.0001)
    talk.send(talk.client, after_s=0.010)
    talk.close()
    return talk.segments


def _reset_with_payload() -> Sequence[Segment]:
    talk = Conversation()
    talk.handshake()
    talk.send(CLIENT, get())
    talk.send(SERVER, b"goodbye", flags=RST | ACK)
    return talk.segments


def _syn_flood() -> Sequence[Segment]:
    """Return unanswered SYNs from many clients; every tenth is repeated after a second."""
    segments: list[Segment] = []
    talks = [
        Conversation(client=end(f"10.1.{number >> 8}.{number & 255}", 1024 + number), segments=segments)
        for number in range(_FLOOD)
    ]
    for number, talk in enumerate(talks):
        talk.now_s = number * 1e-5
        talk.send(talk.client, flags=SYN)
    for talk in talks[::10]:
        talk.send(talk.client, flags=SYN, seq=1000, after_s=1.0)
    return segments


def _repeated_handshake() -> Sequence[Segment]:
    talk = Conversation()
    talk.send(CLIENT, flags=SYN)
    talk.send(CLIENT, flags=SYN, seq=1000, after_s=1.0)
    talk.send(SERVER, flags=SYN | ACK, after_s=0.010)
    talk.send(SERVER, flags=SYN | ACK, seq=500_000, after_s=1.0)
    talk.send(CLIENT, after_s=0.002)
    return talk.segments


def _probes() -> Sequence[Segment]:
    """Return a keep-alive probe, and zero-window probes without and with data."""
    talk = Conversation()
    talk.handshake()
    talk.send(SERVER, b"x" * 1000)
    talk.send(CLIENT)
    talk.send(SERVER, seq=talk.seq[SERVER] - 1, after_s=60.0)
    talk.send(CLIENT)
    talk.send(SERVER, b"x" * 1000)
    talk.send(CLIENT, window=0)
    talk.send(SERVER, seq=talk.seq[SERVER] - 1, after_s=0.5)
    talk.send(CLIENT, window=0)
    talk.send(SERVER, b"x", seq=talk.seq[SERVER], after_s=0.5)
    talk.send(CLIENT, window=0)
    talk.send(CLIENT, after_s=0.5)
    talk.send(SERVER, b"x" * 1000)
    return talk.segments


def _out_of_order() -> Sequence[Segment]:
    """Return two pairs of swapped segments; in the second pair, the delay is too long for mere reordering."""
    talk = Conversation()
    talk.handshake(there_s=0.005, back_s=0.005)
    for late_s in (0.001, 0.040):
        first = talk.seq[SERVER]
        talk.send(SERVER, b"b" * 100, captured=False)
        talk.send(SERVER, b"a" * 100)
        talk.send(SERVER, b"b" * 100, seq=first, after_s=late_s)
        talk.send(CLIENT)
    return talk.segments


def _repeated_on_a_busy_flow() -> Sequence[Segment]:
    """Return a segment that is sent again right after newer data, although no ACK requested it."""
    talk = Conversation()
    talk.handshake()
    first = talk.seq[SERVER]
    for _ in range(50):
        talk.send(SERVER, b"x" * 100, after_s=0.001)
    talk.send(SERVER, b"x" * 100, seq=first, after_s=0.0005)
    talk.send(SERVER, b"x" * 100, after_s=0.001)
    return talk.segments


def _asked_for() -> Sequence[Segment]:
    """Return a segment, lost before the capture point, that is sent again within a round trip of its duplicate ACKs."""
    talk = Conversation()
    talk.handshake(there_s=0.010, back_s=0.010)
    talk.send(CLIENT)
    lost = talk.seq[SERVER]
    talk.send(SERVER, b"x" * 100, captured=False)
    for _ in range(4):
        talk.send(SERVER, b"x" * 100, after_s=0.0001)
        talk.send(CLIENT, ack=lost, after_s=0.0001)
    talk.send(SERVER, b"x" * 100, seq=lost, after_s=0.001)
    return talk.segments


def _reused_ports() -> Sequence[Segment]:
    """Return two connections between the same ends, one after the other."""
    first = Conversation()
    first.handshake()
    first.send(CLIENT, get())
    first.send(SERVER, ok())
    first.close()
    second = Conversation(seqs=(90_000, 700_000), segments=first.segments, now_s=first.now_s + 1.0)
    second.handshake(there_s=0.020)
    second.send(CLIENT, get())
    second.send(SERVER, flags=FIN | ACK)
    return first.segments


def _ipv6(address: str, port: int) -> bytes:
    return ip_address(address).packed + port.to_bytes(2)


def _file(segments: Iterable[Segment], *, tagged: bytes = b"", snap_bytes: int | None = None) -> bytes:
    packets = (framed(segment, vlan=segment[1] == tagged, options=b"") for segment in segments)
    return pcap(((time_ns, link, data[:snap_bytes], wire) for time_ns, link, data, wire in packets), nanoseconds=True)
