"""Capture files, built byte by byte: valid files, and files as a broken or hostile program might write them."""

import struct
from collections.abc import Iterable

from tuneproof.explain.parse.capture.framing import Packet

SECONDS = 1_700_000_000
SECTION_HEADER, INTERFACE, OLD_PACKET, SIMPLE_PACKET, STATISTICS, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 5, 6
TIME_RESOLUTION, TIME_OFFSET = 9, 14
PCAP_HEADER_BYTES, RECORD_BYTES = 24, 16


def packet(number: int, *, linktype: int = 1, size_bytes: int = 60, wire_bytes: int | None = None) -> Packet:
    data = bytes((number + at) % 256 for at in range(size_bytes))
    return SECONDS * 10**9 + number * 1000, linktype, data, size_bytes if wire_bytes is None else wire_bytes


def pcap(
    packets: Iterable[Packet],
    *,
    order: str = "<",
    nanoseconds: bool = False,
    linktype: int = 1,
    version: tuple[int, int] = (2, 4),
) -> bytes:
    magic, unit_ns = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    parts = [struct.pack(order + "IHHiIII", magic, *version, 0, 0, 262_144, linktype)]
    for time_ns, _, data, wire_bytes in packets:
        seconds, fraction_ns = divmod(time_ns, 10**9)
        parts += [record(seconds, fraction_ns // unit_ns, len(data), wire_bytes, order=order), data]
    return b"".join(parts)


def record(seconds: int, fraction: int, captured_bytes: int, wire_bytes: int, *, order: str = "<") -> bytes:
    return struct.pack(order + "IIII", seconds, fraction, captured_bytes, wire_bytes)


def block(kind: int, body: bytes, *, order: str = "<") -> bytes:
    """Return a pcapng block, padded to a multiple of 4 bytes."""
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def section(*, order: str = "<", major: int = 1) -> bytes:
    return block(SECTION_HEADER, struct.pack(order + "IHHq", 0x1A2B3C4D, major, 0, -1), order=order)


def interface(*options: tuple[int, bytes], linktype: int = 1, snap_bytes: int = 0, order: str = "<") -> bytes:
    """Return an interface's description with options, each a code and a value."""
    body = struct.pack(order + "HHI", linktype, 0, snap_bytes)
    return block(INTERFACE, body + _written(options, order), order=order)


def statistics(*options: tuple[int, bytes], number: int = 0, order: str = "<") -> bytes:
    """Return an interface's statistics with options, each a code and a value."""
    return block(STATISTICS, struct.pack(order + "III", number, 0, 0) + _written(options, order), order=order)


def _written(options: Iterable[tuple[int, bytes]], order: str) -> bytes:
    parts = [struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4) for code, value in options]
    return b"".join([*parts, bytes(4)]) if parts else b""


def enhanced(data: bytes, *, number: int = 0, ticks: int = 0, wire_bytes: int | None = None, order: str = "<") -> bytes:
    wire = len(data) if wire_bytes is None else wire_bytes
    head = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), wire)
    return block(ENHANCED_PACKET, head + data, order=order)


def old(data: bytes, *, ticks: int = 0) -> bytes:
    """Return an obsolete packet block, the kind that enhanced packet blocks replaced."""
    head = struct.pack("<HHIIII", 0, 3, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(OLD_PACKET, head + data)


def simple(data: bytes, *, wire_bytes: int) -> bytes:
    return block(SIMPLE_PACKET, struct.pack("<I", wire_bytes) + data)


def pcapng(packets: Iterable[Packet], *, order: str = "<") -> bytes:
    """Return a pcapng file with one section and one interface with a clock in nanoseconds."""
    parts = [section(order=order), interface((TIME_RESOLUTION, b"\x09"), order=order)]
    parts += [
        enhanced(data, ticks=time_ns, wire_bytes=wire_bytes, order=order) for time_ns, _, data, wire_bytes in packets
    ]
    return b"".join(parts)
