"""The same segment is found behind any link and IP headers; other packets are counted."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.geneve import GENEVE
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_RR
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import ARP, GRE, CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw

from tuneproof.explain.parse.capture.decode import Segment, SegmentReader
from tuneproof.explain.parse.capture.framing import Packet

CLIENT = bytes([10, 0, 0, 1]) + (40000).to_bytes(2)
SERVER = bytes([10, 0, 0, 2]) + (80).to_bytes(2)
CLIENT_6 = bytes.fromhex("fd00000000000000000000000000000a") + (40000).to_bytes(2)
SERVER_6 = bytes.fromhex("fd00000000000000000000000000000b") + (80).to_bytes(2)
PSH_ACK = 0x18
HELLO: Segment = (7, CLIENT, SERVER, 1000, 2000, PSH_ACK, 501, 5, b"hello")
HELLO_6: Segment = (7, CLIENT_6, SERVER_6, 1000, 2000, PSH_ACK, 501, 5, b"hello")

PORTS: dict[str, Any] = {"sport": 40000, "dport": 80}
TCP_HELLO = TCP(**PORTS, seq=1000, ack=2000, flags="PA", window=501) / b"hello"
IP4 = IP(src="10.0.0.1", dst="10.0.0.2")
IP4_WITH_OPTIONS = IP(src="10.0.0.1", dst="10.0.0.2", options=[IPOption_RR(length=39, routers=["10.0.0.9"] * 9)])
IP6 = IPv6(src="fd00::a", dst="fd00::b")
IP6_AUTHENTICATED = IPv6(src="fd00::a", dst="fd00::b", nh=51) / Raw(bytes([6, 4]) + bytes(22))
ETHERNET = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def packet(built: Any, *, linktype: int = 1, cut_to: int | None = None, wire_bytes: int | None = None) -> Packet:
    data = bytes(built)
    return 7, linktype, data[:cut_to], len(data) if wire_bytes is None else wire_bytes


NONE: Any = Raw()
LINKS: list[tuple[int, Any]] = [
    (1, ETHERNET),
    (1, ETHERNET / Dot1Q(vlan=5)),
    (1, ETHERNET / Dot1AD(vlan=5) / Dot1Q(vlan=6) / Dot1Q(vlan=7)),
    (1, Ether(dst=ETHERNET.dst, type=0x9100) / Dot1Q(vlan=6)),  # the older outer VLAN tag
    (113, CookedLinux()),
    (113, CookedLinux() / Dot1Q(vlan=5)),
    (276, CookedLinuxV2()),
    *((linktype, NONE) for linktype in (12, 14, 101)),
]


def test_a_segment_is_found_behind_every_link_header() -> None:
    """The link's type does not affect the segment, and may change from packet to packet."""
    found = [packet(link / ip / TCP_HELLO, linktype=linktype) for linktype, link in LINKS for ip in (IP4, IP6)]
    # Link types for a single IP version.
    found += [packet(IP4 / TCP_HELLO, linktype=228), packet(IP6 / TCP_HELLO, linktype=229)]
    reader = SegmentReader(found)
    assert list(reader) == [HELLO, HELLO_6] * (len(LINKS) + 1)
    assert reader.segments == len(found)


OUTER = ETHERNET / IP(src="192.0.2.1", dst="192.0.2.2")


TUNNELS = {
    "PPPoE": ETHERNET / PPPoE() / PPP(),
    "MPLS": ETHERNET / MPLS(label=16, s=0) / MPLS(label=17, s=1),
    "IP": OUTER,
    "IPv6": ETHERNET / IPv6(src="fd00::1", dst="fd00::2"),
    "GRE": OUTER / GRE(),
    "GRE options": OUTER / GRE(chksum_present=1, key_present=1, seqnum_present=1),
    "GRE bridge": OUTER / GRE() / ETHERNET / Dot1Q(vlan=5),
    "VXLAN": OUTER / UDP(sport=50_000, dport=4789) / VXLAN(vni=7) / ETHERNET,
    "flannel": OUTER / UDP(sport=50_000, dport=8472) / VXLAN(vni=7) / ETHERNET,
    "Geneve": OUTER / UDP(sport=50_000, dport=6081) / GENEVE(vni=7) / ETHERNET,
    "Geneve options": OUTER / UDP(sport=50_000, dport=6081) / GENEVE(vni=7, optionlen=2, options=bytes(8)) / ETHERNET,
    "two": OUTER / GRE() / IP(src="192.0.2.3", dst="192.0.2.4"),
}


@pytest.mark.parametrize("outer", TUNNELS.values(), ids=TUNNELS)
def test_a_segment_in_a_tunnel_is_found(outer: Any) -> None:
    """Clusters send packets between machines inside other packets."""
    assert list(SegmentReader([packet(outer / IP4 / TCP_HELLO), packet(outer / IP6 / TCP_HELLO)])) == [HELLO, HELLO_6]


def test_a_tunnel_without_a_segment_is_counted_by_its_content() -> None:
    nested: Any = OUTER
    for _ in range(9):
        nested /= IP(src="192.0.2.3", dst="192.0.2.4")
    vxlan = bytes(OUTER / UDP(sport=50_000, dport=4789) / VXLAN() / ETHERNET / IP4 / TCP_HELLO)
    reader = SegmentReader(
        [
            packet(nested / TCP_HELLO),
            packet(ETHERNET / PPPoE() / PPP(proto=0xC021) / b"x"),
            packet(OUTER / UDP(sport=50_000, dport=4789) / b"short"),
            packet(vxlan, cut_to=60),
            packet(bytes(OUTER / GRE())[:36], wire_bytes=90),
        ]
    )
    assert list(reader) == []
    assert reader.others == {
        "packet within many packets": 1,
        "PPPoE session": 1,
        "UDP": 1,
        "captured without its whole link header": 1,
        "captured without its whole GRE header": 1,
    }


@pytest.mark.parametrize("linktype", [0, 108])
@pytest.mark.parametrize("order", ["little", "big"])
def test_a_segment_is_found_behind_an_address_family(linktype: int, order: Any) -> None:
    """The number for IPv6 depends on the capturing machine, as does the byte order with link type 0."""
    found = [packet((2).to_bytes(4, order) + bytes(IP4 / TCP_HELLO), linktype=linktype)]
    found += [
        packet(family.to_bytes(4, order) + bytes(IP6 / TCP_HELLO), linktype=linktype) for family in (10, 24, 28, 30)
    ]
    assert list(SegmentReader(found)) == [HELLO, *[HELLO_6] * 4]


@pytest.mark.parametrize(
    ("ip", "found"),
    [
        pytest.param(IP4_WITH_OPTIONS, HELLO, id="IPv4"),
        pytest.param(IP6 / IPv6ExtHdrHopByHop(), HELLO_6, id="hop by hop"),
        pytest.param(IP6 / IPv6ExtHdrRouting(addresses=["fd00::c", "fd00::d"]), HELLO_6, id="routing"),
        pytest.param(IP6 / IPv6ExtHdrDestOpt(), HELLO_6, id="destination options"),
        pytest.param(IP6 / IPv6ExtHdrFragment(offset=0, m=1), HELLO_6, id="first fragment"),
        pytest.param(IP6 / IPv6ExtHdrHopByHop() / IPv6ExtHdrRouting() / IPv6ExtHdrDestOpt(), HELLO_6, id="several"),
        # Unlike other extension headers, this one counts its length in units of 4 bytes (RFC 4302).
        pytest.param(IP6_AUTHENTICATED, HELLO_6, id="authentication"),
    ],
)
def test_options_and_extension_headers_are_skipped(ip: Any, found: Segment) -> None:
    """The payload's length is the rest of IP's length after them."""
    assert list(SegmentReader([packet(ETHERNET / ip / TCP_HELLO)])) == [found]


def test_padding_of_a_short_frame_is_not_payload() -> None:
    ack = bytes(ETHERNET / IP4 / TCP(**PORTS, flags="A"))
    assert len(ack) == 54
    [segment] = SegmentReader([packet(ack + bytes(6))])
    assert segment[7:9] == (0, b"")


@pytest.mark.parametrize("link", [ETHERNET, ETHERNET / Dot1Q()])
def test_a_length_of_zero_means_the_packets_length(link: Any) -> None:
    """A capture contains such packets if the network card splits them into segments later."""
    payload = b"x" * 100_000
    super_packet = link / IP(src="10.0.0.1", dst="10.0.0.2", len=0) / TCP(**PORTS) / payload
    super_packet_6 = link / IPv6(src="fd00::a", dst="fd00::b", plen=0) / TCP(**PORTS) / payload
    assert [segment[7:9] for segment in SegmentReader([packet(super_packet), packet(super_packet_6)])] == [
        (100_000, payload)
    ] * 2


def test_later_fragments_are_not_segments() -> None:
    """They begin in the middle of the payload; the first fragment contains TCP's header."""
    first = ETHERNET / IP(src="10.0.0.1", dst="10.0.0.2", flags="MF") / TCP_HELLO
    later = ETHERNET / IP(src="10.0.0.1", dst="10.0.0.2", frag=185, proto=6) / TCP_HELLO
    later_6 = ETHERNET / IP6 / IPv6ExtHdrFragment(offset=185, nh=6) / bytes(TCP_HELLO)
    reader = SegmentReader([packet(first), packet(later), packet(later_6)])
    assert list(reader) == [HELLO]
    assert reader.others == {"later IPv4 fragment": 1, "later IPv6 fragment": 1}


def test_packets_other_than_tcp_are_counted_by_kind() -> None:
    found = [
        packet(ETHERNET / ARP()),
        packet(ETHERNET / IP4 / UDP() / b"data"),
        packet(ETHERNET / Dot1Q() / IP4 / UDP() / b"data"),
        packet(ETHERNET / IP4 / ICMP()),
        packet(ETHERNET / IP6 / ICMPv6EchoRequest()),
        packet(ETHERNET / IPv6(nh=59)),
        packet(Ether(type=0x88CC) / b"\0\0"),
        packet(Ether(type=0x1234) / b"\0\0"),
        packet(Ether(type=0x26) / bytes(0x26)),
        packet(b"1234", linktype=147),
        packet(bytes(20), linktype=0),
        packet(ETHERNET / IP4 / TCP_HELLO),
    ]
    reader = SegmentReader(found)
    assert list(reader) == [HELLO]
    assert reader.others == {
        "ARP": 1,
        "UDP": 2,
        "ICMP": 1,
        "ICMPv6": 1,
        "IP protocol 59": 1,
        "LLDP": 1,
        "EtherType 0x1234": 1,
        "IEEE 802.3": 1,
        "link type 147": 1,
        "loopback packets of another family": 1,
    }
    assert (reader.segments, reader.malformed) == (1, {})


QUICK = settings(database=None, derandomize=True)
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
        (changed(FRAME, 14, 0x65), "IPv4 header with version 6"),
        (changed(bytes(Ether() / IPv6() / TCP()), 14, 0x40), "IPv6 header with version 4"),
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


@pytest.mark.parametrize(("data", "what"), [(b"", "packet that ends inside its IP header"), (b"\x50", "IP version 5")])
def test_a_packet_without_link_header_may_be_malformed(data: bytes, what: str) -> None:
    assert read((0, 101, data, len(data))).malformed == {what: 1}


@pytest.mark.parametrize(
    ("cut_to", "what"), [(0, "link header"), (20, "IPv4 header"), (34, "TCP header"), (49, "TCP header")]
)
def test_a_packet_truncated_inside_its_headers_is_not_malformed(cut_to: int, what: str) -> None:
    """The snap length was too short, which is a different fault from a broken packet."""
    reader = read((0, 1, FRAME[:cut_to], len(FRAME)))
    assert reader.others == {f"captured without its whole {what}": 1}
    assert reader.malformed == {}


def test_a_header_is_read_if_it_extends_to_the_window() -> None:
    """The fields after the window are not needed. A truncated payload has its length on the wire."""
    assert read((0, 1, FRAME[:50], len(FRAME))).segments == 1
    for cut_to, captured in ((56, b""), (58, b""), (61, b"hel")):
        [segment] = SegmentReader([(0, 1, FRAME[:cut_to], len(FRAME))])
        assert segment[7:] == (5, captured)


@QUICK
@given(
    st.lists(st.tuples(st.integers(14, len(FRAME) - 1), st.integers(0, 255)), max_size=3), st.integers(14, len(FRAME))
)
def test_both_ways_of_decoding_give_the_same_result(spoils: list[tuple[int, int]], cut_to: int) -> None:
    """Plain packets are decoded in one step; behind an address family, the same packet is decoded header by header."""
    frame = FRAME
    for at, value in spoils:
        frame = changed(frame, at, value)
    data = frame[:cut_to]
    plain: Any = SegmentReader([(0, 1, data, len(frame))])
    stepwise: Any = SegmentReader([(0, 0, (2).to_bytes(4) + data[14:], len(frame) - 10)])
    assert list(plain) == list(stepwise)
    assert (plain.others, plain.malformed) == (stepwise.others, stepwise.malformed)
