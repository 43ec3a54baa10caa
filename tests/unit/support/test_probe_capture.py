"""Captures that scapy builds, with known accidents: each is counted as what it is, and nothing else is counted."""

import io
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.utils import RawPcapWriter

from tests.support.probe_capture import ProbeCounts, count_probes

PORT = 7450
LEADER_PORT = 40001
# As alike as Docker makes them: one bit apart.
LEADER = {"mac": "02:42:ac:11:00:02", "address": "172.17.0.2"}
ANSWERER = {"mac": "02:42:ac:11:00:03", "address": "172.17.0.3"}
UDP_CHECKSUM = slice(40, 42)
NUMBER_AT = 42


def between(*, towards: bool) -> Any:
    """Return the Ethernet and IPv4 headers of a packet on its way."""
    source, destination = (LEADER, ANSWERER) if towards else (ANSWERER, LEADER)
    link = Ether(src=source["mac"], dst=destination["mac"])
    return link / IP(src=source["address"], dst=destination["address"], flags="DF")


def probe(number: int, *, towards: bool = True, payload_bytes: int = 24) -> bytes:
    """Return a probe whose checksums are filled in."""
    ports = (LEADER_PORT, PORT) if towards else (PORT, LEADER_PORT)
    sent_ns = 7_000_123_456_789 + number * 1_000_003
    payload = struct.pack("!QQQ", number, sent_ns, 0 if towards else sent_ns + 30_001)
    packet = between(towards=towards) / UDP(sport=ports[0], dport=ports[1]) / payload.ljust(payload_bytes, b"\0")
    packet[IP].id = 4711 + number
    return bytes(packet)


def partial(frame: bytes) -> bytes:
    """Return a probe as a virtual link carries it: in place of the UDP checksum the sum of the pseudo-header."""
    words = struct.unpack("!4H", frame[26:34])
    total = sum(words) + 17 + len(frame[34:])
    folded = (total & 0xFFFF) + (total >> 16)
    return frame[: UDP_CHECKSUM.start] + struct.pack("!H", folded) + frame[UDP_CHECKSUM.stop :]


def flipped(frame: bytes, bit: int) -> bytes:
    """Return the frame with one wrong bit; bit 0 is the first byte's highest."""
    wrong = bytearray(frame)
    wrong[bit // 8] ^= 0x80 >> bit % 8
    return bytes(wrong)


def capture(frames: Iterable[bytes], *, snap_bytes: int = 192, linktype: int = 1, endianness: str = "<") -> bytes:
    """Return a pcap file of the frames, each cut to the snap length."""
    file = io.BytesIO()
    writer = RawPcapWriter(file, linktype=linktype, snaplen=snap_bytes, endianness=endianness)
    writer.write_header(None)
    for frame in frames:
        writer.write_packet(frame[:snap_bytes], sec=1, usec=0, wirelen=len(frame))
    return file.getvalue()


def counted(frames: Iterable[bytes], *, sent: int = 10, order: Sequence[int] | None = None) -> ProbeCounts:
    """Count the probes towards the answering agent."""
    return count_probes(capture(frames), port=PORT, towards=True, sent=sent, order=order)


def healthy(count: int) -> ProbeCounts:
    """Return the counts of probes that met with no accident."""
    return ProbeCounts(seen=count, duplicated=0, overtaking=0, corrupted=0, arrived=count)


def foreign_frames() -> list[bytes]:
    """Return what else passes the link during a measurement, of a probe's length where that can be."""
    there, back = between(towards=True), between(towards=False)
    return [
        bytes(Ether(src=LEADER["mac"], dst="ff:ff:ff:ff:ff:ff") / ARP(psrc="172.17.0.2", pdst="172.17.0.3")),
        bytes(there / TCP(sport=LEADER_PORT, dport=PORT, flags="PA") / bytes(12)),
        bytes(back / TCP(sport=PORT, dport=LEADER_PORT, flags="A", options=[("Timestamp", (1, 2))])),
        bytes(there / UDP(sport=40002, dport=PORT + 1) / bytes(1472)),
        bytes(there / UDP(sport=40002, dport=PORT + 1) / bytes(24)),
        bytes(there / UDP(sport=40003, dport=53) / bytes(24)),
    ]


@pytest.mark.parametrize("payload_bytes", [24, 25, 150])
@pytest.mark.parametrize("endianness", ["<", ">"])
def test_healthy_probes_are_all_seen(payload_bytes: int, endianness: str) -> None:
    """Probes of even and odd size, up to the snap length, in either byte order of the file, show no accident."""
    frames = [probe(number, payload_bytes=payload_bytes) for number in range(10)]
    counts = count_probes(capture(frames, endianness=endianness), port=PORT, towards=True, sent=10)
    assert counts == healthy(10)


def test_partial_checksum_is_no_corruption() -> None:
    """A virtual link carries the bare sum of the pseudo-header; both kinds may be in one capture."""
    assert counted([partial(probe(number)) if number % 2 else probe(number) for number in range(10)]) == healthy(10)


def test_arrivals_before_an_earlier_probe_are_overtaking() -> None:
    """Probe 3 overtakes 1 and 2, and 5 overtakes 4: two overtaking arrivals, however many each has passed."""
    counts = counted([probe(number) for number in (0, 3, 1, 2, 5, 4)])
    assert counts == ProbeCounts(seen=6, duplicated=0, overtaking=2, corrupted=0, arrived=6)


def test_order_of_sending_decides_who_overtook() -> None:
    """Sent as 2, 0, 1 and arrived so, nobody overtook; in order of number, two did, and a second copy changes nothing.

    A number that was sent after the order was asked for is not judged.
    """
    frames = [probe(number) for number in (2, 0, 1, 9)]
    assert counted(frames, order=[2, 0, 2, 1]).overtaking == 0
    assert counted(frames, order=[0, 1, 2]).overtaking == 1
    assert counted(frames, order=[1, 0, 2]).overtaking == 2


@pytest.mark.parametrize("carried", [bytes, partial], ids=["complete", "partial"])
@pytest.mark.parametrize("payload_bytes", [24, 25])
def test_any_flipped_bit_is_found(carried: Any, payload_bytes: int) -> None:
    """Whichever bit of a frame netem flips, the frame is a corrupted probe, beside probes with either checksum.

    There is no bit for which that is impossible: netem fills in the checksum first, addresses and type of Ethernet
    are compared with those of the other probes, and one bit always changes a one's complement sum.
    """
    others = [carried(probe(number, payload_bytes=payload_bytes)) for number in (0, 1, 2, 4, 5)]
    hit = probe(3, payload_bytes=payload_bytes)
    for bit in range(len(hit) * 8):
        counts = counted([*others[:3], flipped(hit, bit), *others[3:]])
        assert (counts.corrupted, counts.arrived, counts.duplicated) == (1, 6, 0), f"bit {bit}"


def test_corrupted_probe_counts_as_seen_when_its_number_was_sent() -> None:
    """A number beyond those sent cannot be told; one that is unharmed is seen, and a copy of it is no duplicate."""
    others = [probe(number) for number in (0, 1, 2, 3)]
    address_bit, highest_number_bit = 30 * 8, NUMBER_AT * 8
    assert counted([*others, flipped(probe(4), address_bit)]).seen == 5
    assert counted([*others, flipped(probe(4), highest_number_bit)]).seen == 4
    counts = counted([*others, flipped(probe(3), address_bit)])
    assert counts == ProbeCounts(seen=4, duplicated=0, overtaking=0, corrupted=1, arrived=5)


def test_corrupted_probe_overtakes_nobody() -> None:
    """Its number may be wrong: it would seem to have overtaken others, or they it."""
    frames = [probe(0), flipped(probe(3), 0), probe(1), probe(2), flipped(probe(4), NUMBER_AT * 8 + 61), probe(5)]
    assert counted(frames).overtaking == 0


def test_right_headers_are_known_where_most_probes_are_corrupted() -> None:
    """Each of nine probes in ten has a wrong bit; they agree in the headers all the same."""
    frames = [probe(number) if number % 10 == 0 else flipped(probe(number), number * 37 % 528) for number in range(100)]
    counts = counted(frames, sent=100)
    assert (counts.corrupted, counts.arrived) == (90, 100)


def test_other_traffic_does_not_count() -> None:
    """ARP, the agents' TCP connection on the same port, and loads to the next port are no probes, not even wrong ones.

    Their own wrong bits make them none either: the bit that tells the next port from the probes' is tried, too.
    """
    foreign = foreign_frames()
    # More of each than there are probes: the most frequent frame is not a probe's for that.
    assert counted([*foreign * 20, *(probe(number) for number in range(10)), *foreign * 20]) == healthy(10)
    wrong = [flipped(frame, bit) for frame in foreign for bit in range(42 * 8)]
    assert counted([*(probe(number) for number in range(10)), *wrong]) == healthy(10)


def test_frame_of_another_length_is_no_probe() -> None:
    """A frame that ends inside its probe, or goes on behind it, was not hit by one wrong bit: lengths do not change."""
    assert counted([*(probe(number) for number in range(10)), probe(3)[:50], probe(3) + b"\0"]) == healthy(10)
    assert counted([probe(3)[:50]]) == healthy(0)


def test_directions_are_told_apart() -> None:
    """Of probes and what was sent back, on one link, each direction counts its own, corrupted ones included."""
    there = [probe(number) for number in range(6)]
    back = [probe(number, towards=False) for number in (0, 2, 1, 1)]
    # A port's, an address's and a hardware address's bit: the last one makes both addresses the same.
    wrong_bits = (36 * 8 + 3, 30 * 8 + 5, 11 * 8 + 7)
    both = capture([*there, *back, *(flipped(probe(5, towards=False), bit) for bit in wrong_bits)])
    assert count_probes(both, port=PORT, towards=True, sent=6) == healthy(6)
    assert count_probes(both, port=PORT, towards=False, sent=6) == ProbeCounts(
        seen=4, duplicated=1, overtaking=1, corrupted=3, arrived=7
    )


def test_probe_that_the_capture_cut_is_refused() -> None:
    """Behind the snap length a wrong bit would not show: no count is better than a wrong one."""
    frames = [probe(number, payload_bytes=151) for number in range(3)]
    with pytest.raises(ValueError, match="cut to 192 of 193 bytes"):
        counted(frames)
    with pytest.raises(ValueError, match="cut to 41 of 66 bytes"):
        count_probes(capture([probe(0)], snap_bytes=41), port=PORT, towards=True, sent=1)


def test_capture_of_another_kind_of_link_is_refused() -> None:
    """Frames of "any" (Linux cooked, 113) are laid out otherwise: they would all be taken for foreign traffic."""
    with pytest.raises(ValueError, match="link type 113"):
        count_probes(capture([probe(0)], linktype=113), port=PORT, towards=True, sent=1)
