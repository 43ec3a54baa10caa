"""Captures in pcap, whole, cut short and broken: every packet before the fault is read, and the fault is reported."""

from io import BytesIO

import pytest

from tests.support.capture_files import PCAP_HEADER_BYTES, RECORD_BYTES, SECONDS, packet, pcap, pcapng, record
from tuneproof.explain.parse.capture.framing import MAX_PACKET_BYTES, Packet, PacketReader, in_time_order
from tuneproof.explain.parse.problems import MalformedEvidenceError

THREE = [packet(number) for number in range(3)]


CUT = packet(1, size_bytes=60, wire_bytes=1514)
LONGEST = packet(0, size_bytes=MAX_PACKET_BYTES)
BACKWARDS = [packet(2), packet(0), (0, 1, b"no time", 7), packet(1)]
ENDLESS = record(SECONDS, 0, MAX_PACKET_BYTES + 1, 60) + bytes(2 * MAX_PACKET_BYTES)


@pytest.mark.parametrize(
    ("content", "packets", "snapped", "truncated"),
    [
        # The bits above a link type describe the frame check sequence, and do not belong to it.
        (pcap(THREE, linktype=0x5400_0071), [(time_ns, 0x71, *rest) for time_ns, _, *rest in THREE], 0, None),
        (pcap([packet(0), CUT]), [packet(0), CUT], 1, None),
        # A packet was at least as long on the wire as it was captured.
        (pcap([packet(0, size_bytes=60, wire_bytes=0)]), [packet(0, size_bytes=60)], 0, None),
        (pcap([]), [], 0, None),
        (pcapng([]), [], 0, None),
        # Packets keep the order of the file; none is dropped because of its time.
        (pcap(BACKWARDS), BACKWARDS, 0, None),
        (pcap([LONGEST]), [LONGEST], 0, None),
        (pcap(THREE)[:-1], THREE[:2], 0, "byte 176: the file ends inside a packet of 60 bytes"),
        # A length above any snap length is an error: the rest is not read, and the place is reported.
        (pcap(THREE[:1]) + ENDLESS, THREE[:1], 0, "byte 100: a packet of 262145 bytes, expected at most 262144"),
    ],
    ids=["link type", "cut", "longer than on the wire", "empty", "empty ng", "backwards", "longest", "end", "endless"],
)
def test_a_capture_is_read(content: bytes, packets: list[Packet], snapped: int, truncated: str | None) -> None:
    reader = PacketReader(BytesIO(content))
    assert list(reader) == packets
    assert (reader.snapped_packets, reader.truncated) == (snapped, truncated)


@pytest.mark.parametrize(
    ("numbers", "sorted_numbers"),
    [
        ((0, 2, 1, 3), (0, 1, 2, 3)),
        # A clock that was set back by a second, and packets without a time.
        ((1_000_000, 0, 1), (1_000_000, 0, 1)),
        ((*range(0, 500, 2), 497, *range(500, 800)), (*range(0, 498, 2), 497, 498, *range(500, 800))),
        ((), ()),
    ],
)
def test_packets_that_were_written_a_little_late_are_sorted(
    numbers: tuple[int, ...], sorted_numbers: tuple[int, ...]
) -> None:
    """A kernel with several queues takes their packets in turn."""
    assert list(in_time_order(map(packet, numbers))) == list(map(packet, sorted_numbers))


class Growing(BytesIO):
    """A file that contains only its first record so far."""

    def read1(self, _size: int | None = -1, /) -> bytes:
        return self.read(RECORD_BYTES + 60)


def test_the_reader_takes_no_more_than_it_needs() -> None:
    """The first packet is returned before the rest of the file is read: a capture may still be growing."""
    file = Growing(pcap(THREE))
    assert next(iter(PacketReader(file))) == packet(0)
    assert file.tell() == PCAP_HEADER_BYTES + RECORD_BYTES + 60


def test_a_truncated_capture_gives_its_whole_packets_and_says_so() -> None:
    """The file may end anywhere; an end between two packets cannot be noticed."""
    content = pcap(THREE)
    for size in range(PCAP_HEADER_BYTES, len(content)):
        whole, rest = divmod(size - PCAP_HEADER_BYTES, RECORD_BYTES + 60)
        reader = PacketReader(BytesIO(content[:size]))
        assert list(reader) == THREE[:whole], f"{size} bytes"
        assert reader.packets == whole
        assert (reader.truncated is not None) == (rest > 0), f"{size} bytes"


@pytest.mark.parametrize(
    "content",
    [b"", b"\xd4", b"\xd4\xc3\xb2\xa1", b"\x0a\x0d", b"tcpdump: no such device", b"\x1f\x8b", b"\x1f\x8bgz"],
)
def test_other_files_than_captures_are_rejected(content: bytes) -> None:
    """An empty file, the start of a header and plain text are not captures with zero packets."""
    with pytest.raises(MalformedEvidenceError, match="not a capture"):
        PacketReader(BytesIO(content))


def test_a_pcap_of_another_version_is_rejected() -> None:
    """Before 2.4, the two lengths of a record were swapped: the figures would be wrong."""
    with pytest.raises(MalformedEvidenceError, match=r"byte 4: pcap of version 2\.2, expected 2\.4"):
        PacketReader(BytesIO(pcap(THREE, version=(2, 2))))
