"""Packets that are cut, inconsistent, or nonsense: each is counted, and none stops the reading."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from tuneproof.explain.parse.capture.decode import SegmentReader
from tuneproof.explain.parse.capture.framing import Packet

QUICK = settings(max_examples=200, database=None, derandomize=True)
FRAME = bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(flags="S", options=[("MSS", 1460)]) / b"hello")
SOUND: Packet = (0, 1, FRAME, len(FRAME))


def changed(frame: bytes, at: int, value: int) -> bytes:
    return frame[:at] + bytes([value]) + frame[at + 1 :]


def read(*packets: Packet) -> SegmentReader:
    reader = SegmentReader(packets)
    list(reader)
    return reader


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        (changed(FRAME, 14, 0x44), "IPv4 header of 16 bytes"),
        (changed(FRAME, 14, 0x65), "IPv4 header of version 6"),
        (changed(bytes(Ether() / IPv6() / TCP()), 14, 0x40), "IPv6 header of version 4"),
        (changed(FRAME, 46, 0x40), "TCP header of 16 bytes"),
        (changed(FRAME, 46, 0xF0), "TCP header longer than its IP packet"),
        (changed(FRAME, 17, 43), "TCP header longer than its IP packet"),
        (changed(FRAME, 17, 10), "TCP header longer than its IP packet"),
        (FRAME[:13], "packet that ends inside its link header"),
        (bytes(Ether() / Dot1Q())[:17], "packet that ends inside its VLAN tag"),
        (FRAME[:33], "packet that ends inside its IPv4 header"),
        (bytes(Ether() / IPv6() / TCP())[:53], "packet that ends inside its IPv6 header"),
        (bytes(Ether() / IPv6(nh=0))[:54] + b"\x06\0", "packet that ends inside its IPv6 extension header"),
        (FRAME[:49], "packet that ends inside its TCP header"),
    ],
)
def test_an_inconsistent_header_is_counted(frame: bytes, what: str) -> None:
    reader = read(SOUND, (0, 1, frame, len(frame)), SOUND)
    assert reader.segments == 2
    assert reader.malformed == {what: 1}
    assert reader.others == {}


@pytest.mark.parametrize(
    ("data", "what"), [(b"", "packet that ends inside its IP header"), (b"\x50", "IP of version 5")]
)
def test_a_packet_without_link_header_may_be_malformed(data: bytes, what: str) -> None:
    assert read((0, 101, data, len(data))).malformed == {what: 1}


@pytest.mark.parametrize(
    ("cut_to", "what"), [(0, "link header"), (20, "IPv4 header"), (34, "TCP header"), (49, "TCP header")]
)
def test_a_packet_truncated_inside_its_headers_is_not_malformed(cut_to: int, what: str) -> None:
    """The snap length was too short; that is a different fault than a broken packet."""
    reader = read((0, 1, FRAME[:cut_to], len(FRAME)))
    assert reader.others == {f"captured without its whole {what}": 1}
    assert reader.malformed == {}


def test_a_header_is_read_as_soon_as_the_window_is_there() -> None:
    """The rest (checksum, urgent pointer and options) is not needed."""
    assert read((0, 1, FRAME[:50], len(FRAME))).segments == 1
    [segment] = SegmentReader([(0, 1, FRAME[:56], len(FRAME))])
    assert segment[7:] == (5, b"")


@QUICK
@given(
    st.lists(st.tuples(st.integers(14, len(FRAME) - 1), st.integers(0, 255)), max_size=3),
    st.integers(14, len(FRAME)),
)
def test_the_short_and_the_long_form_give_the_same_result(spoils: list[tuple[int, int]], cut_to: int) -> None:
    """Plain packets are decoded in one step; behind an address family, the same packet is decoded header by header."""
    frame = FRAME
    for at, value in spoils:
        frame = changed(frame, at, value)
    data = frame[:cut_to]
    plain: Any = SegmentReader([(0, 1, data, len(frame))])
    stepwise: Any = SegmentReader([(0, 0, (2).to_bytes(4) + data[14:], len(frame) - 10)])
    assert list(plain) == list(stepwise)
    assert (plain.others, plain.malformed) == (stepwise.others, stepwise.malformed)
