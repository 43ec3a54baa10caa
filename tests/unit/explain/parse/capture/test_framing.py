"""In pcap and pcapng, every packet before a fault is read, and the fault is reported."""

import struct
import tempfile
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.utils import RawPcapNgWriter, RawPcapWriter

from tests.support.capture_files import (
    ENHANCED_PACKET,
    INTERFACE,
    PCAP_HEADER_BYTES,
    RECORD_BYTES,
    SECONDS,
    SECTION_HEADER,
    SIMPLE_PACKET,
    STATISTICS,
    TIME_OFFSET,
    TIME_RESOLUTION,
    block,
    enhanced,
    interface,
    old,
    packet,
    pcap,
    pcapng,
    record,
    section,
    simple,
    statistics,
)
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
        # The bits above a link type describe the frame check sequence, and do not belong to the type.
        (pcap(THREE, linktype=0x5400_0071), [(time_ns, 0x71, *rest) for time_ns, _, *rest in THREE], 0, None),
        (pcap([packet(0), CUT]), [packet(0), CUT], 1, None),
        # A packet was at least as long on the wire as it is in the capture.
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
        # A clock that was set back by a second does not change the order.
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


def test_a_packet_is_returned_before_the_rest_of_the_file_is_read() -> None:
    """A capture may still be growing."""
    file = Growing(pcap(THREE))
    assert next(iter(PacketReader(file))) == packet(0)
    assert file.tell() == PCAP_HEADER_BYTES + RECORD_BYTES + 60


def test_a_truncated_pcap_gives_its_whole_packets_and_is_reported() -> None:
    """The file may end anywhere; an end between two packets cannot be noticed."""
    content = pcap(THREE)
    for size in range(PCAP_HEADER_BYTES, len(content)):
        whole, rest = divmod(size - PCAP_HEADER_BYTES, RECORD_BYTES + 60)
        reader = PacketReader(BytesIO(content[:size]))
        assert list(reader) == THREE[:whole], f"{size} bytes"
        assert reader.packets == whole
        assert (reader.truncated is not None) == (rest > 0), f"{size} bytes"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        # An empty file, the start of a header and plain text are not captures with zero packets.
        *((other, "not a capture") for other in (b"", b"\xd4", b"\x0a\x0d", b"tcpdump: no device", b"\x1f\x8bgz")),
        (b"\xd4\xc3\xb2\xa1", "byte 4: not a capture: pcap with a truncated header"),
        # Before 2.4, the two lengths of a record may be swapped: the figures would be wrong.
        (pcap(THREE, version=(2, 2)), r"byte 4: pcap version 2\.2, expected 2\.4"),
        # A section's magic number consists of line breaks: a text file could start with it.
        (section()[:20], "byte 0: the file ends inside a section's header"),
        (section(major=2), "byte 12: pcapng version 2, expected 1"),
        (section()[:4] + bytes(40), "byte 8: a section header with an invalid byte-order magic"),
    ],
)
def test_files_other_than_captures_are_rejected(content: bytes, message: str) -> None:
    with pytest.raises(MalformedEvidenceError, match=message):
        PacketReader(BytesIO(content))


NAME_RESOLUTION = 4
LONG = block(NAME_RESOLUTION, bytes(100_000))


@pytest.mark.parametrize(
    ("options", "time_ns"),
    [
        ((), 5_000_000_000_000),
        (((TIME_RESOLUTION, b"\x06"),), 5_000_000_000_000),
        (((TIME_RESOLUTION, b"\x09"),), 5_000_000_000),
        (((TIME_RESOLUTION, b"\x00"),), 5_000_000_000 * 10**9),
        (((TIME_RESOLUTION, b"\x0c"),), 5_000_000),
        (((TIME_RESOLUTION, b"\x80"),), 5_000_000_000 * 10**9),
        (((TIME_RESOLUTION, b"\x9e"),), 5_000_000_000 * 10**9 >> 30),
        (((TIME_RESOLUTION, b"\x09"), (TIME_OFFSET, struct.pack("<q", 100))), 105_000_000_000),
        (((TIME_RESOLUTION, b"\x09"), (TIME_OFFSET, struct.pack("<q", -100))), -95_000_000_000),
        # An irrelevant option with a padded length.
        (((2, b"eth"), (TIME_RESOLUTION, b"\x09")), 5_000_000_000),
    ],
)
def test_an_interface_defines_its_clock(options: tuple[tuple[int, bytes], ...], time_ns: int) -> None:
    content = section() + interface(*options) + enhanced(b"data", ticks=5_000_000_000)
    assert [time for time, _, _, _ in PacketReader(BytesIO(content))] == [time_ns]


COOKED = 113
BOTH_LINKS = interface() + interface((TIME_RESOLUTION, b"\x09"), linktype=COOKED)
BIG_ENDIAN = section(order=">") + interface(order=">") + enhanced(b"second", ticks=2, order=">")


@pytest.mark.parametrize(
    ("blocks", "packets", "snapped"),
    [
        (
            BOTH_LINKS + enhanced(b"cooked", number=1, ticks=7) + enhanced(b"ethernet", ticks=7),
            [(7, COOKED, b"cooked", 6), (7000, 1, b"ethernet", 8)],
            0,
        ),
        (
            interface(linktype=COOKED) + enhanced(b"first", ticks=1) + BIG_ENDIAN,
            [(1000, COOKED, b"first", 5), (2000, 1, b"second", 6)],
            0,
        ),
        # Older files contain packet blocks with the fields of enhanced packet blocks in another layout.
        (interface() + old(b"data", ticks=9), [(9000, 1, b"data", 4)], 0),
        (
            interface(linktype=101, snap_bytes=6) + simple(b"123456", wire_bytes=99) + simple(b"1", wire_bytes=1),
            [(0, 101, b"123456", 99), (0, 101, b"1", 1)],
            1,
        ),
        # Names, statistics and keys may be longer than any packet.
        (
            block(NAME_RESOLUTION, bytes(3_000_000)) + interface() + enhanced(b"data") + block(0x0BAD, bytes(20)),
            [(0, 1, b"data", 4)],
            0,
        ),
    ],
    ids=["links and clocks", "sections", "older packets", "simple packets", "other blocks"],
)
def test_packets_are_read_with_the_link_and_clock_of_their_interface(
    blocks: bytes, packets: list[Packet], snapped: int
) -> None:
    """Each section has its own interfaces and byte order; a simple packet is cut to interface 0's snap length."""
    reader = PacketReader(BytesIO(section() + blocks))
    assert list(reader) == packets
    assert (reader.snapped_packets, reader.truncated) == (snapped, None)


def test_a_truncated_pcapng_gives_its_whole_packets_and_is_reported() -> None:
    """The file may end inside a packet, or inside a block that is skipped."""
    content = section() + interface() + enhanced(b"first") + block(NAME_RESOLUTION, bytes(40)) + enhanced(b"second")
    ends = {28, 48, 88, 140, 180}
    assert len(content) == max(ends)
    for size in range(28, len(content)):
        reader = PacketReader(BytesIO(content[:size]))
        assert len(list(reader)) == (size >= 88), f"{size} bytes"
        assert (reader.truncated is None) == (size in ends), f"{size} bytes"


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (struct.pack("<III", ENHANCED_PACKET, 8, 8), "byte 48: a block of 8 bytes"),
        (struct.pack("<III", NAME_RESOLUTION, 13, 13) + b"\0", "byte 48: a block of 13 bytes"),
        (struct.pack("<II", ENHANCED_PACKET, 1 << 30), "byte 48: a block of 1073741824 bytes"),
        (
            struct.pack("<III", NAME_RESOLUTION, 12, 16),
            "byte 48: a block of 12 bytes with a different length at its end",
        ),
        (block(ENHANCED_PACKET, bytes(16)), "byte 48: a packet without its lengths"),
        (block(SIMPLE_PACKET, b""), "byte 48: a packet without its length"),
        (simple(b"1234", wire_bytes=5), "byte 48: a packet of 5 bytes in a block with room for 4"),
        (
            block(ENHANCED_PACKET, struct.pack("<IIIII", 0, 0, 0, 9, 9) + b"12345678"),
            "byte 48: a packet of 9 bytes in a block with room for 8",
        ),
        (enhanced(bytes(262_148)), "byte 48: a packet of 262148 bytes in a block with room for 262148"),
        (enhanced(b"data", number=1), "byte 48: a packet on interface 1, which the file does not describe"),
        (block(INTERFACE, b"\1\0\0\0"), "byte 48: an interface without a link type"),
        (interface((TIME_RESOLUTION, b"\x06\x06")), "byte 48: an interface's clock in 2 bytes"),
        (interface((TIME_OFFSET, b"\x06")), "byte 48: an interface's clock in 1 bytes"),
        (
            block(INTERFACE, bytes(8) + struct.pack("<HH", 2, 5) + b"1234"),
            "byte 48: an option extends beyond the end of its block",
        ),
        (block(STATISTICS, b"abcd"), "byte 48: statistics without an interface"),
        (section(major=2), "byte 60: pcapng version 2, expected 1"),
        # An earlier section's interface, and a place after a block that is skipped.
        (section() + enhanced(b"data"), "byte 76: a packet on interface 0, which the file does not describe"),
        (
            LONG + enhanced(b"data", number=1),
            f"byte {48 + len(LONG)}: a packet on interface 1, which the file does not describe",
        ),
        (interface() * 65_536, f"byte {28 + 65_536 * 20}: more than 65536 interfaces"),
        (
            block(SECTION_HEADER, bytes(16)),
            r"byte 56: a section header with an invalid byte-order magic: b'\x00\x00\x00\x00'",
        ),
    ],
)
def test_reading_stops_at_a_broken_block(broken: bytes, what: str) -> None:
    content = section() + interface() + broken + enhanced(b"data") * 20
    reader = PacketReader(BytesIO(content))
    assert list(reader) == []
    assert reader.truncated == what


@pytest.mark.parametrize("order", ["<", ">"])
def test_statistics_report_what_the_kernel_dropped(order: str) -> None:
    """An interface's last statistics block contains the total; other counts and undescribed interfaces are left out."""

    def drops(packets: int, *, number: int = 0, code: int = 5) -> bytes:
        return statistics((4, bytes(8)), (code, struct.pack(order + "Q", packets)), number=number, order=order)

    two = interface(order=order) + interface(order=order)
    content = section(order=order) + two + drops(3) + drops(7) + drops(10, number=1, code=7) + drops(900, number=2)
    content += section(order=order) + interface(order=order) + drops(100) + enhanced(b"data", order=order)
    content += drops(0, code=4)
    reader = PacketReader(BytesIO(content))
    assert len(list(reader)) == 1
    assert (reader.dropped_packets, reader.truncated) == (17, None)


QUICK = settings(database=None, derandomize=True)
DATA = st.binary(max_size=100)


@QUICK
@given(st.lists(DATA, max_size=10), st.sampled_from("<>"), st.sampled_from([1, 1000]), st.integers(1, 65535))
def test_a_pcap_written_by_scapy_is_read(content: list[bytes], order: str, unit_ns: int, linktype: int) -> None:
    file = BytesIO()
    writer = RawPcapWriter(file, linktype=linktype, endianness=order, nano=unit_ns == 1)
    writer.write_header(None)
    for number, data in enumerate(content):
        writer.write_packet(data, sec=SECONDS, usec=number, wirelen=len(data) + number)
    reader = PacketReader(BytesIO(file.getvalue()))
    assert list(reader) == [
        (SECONDS * 10**9 + number * unit_ns, linktype, data, len(data) + number) for number, data in enumerate(content)
    ]
    assert (reader.format, reader.packets, reader.truncated) == ("pcap", len(content), None)
    assert reader.snapped_packets == max(0, len(content) - 1)


@QUICK
@given(st.lists(DATA, max_size=10))
def test_a_pcapng_written_by_scapy_is_read(content: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "capture.pcapng")
        writer = RawPcapNgWriter(str(path))
        writer.linktype = 1
        writer.write_header(None)
        for number, data in enumerate(content):
            # scapy writes whole seconds.
            writer.write_packet(data, sec=SECONDS + number, wirelen=len(data) + number)
        writer.close()
        written = path.read_bytes()
    assert list(PacketReader(BytesIO(written))) == [
        ((SECONDS + number) * 10**9, 1, data, len(data) + number) for number, data in enumerate(content)
    ]
