"""Finds the beginning and length of TCP, UDP or ICMP in a packet.

It reads link layers, IPv4 (RFC 791), IPv6 with extensions (RFC 8200), and encapsulated packets: PPPoE (RFC 2516), MPLS
(RFC 3032), IP in IP (RFC 2003), GRE (RFC 2784, 2890), VXLAN (RFC 7348), Geneve (RFC 8926).

Link types: https://www.tcpdump.org/linktypes.html; there, LINKTYPE_LINUX_SLL.html and LINKTYPE_LINUX_SLL2.html show the
layouts of Linux "cooked" captures, which tcpdump's interface ``any`` yields. All other packets are counted under a
limited number of kinds (https://www.iana.org/assignments/ieee-802-numbers and /protocol-numbers).
"""

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

_ETHERTYPES: Final[Mapping[int, str]] = {
    0x0806: "ARP",
    0x8035: "RARP",
    0x8847: "MPLS",
    0x8863: "PPPoE discovery",
    0x8864: "PPPoE session",
    0x888E: "EAPOL",
    0x88CC: "LLDP",
}
# Smaller values are lengths of IEEE 802.3 frames, such as those of the spanning tree protocol.
_SMALLEST_ETHERTYPE: Final = 0x0600
_PROTOCOLS: Final[Mapping[int, str]] = {
    1: "ICMP",
    2: "IGMP",
    17: "UDP",
    47: "GRE",
    50: "ESP",
    58: "ICMPv6",
    89: "OSPF",
    112: "VRRP",
    132: "SCTP",
}


class OtherPacketError(Exception):
    """A packet that seems valid, but has no IP payload that can be found."""


class MalformedPacketError(Exception):
    """A packet with contradictory headers."""


class CutPacketError(Exception):
    """A packet that ends inside its headers: truncated by the capture, or malformed."""


def ethertype_name(ethertype: int) -> str:
    """Return the name of the protocol in an Ethernet frame."""
    if ethertype < _SMALLEST_ETHERTYPE:
        return "IEEE 802.3"
    return _ETHERTYPES.get(ethertype, f"EtherType 0x{ethertype:04x}")


def protocol_name(protocol: int) -> str:
    """Return the name of the protocol in an IP packet."""
    return _PROTOCOLS.get(protocol, f"IP protocol {protocol}")


ETHERNET: Final = 1
LINUX_COOKED: Final = 113
LINUX_COOKED_2: Final = 276
# BSD loopback: the header is the address family, as the capturing machine numbers it, in either byte order.
_LOOPBACKS: Final = frozenset({0, 108})
# LINKTYPE_RAW is 101; some systems wrote 12 or 14 instead. 228 is for IPv4 only, 229 for IPv6 only.
RAW_IP: Final = 101
_RAW_IPS: Final = frozenset({12, 14, RAW_IP, 228, 229})

IPV4: Final = 0x0800
IPV6: Final = 0x86DD
_VLAN_TAGS: Final = frozenset({0x8100, 0x88A8, 0x9100})
_VLAN_TAG_BYTES: Final = 4
_IP_VERSIONS: Final[Mapping[int, int]] = {4: IPV4, 6: IPV6}
# AF_INET is 2 everywhere; AF_INET6 is 10 on Linux, 24 on NetBSD and OpenBSD, 28 on FreeBSD, 30 on Darwin.
_FAMILIES: Final[Mapping[int, int]] = {2: IPV4, 10: IPV6, 24: IPV6, 28: IPV6, 30: IPV6}
_FAMILY_BYTES: Final = 4

_PPPOE: Final = 0x8864
_MPLS: Final = 0x8847
_PPP_TYPES: Final[Mapping[int, int]] = {0x0021: IPV4, 0x0057: IPV6}

# Position of the EtherType, and length of the header.
_WITH_ETHERTYPE: Final[Mapping[int, tuple[int, int]]] = {
    ETHERNET: (12, 14),
    LINUX_COOKED: (14, 16),
    LINUX_COOKED_2: (0, 20),
}


def network_layer(linktype: int, data: bytes) -> tuple[int, int]:
    """Return the EtherType of the network layer, and the index of its first byte.

    Raises:
        OtherPacketError: The link type is unknown, or a loopback header has an unknown address family.
        MalformedPacketError: An IP packet without a link header has an unknown version.
        CutPacketError: The packet ends inside its link header.
    """
    if linktype in _WITH_ETHERTYPE:
        return _behind_ethertype(data, *_WITH_ETHERTYPE[linktype])
    if linktype in _RAW_IPS:
        if not data:
            raise CutPacketError("IP header")
        version = data[0] >> 4
        if version not in _IP_VERSIONS:
            raise MalformedPacketError(f"IP version {version}")
        return _IP_VERSIONS[version], 0
    if linktype in _LOOPBACKS:
        return _behind_family(data)
    raise OtherPacketError(f"link type {linktype}")


def _behind_ethertype(data: bytes, type_at: int, at: int) -> tuple[int, int]:
    _need(data, at, "link header")
    ethertype = int.from_bytes(data[type_at : type_at + 2])
    while ethertype in _VLAN_TAGS:
        # A tag's last two bytes are the next EtherType.
        at += _VLAN_TAG_BYTES
        _need(data, at, "VLAN tag")
        ethertype = int.from_bytes(data[at - 2 : at])
    return ethertype, at


def _behind_family(data: bytes) -> tuple[int, int]:
    if len(data) < _FAMILY_BYTES:
        raise CutPacketError("link header")
    # Families are small numbers: in the wrong byte order, none equals another.
    family = int.from_bytes(data[:_FAMILY_BYTES])
    if family not in _FAMILIES:
        family = int.from_bytes(data[:_FAMILY_BYTES], "little")
    if family not in _FAMILIES:
        # They count as one kind, since a hostile file could have four billion kinds.
        raise OtherPacketError("loopback packets of another family")
    return _FAMILIES[family], _FAMILY_BYTES


_IPV4_BYTES: Final = 20
_IPV4: Final = struct.Struct("!BxH2xHxB2x4s4s")  # version and length, total length, fragment, protocol, addresses
_FRAGMENT_OFFSET: Final = 0x1FFF  # the upper three bits are flags

_IPV6_BYTES: Final = 40
_IPV6: Final = struct.Struct("!B3xHBx16s16s")  # version, payload length, next header, addresses
_FRAGMENT: Final = 44
_AUTHENTICATION: Final = 51
# Hop-by-hop options, routing, destination options, mobility, HIP and shim6 have the same layout.
_EXTENSIONS: Final = frozenset({0, 43, _FRAGMENT, _AUTHENTICATION, 60, 135, 139, 140})
_EXTENSION_UNIT_BYTES: Final = 8


_PPPOE_BYTES: Final = 8
_LABEL_BYTES: Final = 4
_UDP: Final = 17
_UDP_BYTES: Final = 8
_GRE: Final = 47
_GRE_BYTES: Final = 4
_GRE_OPTIONS: Final = 0b1011_0000  # checksum, key, sequence number: four bytes each
_IP_IN_IP: Final[Mapping[int, int]] = {4: IPV4, 41: IPV6}
_GENEVE_PORT: Final = 6081
# IANA's, and Linux's own default, which flannel and Cilium use.
_VXLAN_PORTS: Final = frozenset({4789, 8472})
_VXLAN_BYTES: Final = 8  # also the length of Geneve's header without options
_GENEVE_OPTIONS: Final = 0x3F  # their length in 4-byte words
_BRIDGED: Final = 0x6558  # an Ethernet frame
_DEEPEST: Final = 4


class TransportPlace(NamedTuple):
    """The position of the TCP segment, or other payload, in an IP packet."""

    source: bytes  # the address that it comes from, 4 or 16 bytes
    destination: bytes  # the address that it goes to
    protocol: int  # its IP protocol number
    at: int  # index of its first byte
    size_bytes: int  # its length on the wire, with its header; may be negative in an invalid packet


def transport_place(linktype: int, data: bytes, wire_bytes: int) -> TransportPlace:
    """Find the payload of the IP packet in a captured packet; of nested IP packets, the innermost.

    Its length is computed from the IP header: a frame may be padded, and its capture truncated. If the length field is
    0, the length on the wire is used: the kernel captures packets before segmentation (TSO), which may be longer than
    the field allows.

    Raises:
        OtherPacketError: There is no IP packet, only a later fragment, or too many nested packets.
        MalformedPacketError: A header contradicts itself.
        CutPacketError: The packet ends inside its headers.
    """
    ethertype, at = network_layer(linktype, data)
    for _ in range(_DEEPEST):
        place = _behind_network(ethertype, data, at, wire_bytes)
        inner = _within(data, place)
        if inner is None:
            return place
        ethertype, at = inner
    raise OtherPacketError("packet within many packets")


def _behind_network(ethertype: int, data: bytes, at: int, wire_bytes: int) -> TransportPlace:
    if ethertype == _PPPOE:
        _need(data, at + _PPPOE_BYTES, "PPPoE header")
        protocol = int.from_bytes(data[at + _PPPOE_BYTES - 2 : at + _PPPOE_BYTES])
        ethertype, at = _PPP_TYPES.get(protocol, _PPPOE), at + _PPPOE_BYTES
    if ethertype == _MPLS:
        ethertype, at = _behind_labels(data, at)
    if ethertype == IPV4:
        return _behind_ipv4(data, at, wire_bytes)
    if ethertype == IPV6:
        return _behind_ipv6(data, at, wire_bytes)
    raise OtherPacketError(ethertype_name(ethertype))


def _behind_labels(data: bytes, at: int) -> tuple[int, int]:
    is_last = False
    while not is_last:
        _need(data, at + _LABEL_BYTES + 1, "MPLS label")
        is_last = bool(data[at + _LABEL_BYTES - 2] & 1)
        at += _LABEL_BYTES
    return _IP_VERSIONS.get(data[at] >> 4, _MPLS), at


def _within(data: bytes, place: TransportPlace) -> tuple[int, int] | None:
    """Return the EtherType and index of the encapsulated packet; None if there is none."""
    if place.protocol in _IP_IN_IP:
        return _IP_IN_IP[place.protocol], place.at
    if place.protocol == _GRE:
        _need(data, place.at + _GRE_BYTES, "GRE header")
        flags, ethertype = data[place.at], int.from_bytes(data[place.at + 2 : place.at + 4])
        at = place.at + _GRE_BYTES + 4 * (flags & _GRE_OPTIONS).bit_count()
    elif place.protocol == _UDP and len(data) >= (at := place.at + _UDP_BYTES) + _VXLAN_BYTES:
        port = int.from_bytes(data[place.at + 2 : place.at + 4])
        if port in _VXLAN_PORTS:
            ethertype, at = _BRIDGED, at + _VXLAN_BYTES
        elif port == _GENEVE_PORT:
            ethertype = int.from_bytes(data[at + 2 : at + 4])
            at += _VXLAN_BYTES + 4 * (data[at] & _GENEVE_OPTIONS)
        else:
            return None
    else:
        return None
    type_at, header_bytes = _WITH_ETHERTYPE[ETHERNET]
    return _behind_ethertype(data, at + type_at, at + header_bytes) if ethertype == _BRIDGED else (ethertype, at)


def _need(data: bytes, end: int, what: str) -> None:
    if len(data) < end:
        raise CutPacketError(what)


def _behind_ipv4(data: bytes, at: int, wire_bytes: int) -> TransportPlace:
    if len(data) < at + _IPV4_BYTES:
        raise CutPacketError("IPv4 header")
    version, total_bytes, fragment, protocol, source, destination = _IPV4.unpack_from(data, at)
    header_bytes = (version & 0x0F) * 4
    if version >> 4 != 4:  # noqa: PLR2004  # IPv4
        raise MalformedPacketError(f"IPv4 header with version {version >> 4}")
    if header_bytes < _IPV4_BYTES:
        raise MalformedPacketError(f"IPv4 header of {header_bytes} bytes")
    if fragment & _FRAGMENT_OFFSET:
        raise OtherPacketError("later IPv4 fragment")
    end = at + total_bytes if total_bytes else wire_bytes
    start = at + header_bytes
    return TransportPlace(source, destination, protocol, start, end - start)


def _behind_ipv6(data: bytes, at: int, wire_bytes: int) -> TransportPlace:
    if len(data) < at + _IPV6_BYTES:
        raise CutPacketError("IPv6 header")
    version, payload_bytes, kind, source, destination = _IPV6.unpack_from(data, at)
    if version >> 4 != 6:  # noqa: PLR2004  # IPv6
        raise MalformedPacketError(f"IPv6 header with version {version >> 4}")
    start = at + _IPV6_BYTES
    end = start + payload_bytes if payload_bytes else wire_bytes
    while kind in _EXTENSIONS:
        if len(data) < start + _EXTENSION_UNIT_BYTES:
            raise CutPacketError("IPv6 extension header")
        if kind == _FRAGMENT and int.from_bytes(data[start + 2 : start + 4]) >> 3:
            raise OtherPacketError("later IPv6 fragment")
        kind, start = data[start], start + _extension_bytes(kind, data[start + 1])
    return TransportPlace(source, destination, kind, start, end - start)


def _extension_bytes(kind: int, length: int) -> int:
    if kind == _FRAGMENT:
        return _EXTENSION_UNIT_BYTES
    if kind == _AUTHENTICATION:
        return (length + 2) * 4  # RFC 4302
    return (length + 1) * _EXTENSION_UNIT_BYTES
