"""Loads a path and counts what arrives, to measure its rate.

Frames are counted by the receiving interface itself (/proc/net/dev), so that nobody has to read them: a receiver that
is too slow would measure itself. A TCP stream loads a path that may carry frames longer than the
MTU, and its bytes are those that its segments would have on a wire. Other paths are loaded with datagrams.
"""

import contextlib
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from .links import ROLE_LINK

# The first part of a load fills queues, and lets a stream grow.
_WARM_UP_SHARE: Final = 1 / 3
_STOP_SHARE: Final = 0.95
_PAYLOAD_BYTES: Final = 1472
# The kernel cuts one long message into that many datagrams (udp(7), UDP_SEGMENT): one by one, Python is too slow.
_DATAGRAMS: Final = 20
_UDP_SEGMENT: Final = 103
_PAUSE_S: Final = 0.0002
# More than the two agents say to each other.
_BEGINNING_BYTES: Final = 8 * _PAYLOAD_BYTES
# No more than needed: a wire that must drop much has less time for what it keeps.
_OFFERED: Final = 1.1
# Ethernet, IPv4 and TCP with its timestamp option (RFC 7323).
_HEADERS_BYTES: Final = 14 + 20 + 32
_READ_BYTES: Final = 1 << 20
_WAIT_S: Final = 10.0


class Sink:
    """Takes loads on one port: datagrams, which nobody reads, and one stream at a time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("", port))
        self._listener = socket.create_server(("", port))
        self._listener.settimeout(_WAIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._datagrams.close()
        self._listener.close()

    def accept(self) -> socket.socket:
        """Return the next stream."""
        connection, _ = self._listener.accept()
        connection.settimeout(_WAIT_S)
        return connection


def load(address: str, port: int, *, seconds: float, rate_bytes_per_s: float, stream: bool) -> None:
    """Load the path to a sink.

    Args:
        address: IPv4 address of the sink.
        port: Its port.
        seconds: How long.
        rate_bytes_per_s: Rate of the link; a tenth more is offered. Not used for a stream, which finds it by itself.
        stream: One TCP stream instead of datagrams.
    """
    end_s = time.monotonic() + seconds
    if stream:
        with socket.create_connection((address, port), timeout=_WAIT_S) as connection:
            block = memoryview(bytes(_READ_BYTES))
            while time.monotonic() < end_s:
                connection.send(block)
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect((address, port))
        out.setblocking(False)
        out.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, _PAYLOAD_BYTES)
        _flood(out, end_s=end_s, packets_per_s=_OFFERED * rate_bytes_per_s / _PAYLOAD_BYTES)


def count(sink: Sink, *, seconds: float, rate_bytes_per_s: float, stream: bool) -> float:
    """Return the bytes per second that arrive from a load of the same arguments, Ethernet headers included.

    Raises:
        OSError: Nothing arrives.
    """
    del rate_bytes_per_s
    if stream:
        return _count_stream(sink, seconds=seconds)
    # The load begins when its first packets arrive, however far away they started.
    before, deadline_s = bytes_received(ROLE_LINK), time.monotonic() + _WAIT_S
    while bytes_received(ROLE_LINK) < before + _BEGINNING_BYTES:
        if time.monotonic() > deadline_s:
            raise OSError("nothing of the load arrived")
        time.sleep(_PAUSE_S)
    began_s = time.monotonic()
    time.sleep(_WARM_UP_SHARE * seconds)
    first_s, first = time.monotonic(), bytes_received(ROLE_LINK)
    time.sleep(max(0.0, began_s + _STOP_SHARE * seconds - time.monotonic()))
    last_s, last = time.monotonic(), bytes_received(ROLE_LINK)
    return (last - first) / (last_s - first_s)


def bytes_received(interface: str) -> int:
    """Return the interface's counter; see proc_pid_net(5) on /proc/net/dev."""
    for line in Path("/proc/net/dev").read_text(encoding="ascii").splitlines():
        name, _, columns = line.partition(":")
        if name.strip() == interface:
            return int(columns.split()[0])
    raise OSError(f"there is no interface {interface}")


def _count_stream(sink: Sink, *, seconds: float) -> float:
    buffer = bytearray(_READ_BYTES)
    received = 0
    with sink.accept() as connection:
        segment_bytes = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        began_s = first_s = last_s = time.monotonic()
        start_s, end_s = began_s + _WARM_UP_SHARE * seconds, began_s + _STOP_SHARE * seconds
        # To its end, so that the sender never waits; only what falls into the window counts.
        while got := connection.recv_into(buffer, _READ_BYTES, socket.MSG_TRUNC):
            now_s = time.monotonic()
            if now_s < start_s:
                first_s = now_s
            elif now_s <= end_s:
                received += got
                last_s = now_s
    if not received:
        raise OSError("nothing of the stream arrived in the window")
    return received * (1 + _HEADERS_BYTES / segment_bytes) / (last_s - first_s)


def _flood(out: socket.socket, *, end_s: float, packets_per_s: float) -> None:
    """Send datagrams in small bursts; those that find the interface's queue full are not sent again."""
    message = bytes(_PAYLOAD_BYTES * _DATAGRAMS)
    began_s = time.monotonic()
    sent = 0
    while (now_s := time.monotonic()) < end_s:
        if sent > (now_s - began_s) * packets_per_s:
            time.sleep(_PAUSE_S)
            continue
        sent += _DATAGRAMS
        # The kernel says so when a queue is full, or when an earlier datagram was refused.
        with contextlib.suppress(OSError):
            out.send(message)
