"""Loads a path and records when data has arrived, to measure its rate.

Frames are counted by the last interface that they arrive on (/proc/net/dev), so that no process has to read them: a
receiver that is too slow would measure itself. Counter and clock are read together, repeatedly; a reading during which
this process was interrupted is dropped, and leaves a gap instead of a wrong point. A TCP stream loads a path that may
carry frames longer than the MTU, and its bytes are counted as if each segment were a frame. Other paths are loaded with
datagrams.
"""

import contextlib
import os
import socket
import time
from itertools import pairwise
from typing import Final

from .links import arrives_on

# The first part of a load fills queues, and lets a stream speed up.
_WARM_UP_SHARE: Final = 1 / 3
_STOP_SHARE: Final = 0.95
_PAYLOAD_BYTES: Final = 1472
# ip(7). An overlay network's interfaces have a smaller MTU, and the kernel does not split a message into datagrams that
# exceed it.
_IP_MTU: Final = 14
_IP_UDP_BYTES: Final = 20 + 8
# The kernel splits one long message into this many datagrams (udp(7), UDP_SEGMENT): Python is too slow to send them one
# by one.
_DATAGRAMS: Final = 20
_UDP_SEGMENT: Final = 103
_PAUSE_S: Final = 0.0002
# The pause between two readings of the counter; and how long a reading may take: ten times the usual time, but at least
# 0.2 ms. On an emulated CPU, a reading takes as long as an interruption does elsewhere.
_READ_EVERY_S: Final = 0.0005
_READ_WITHIN_S: Final = 0.0002
_TIMES_AS_LONG: Final = 10
_TIMED: Final = 5
# This is more than the two agents themselves exchange.
_BEGINNING_BYTES: Final = 8 * _PAYLOAD_BYTES
# The load is no larger than needed: a wire that must drop many packets has less time for the rest.
_OFFERED: Final = 1.1
# At the start, the load is larger: the queue must be full when the window opens, so that a pause of the sender does not
# empty it.
_OFFERED_FIRST: Final = 1.4
# Ethernet, IPv4 and TCP with its timestamp option (RFC 7323).
_HEADERS_BYTES: Final = 14 + 20 + 32
_READ_BYTES: Final = 1 << 20
_WAIT_S: Final = 10.0


class Sink:
    """Receives loads on one port: datagrams, which nothing reads, and one stream at a time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("", port))
        self._listener = socket.create_server(("", port))
        self._listener.settimeout(_WAIT_S)

    def close(self) -> None:
        """Stop receiving."""
        self._datagrams.close()
        self._listener.close()

    def accept(self) -> socket.socket:
        """Return the next stream."""
        connection, _ = self._listener.accept()
        connection.settimeout(_WAIT_S)
        return connection


def load(address: str, port: int, *, seconds: float, rate_bytes_per_s: float, stream: bool) -> None:
    """Load the path to a sink at an IPv4 address."""
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
        payload_bytes = min(_PAYLOAD_BYTES, out.getsockopt(socket.IPPROTO_IP, _IP_MTU) - _IP_UDP_BYTES)
        out.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, payload_bytes)
        _flood(out, seconds=seconds, rate_bytes_per_s=rate_bytes_per_s, payload_bytes=payload_bytes)


def watch(sink: Sink, *, seconds: float, rate_bytes_per_s: float, stream: bool) -> list[list[int]]:
    """Return how much of a load with the same arguments had arrived at which times, between its warm-up and its end.

    Returns [µs, bytes] each time that new data had arrived, both relative to the first; with Ethernet headers. Raises
    OSError: nothing arrives.
    """
    del rate_bytes_per_s
    with contextlib.closing(Counter(arrives_on())) as counter:
        return _watch_stream(sink, counter, seconds=seconds) if stream else _watch(counter, seconds=seconds)


class Counter:
    """An interface's counters of received data; see proc_pid_net(5) on /proc/net/dev."""

    def __init__(self, interface: str) -> None:
        self._interface = interface
        self._file = os.open("/proc/net/dev", os.O_RDONLY)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def read(self) -> tuple[int, int]:
        """Return bytes and frames received."""
        return received(os.pread(self._file, _READ_BYTES, 0).decode("ascii"), self._interface)

    def usual_s(self) -> float:
        """Return how long an uninterrupted reading takes here."""
        times_s = [time.monotonic()]
        for _ in range(_TIMED):
            self.read()
            times_s.append(time.monotonic())
        return min(later_s - earlier_s for earlier_s, later_s in pairwise(times_s))


def received(devices: str, interface: str) -> tuple[int, int]:
    """Return an interface's received bytes and frames (OSError: there is no such interface)."""
    for line in devices.splitlines():
        name, _, columns = line.partition(":")
        if name.strip() == interface:
            bytes_, frames = columns.split()[:2]
            return int(bytes_), int(frames)
    raise OSError(f"there is no interface {interface}")


class _Points:
    """The amounts of data that had arrived at each time in the window of a load.

    segment_bytes: payload of a stream's segments; a frame of many segments has their headers only once. None for
    datagrams.
    """

    def __init__(self, counter: Counter, *, seconds: float, segment_bytes: int | None = None) -> None:
        self._counter = counter
        self._segment_bytes = segment_bytes
        self._within_s = max(_READ_WITHIN_S, _TIMES_AS_LONG * counter.usual_s())
        began_s = time.monotonic()
        self._start_s = began_s + _WARM_UP_SHARE * seconds
        self._end_s = began_s + _STOP_SHARE * seconds
        self._next_s = self._start_s
        self._raw: list[tuple[float, int, int]] = []

    def look(self) -> bool:
        """Read the counter if it is due; return whether the window is still open."""
        before_s = time.monotonic()
        if self._next_s <= before_s < self._end_s:
            bytes_, frames = self._counter.read()
            now_s = time.monotonic()
            self._next_s = now_s + _READ_EVERY_S
            if now_s - before_s <= self._within_s and (not self._raw or bytes_ > self._raw[-1][1]):
                self._raw.append((now_s, bytes_, frames))
        return before_s < self._end_s

    def result(self) -> list[list[int]]:
        """Return the points as :func:`watch` does; none if nothing arrived in the window."""
        if not self._raw:
            return []
        first_s, first_bytes, first_frames = self._raw[0]
        return [
            [round((at_s - first_s) * 1_000_000), self._on_the_wire(bytes_ - first_bytes, frames - first_frames)]
            for at_s, bytes_, frames in self._raw
        ]

    def _on_the_wire(self, bytes_: int, frames: int) -> int:
        if self._segment_bytes is None:
            return bytes_
        return round((bytes_ - frames * _HEADERS_BYTES) * (1 + _HEADERS_BYTES / self._segment_bytes))


def _watch(counter: Counter, *, seconds: float) -> list[list[int]]:
    # The load begins when its first packets arrive, however far away the sender is.
    (before, _), deadline_s = counter.read(), time.monotonic() + _WAIT_S
    while counter.read()[0] < before + _BEGINNING_BYTES:
        if time.monotonic() > deadline_s:
            raise OSError("nothing of the load arrived")
        time.sleep(_PAUSE_S)
    points = _Points(counter, seconds=seconds)
    while points.look():
        time.sleep(_PAUSE_S)
    return points.result()


def _watch_stream(sink: Sink, counter: Counter, *, seconds: float) -> list[list[int]]:
    buffer = bytearray(_READ_BYTES)
    with sink.accept() as connection:
        segment_bytes = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        points = _Points(counter, seconds=seconds, segment_bytes=segment_bytes)
        # All data is read, so that the sender never waits; only data in the window counts.
        watching = True
        while connection.recv_into(buffer, _READ_BYTES, socket.MSG_TRUNC):
            watching = watching and points.look()
    return points.result()


def _flood(out: socket.socket, *, seconds: float, rate_bytes_per_s: float, payload_bytes: int) -> None:
    """Send more datagrams than the path can carry, in small bursts."""
    message = bytes(payload_bytes * _DATAGRAMS)
    packets_per_s = rate_bytes_per_s / payload_bytes
    began_s = time.monotonic()
    sent = 0
    while (passed_s := time.monotonic() - began_s) < seconds:
        ahead_s = min(passed_s, _WARM_UP_SHARE * seconds) * (_OFFERED_FIRST - _OFFERED)
        if sent > (passed_s * _OFFERED + ahead_s) * packets_per_s:
            time.sleep(_PAUSE_S)
            continue
        sent += _DATAGRAMS
        # The kernel reports a full queue, or that an earlier datagram was refused.
        with contextlib.suppress(OSError):
            out.send(message)
