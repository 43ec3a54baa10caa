"""Small captures with everything that the analyser looks for."""

import gzip
from collections.abc import Iterable, Sequence
from typing import Final

from tests.support.capture_files import (
    SECONDS,
    TIME_OFFSET,
    TIME_RESOLUTION,
    block,
    enhanced,
    interface,
    old,
    pcap,
    pcapng,
    section,
    simple,
)
from tests.support.datagrams import CLIENT_ID, FIRST_ID, INITIAL, NEGOTIATION, RETRY, UNKNOWN, QuicTalk, long_header
from tests.support.proxied_segments import proxied
from tests.support.segments import CLIENT, SERVER, Conversation, end, framed, get, ok
from tuneproof.explain.parse.capture.decode import ACK, FIN, RST, SYN, Segment
from tuneproof.explain.parse.capture.framing import Packet
from tuneproof.explain.parse.capture.headers import ETHERNET, LINUX_COOKED, RAW_IP


def trouble() -> list[Segment]:
    """Return a connection with repeated segments, a closed window, and a client that leaves early."""
    talk = Conversation()
    talk.send(CLIENT, flags=SYN)
    talk.send(CLIENT, flags=SYN, seq=1_000, after_s=1.0)
    talk.send(SERVER, flags=SYN | ACK)
    talk.send(CLIENT)
    talk.send(CLIENT, get("/large"))
    talk.send(SERVER, ok(b"x" * 40, length=500))
    talk.send(SERVER, b"y" * 40)
    talk.send(SERVER, b"y" * 40, seq=talk.seq[SERVER] - 40, after_s=0.2)
    talk.send(CLIENT, ack=talk.seq[SERVER] - 40, window=0)
    talk.send(SERVER, b"z", seq=talk.seq[SERVER] - 1, after_s=0.3)
    talk.send(CLIENT, window=0)
    talk.send(CLIENT, window=500, after_s=0.5)
    talk.send(CLIENT, flags=FIN | ACK)
    talk.send(SERVER, b"late")
    talk.send(CLIENT, flags=RST)
    return talk.segments


def silence() -> list[Segment]:
    """Return connections that are never established: refused, half open, unanswered."""
    segments: list[Segment] = []
    for number in range(3):
        talk = Conversation(client=end("10.0.0.1", 41_000 + number), segments=segments, now_s=0.1 * number)
        talk.send(talk.client, flags=SYN)
        if number == 0:
            talk.send(talk.server, flags=RST | ACK)
        elif number == 1:
            talk.send(talk.server, flags=SYN | ACK)
            talk.send(talk.server, flags=SYN | ACK, seq=500_000, after_s=1.0)
    return segments


def short() -> list[Segment]:
    """Return a connection with one request over IPv6."""
    talk = Conversation(client=bytes(15) + b"\x01\x9c\x40", server=bytes(15) + b"\x02\x00\x50")
    talk.handshake()
    talk.send(talk.client, get())
    talk.send(talk.server, ok())
    talk.close()
    return talk.segments


def quic() -> list[Packet]:
    """Return three QUIC connections: one is answered after a Retry, one is unanswered, one has an unknown version."""
    answered = QuicTalk()
    answered.begins()
    answered.receives(long_header(RETRY, CLIENT_ID, b"new one!", size_bytes=120))
    answered.sends(long_header(INITIAL, b"new one!", CLIENT_ID))
    answered.completes_handshake()
    silent = QuicTalk(port=40_001)
    silent.begins(1.0, 2.0)
    other = QuicTalk(port=40_002)
    other.sends(long_header(INITIAL, FIRST_ID, CLIENT_ID, version=UNKNOWN))
    other.receives(long_header(INITIAL, CLIENT_ID, FIRST_ID, version=NEGOTIATION, size_bytes=40))
    return sorted([*answered.frames, *silent.frames, *other.frames])


def _packets(segments: Iterable[Segment], *, linktype: int = ETHERNET, vlan: bool = False) -> list[Packet]:
    return [framed(segment, linktype=linktype, vlan=vlan) for segment in sorted(segments, key=lambda each: each[0])]


_BOTH_LEGS: Final = _packets([*proxied(), *proxied(1, path="/b")])
_TROUBLE: Final = _packets(trouble())
NO_TCP: Final[Packet] = (SECONDS * 10**9, ETHERNET, bytes(12) + b"\x08\x06" + bytes(46), 60)

PCAPS: Final = (
    pcap(_BOTH_LEGS),
    pcap([*_TROUBLE, *_packets(silence())]),
    pcap([*_packets(short(), vlan=True), NO_TCP], order=">", nanoseconds=True),
    pcap(_packets(short(), linktype=RAW_IP), linktype=RAW_IP),
    pcap(_packets(trouble(), linktype=LINUX_COOKED), linktype=LINUX_COOKED),
    pcap(quic()),
    # These packets are truncated.
    pcap([(time_ns, link, data[:60], wire) for time_ns, link, data, wire in _BOTH_LEGS]),
)


def _mixed(packets: Sequence[Packet]) -> bytes:
    """Return a pcapng file with several sections, byte orders, time resolutions and block types."""
    first, second, *others = (data for _, _, data, _ in packets)
    little = [
        section(),
        interface((TIME_RESOLUTION, b"\x94"), (TIME_OFFSET, (5).to_bytes(8, "little"))),
        enhanced(first, ticks=SECONDS << 20),
        old(second, ticks=SECONDS << 20),
        block(5, bytes(20)),
        simple(others[0], wire_bytes=len(others[0])),
    ]
    big = [section(order=">"), interface(order=">"), interface(linktype=RAW_IP, order=">")]
    big += [enhanced(data, ticks=SECONDS * 10**6 + at, order=">") for at, data in enumerate(others)]
    return b"".join(little + big)


PCAPNGS: Final = (pcapng(_BOTH_LEGS), pcapng(_TROUBLE), _mixed(_TROUBLE), _mixed(_packets(short())))
GZIPS: Final = (
    *(gzip.compress(content, mtime=0) for content in (*PCAPS[:3], *PCAPNGS[:3])),
    # These are stored uncompressed, so that changes reach the packets.
    gzip.compress(PCAPS[1][:500], 0, mtime=0) + gzip.compress(PCAPS[1][500:], 0, mtime=0),
    gzip.compress(PCAPNGS[2], 0, mtime=0),
)
