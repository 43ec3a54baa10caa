"""Bulk downloads on connections that were placed before.

MSG_TRUNC lets the kernel drop the received bytes instead of copying them (tcp(7)), so that one slow Python process
keeps up with several gigabits per second.
"""

import select
import socket
import time
from dataclasses import dataclass

_READ_BYTES = 1 << 20
_STATUS_LINE = b"HTTP/1.1 200 "


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """Bytes that arrived in the window, one entry per download, and how many downloads ended before the window did."""

    window_bytes: tuple[int, ...]
    ended_early: int


def download(connections: list[socket.socket], *, request: bytes, start_s: float, end_s: float) -> Downloads:
    """Start a download on every connection, read until ``end_s``, count what arrives from ``start_s`` on.

    Times are CLOCK_MONOTONIC seconds. The connections are closed at the end.

    Raises:
        ConnectionError: A response is not a 200.
    """
    poller = select.epoll()
    by_fd = {connection.fileno(): index for index, connection in enumerate(connections)}
    for connection in connections:
        connection.sendall(request)
        connection.setblocking(False)
        poller.register(connection, select.EPOLLIN)
    window_bytes = [0] * len(connections)
    answered: set[int] = set()
    ended_early = 0
    sink = bytearray(_READ_BYTES)
    while (now_s := time.monotonic()) < end_s:
        for fd, _ in poller.poll(end_s - now_s):
            index = by_fd[fd]
            if index in answered:
                count = connections[index].recv_into(sink, _READ_BYTES, socket.MSG_TRUNC)
            else:
                # Whoever answers first is read at once: waiting for the others would make it a slow reader.
                count = connections[index].recv_into(sink)
                # No further than it was filled: behind that stands another connection's answer.
                answer = bytes(sink[: min(count, 64)])
                if not answer.startswith(_STATUS_LINE):
                    raise ConnectionError(f"bulk download answered with {answer!r}")
                answered.add(index)
            if count == 0:
                poller.unregister(fd)
                ended_early += 1
            elif time.monotonic() >= start_s:
                window_bytes[index] += count
    for connection in connections:
        connection.close()
    return Downloads(window_bytes=tuple(window_bytes), ended_early=ended_early)
