"""Captures in pcap, whole, cut short and broken: every packet before the fault is read, and the fault is told."""

from io import BytesIO

import pytest

from tests.support.capture_files import PCAP_HEADER_BYTES, RECORD_BYTES, SECONDS, packet, pcap, pcapng, record
from tuneproof.explain.parse.capture.framing import MAX_PACKET_BYTES, PacketReader
from tuneproof.explain.parse.problems import MalformedEvidenceError

THREE = [packet(number) for number in range(3)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_pcap_is_read_in_both_byte_orders_and_both_units(order: str, *, nanoseconds: bool) -> None:
    content = pcap(THREE, order=order, nanoseconds=nanoseconds)
    reader = PacketReader(BytesIO(content))
    assert list(reader) == THREE
    assert (reader.format, reader.packets, reader.snapped_packets, reader.truncated) == ("pcap", 3, 0, None)


def test_nanoseconds_are_kept() -> None:
    """A time is whole nanoseconds, never a rounded float."""
    odd = (SECONDS * 10**9 + 999_999_999, 1, b"odd", 3)
    assert list(PacketReader(BytesIO(pcap([odd], nanoseconds=True)))) == [odd]


def test_link_type_is_told_with_every_packet() -> None:
    """The bits above it tell of the frame check sequence, and are no part of it."""
    assert [linktype for _, linktype, _, _ in PacketReader(BytesIO(pcap(THREE, linktype=0x5400_0071)))] == [0x71] * 3


def test_packet_that_the_capture_cut_is_counted() -> None:
    cut = packet(1, size_bytes=60, wire_bytes=1514)
    reader = PacketReader(BytesIO(pcap([packet(0), cut])))
    assert list(reader) == [packet(0), cut]
    assert reader.snapped_packets == 1


def test_packet_was_on_the_wire_as_far_as_it_was_captured() -> None:
    reader = PacketReader(BytesIO(pcap([packet(0, size_bytes=60, wire_bytes=0)])))
    assert list(reader) == [packet(0, size_bytes=60)]
    assert reader.snapped_packets == 0


def test_capture_without_packets_is_one() -> None:
    for content in (pcap([]), pcapng([])):
        reader = PacketReader(BytesIO(content))
        assert list(reader) == []
        assert reader.truncated is None


def test_times_may_go_backwards() -> None:
    """Packets come as they are in the file; nothing is sorted, or dropped for its time."""
    backwards = [packet(2), packet(0), (0, 1, b"no time", 7), packet(1)]
    assert list(PacketReader(BytesIO(pcap(backwards)))) == backwards


class Growing(BytesIO):
    """A file that has as much as its first record for now."""

    def read1(self, _size: int | None = -1, /) -> bytes:
        return self.read(RECORD_BYTES + 60)


def test_reader_takes_no_more_than_it_needs() -> None:
    """The first packet is given out before the rest of the file is read: a capture may still be growing."""
    file = Growing(pcap(THREE))
    assert next(iter(PacketReader(file))) == packet(0)
    assert file.tell() == PCAP_HEADER_BYTES + RECORD_BYTES + 60


def test_capture_that_ends_too_early_gives_what_is_whole_and_says_so() -> None:
    """Wherever the file ends; where it ends between two packets, nobody can tell."""
    content = pcap(THREE)
    for size in range(PCAP_HEADER_BYTES, len(content)):
        whole, rest = divmod(size - PCAP_HEADER_BYTES, RECORD_BYTES + 60)
        reader = PacketReader(BytesIO(content[:size]))
        assert list(reader) == THREE[:whole], f"{size} bytes"
        assert reader.packets == whole
        assert (reader.truncated is not None) == (rest > 0), f"{size} bytes"


def test_place_of_the_end_is_told() -> None:
    content = pcap(THREE)[:-1]
    reader = PacketReader(BytesIO(content))
    list(reader)
    assert reader.truncated == "byte 176: the file ends inside a packet of 60 bytes"


def test_record_that_cannot_be_ends_the_reading() -> None:
    """A length above any snapshot is not waited for: what follows is not read, and the place is told."""
    broken = pcap(THREE[:1]) + record(SECONDS, 0, MAX_PACKET_BYTES + 1, 60) + bytes(2 * MAX_PACKET_BYTES)
    reader = PacketReader(BytesIO(broken))
    assert list(reader) == THREE[:1]
    assert reader.truncated == "byte 100: a packet of 262145 bytes, expected at most 262144"


def test_longest_packet_is_read() -> None:
    longest = packet(0, size_bytes=MAX_PACKET_BYTES)
    assert list(PacketReader(BytesIO(pcap([longest])))) == [longest]


@pytest.mark.parametrize(
    "content",
    [b"", b"\xd4", b"\xd4\xc3\xb2\xa1", b"\x0a\x0d", b"tcpdump: no such device", b"\x1f\x8b", b"\x1f\x8bgz"],
)
def test_what_is_no_capture_is_refused(content: bytes) -> None:
    """An empty file, a header's beginning and plain text are no capture of zero packets."""
    with pytest.raises(MalformedEvidenceError, match="no capture"):
        PacketReader(BytesIO(content))


def test_pcap_of_another_version_is_refused() -> None:
    """Before 2.4, the two lengths of a record had other places: wrong figures would come of it."""
    with pytest.raises(MalformedEvidenceError, match=r"byte 4: pcap of version 2\.2, expected 2\.4"):
        PacketReader(BytesIO(pcap(THREE, version=(2, 2))))
