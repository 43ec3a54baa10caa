"""Captures the packets on the role's link.

tcpdump(8) itself cannot be used: started by root, it always switches to another user, which needs capabilities that
this container lacks. It only compiles the filter; the packets come from a packet(7) socket. The file is a pcapng
(https://ietf-opsawg-wg.github.io/draft-ietf-opsawg-pcap/draft-ietf-opsawg-pcapng.html), which also contains the number
of packets that the kernel dropped.
"""

import ctypes
import socket
import struct
import subprocess
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from tuneproof.lab.protocol.children import Child

from .links import arrives_on

FILE: Final = Path("/var/log/link.pcapng")
_EVERY_PROTOCOL: Final = 0x0003
_ATTACH_FILTER: Final = 26
_RCVBUFFORCE: Final = 33
_TIMESTAMPNS: Final = 35
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_BUFFER_BYTES: Final = 32 << 20
# Bytes of packets, with their headers, that are kept in memory until the end; the oldest ones are dropped first.
_MOST_BYTES: Final = 64 << 20
_SECTION: Final = struct.Struct("=IHHq")  # byte order, version, an unknown length
_INTERFACE: Final = struct.Struct("=HHIHHB3xI")  # with its clock's resolution as a negative power of ten
_PACKET: Final = struct.Struct("=IIIII")
_STATISTICS: Final = struct.Struct("=IIIHHQI")  # with the dropped packets (isb_ifdrop)
_SECTION_BLOCK, _INTERFACE_BLOCK, _STATISTICS_BLOCK, _PACKET_BLOCK = 0x0A0D0D0A, 1, 5, 6
_ETHERNET: Final = 1
_INSTRUCTION: Final = struct.Struct("=HBBI")
_TIMESTAMP: Final = struct.Struct("=qq")


class Capture:
    """A capture with a pcap-filter(7) in a process of its own (OSError: it is invalid, or capturing is not allowed)."""

    def __init__(self, *, filter_: str, snap_bytes: int) -> None:
        self._child = Child(lambda pipe: _capture(pipe, filter_, snap_bytes))
        if fault := self._child.receive():
            raise OSError(f"nothing can be captured: {fault}")

    def stop(self) -> str:
        """End the capture, with everything that has arrived so far, and return the file's path."""
        self._child.pipe.send("")
        return self._child.result()


def compile_filter(filter_: str) -> bytes:
    """Return a filter's instructions for the kernel (Documentation/networking/filter.rst); fails if it is invalid."""
    listing = subprocess.run(
        ["tcpdump", "-y", "EN10MB", "-ddd", filter_], capture_output=True, check=True, text=True
    ).stdout
    # The first line is the number of instructions.
    rows = [[int(word) for word in line.split()] for line in listing.splitlines()[1:]]
    return b"".join(_INSTRUCTION.pack(*row) for row in rows)


def _capture(pipe: Connection, filter_: str, snap_bytes: int) -> str:
    """Send the reason why this cannot capture, or an empty text; then capture until a text arrives."""
    try:
        opened = _open(filter_)
    except (OSError, subprocess.CalledProcessError) as error:
        pipe.send(f"{type(error).__name__}: {error}")
        return ""
    kept = Newest(most_bytes=_MOST_BYTES)
    with opened as packets:
        packets.settimeout(0.1)
        pipe.send("")
        # The capture ends only once the socket's buffer is empty.
        is_empty = False
        while not (is_empty and pipe.poll()):
            try:
                kept.add(_received(packets, snap_bytes))
            except TimeoutError:
                is_empty = True
            else:
                is_empty = False
        _, lost = struct.unpack("II", packets.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
    FILE.write_bytes(b"".join([*head(snap_bytes), *kept.records, dropped(lost)]))
    return str(FILE)


def head(snap_bytes: int) -> Iterator[bytes]:
    """Yield the start of a file: one section with one interface, with a clock in nanoseconds."""
    yield _block(_SECTION_BLOCK, _SECTION.pack(0x1A2B3C4D, 1, 0, -1))
    yield _block(_INTERFACE_BLOCK, _INTERFACE.pack(_ETHERNET, 0, snap_bytes, 9, 1, 9, 0))


def dropped(packets: int) -> bytes:
    """Return the end of a file, with the number of packets that the kernel dropped."""
    return _block(_STATISTICS_BLOCK, _STATISTICS.pack(0, 0, 0, 5, 8, packets, 0))


def _block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    size = len(body) + 12
    return b"".join([struct.pack("=II", kind, size), body, struct.pack("=I", size)])


def _open(filter_: str) -> socket.socket:
    # With protocol 0, the socket receives nothing until bind(), when the filter is already attached.
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    instructions = compile_filter(filter_)
    buffer = ctypes.create_string_buffer(instructions)
    count = len(instructions) // _INSTRUCTION.size
    opened.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HL", count, ctypes.addressof(buffer)))
    opened.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, _BUFFER_BYTES)
    opened.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
    opened.bind((arrives_on(), _EVERY_PROTOCOL))
    return opened


class Newest:
    """The newest records, up to this many bytes in total."""

    def __init__(self, *, most_bytes: int) -> None:
        self.records: deque[bytes] = deque()
        self._free_bytes = most_bytes

    def add(self, record: bytes) -> None:
        """Keep a record; the oldest are dropped if there is no room."""
        self.records.append(record)
        self._free_bytes -= len(record)
        while self._free_bytes < 0:
            self._free_bytes += len(self.records.popleft())


def _received(packets: socket.socket, snap_bytes: int) -> bytes:
    frame, ancillary, _, _ = packets.recvmsg(65536 + 14, socket.CMSG_SPACE(_TIMESTAMP.size))
    seconds, nanoseconds = _TIMESTAMP.unpack(ancillary[0][2])
    return record(frame, time_ns=seconds * 1_000_000_000 + nanoseconds, snap_bytes=snap_bytes)


def record(frame: bytes, *, time_ns: int, snap_bytes: int) -> bytes:
    """Return a packet of a file, truncated to this many bytes."""
    data = frame[:snap_bytes]
    return _block(_PACKET_BLOCK, _PACKET.pack(0, time_ns >> 32, time_ns & 0xFFFFFFFF, len(data), len(frame)) + data)
