"""Bulk downloads on open connections.

MSG_TRUNC lets the kernel drop the received bytes instead of copying them (tcp(7)), so that one slow Python process
keeps up with several gigabits per second.
"""

import math
import select
import socket
import time
from dataclasses import dataclass

_READ_BYTES = 1 << 20
_STATUS_LINE = b"HTTP/1.1 200 "


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """The result of downloads."""

    window_bytes: tuple[int, ...]  # by download, from the start of the window
    ended_early: int  # downloads that ended before the window did, by FIN or by a reset
    ended_s: float  # when the last download ended, in CLOCK_MONOTONIC seconds
    unexpected: str | None = None  # a message about a response that is not a 200, which ends all downloads


def download(
    connections: list[socket.socket], *, start_s: float = -math.inf, end_s: float = math.inf, stop_fd: int | None = None
) -> Downloads:
    """Read requested downloads until ``end_s``, or until all have ended, or there is something to read on ``stop_fd``.

    Only bytes read after ``start_s`` (CLOCK_MONOTONIC seconds) are counted. The connections are closed at the end.
    """
    running = _Running(connections, start_s=start_s)
    poller = select.epoll()
    if stop_fd is not None:
        poller.register(stop_fd, select.EPOLLIN)
    for fd in running.left:
        poller.register(fd, select.EPOLLIN)
    while running.left and running.unexpected is None and (now_s := time.monotonic()) < end_s:
        ready = {fd for fd, _ in poller.poll(None if end_s == math.inf else end_s - now_s)}
        for fd in ready - {stop_fd}:
            if running.has_ended(fd):
                poller.unregister(fd)
                del running.left[fd]
        # This comes last, so that everything that has arrived is counted.
        if stop_fd in ready:
            break
    ended_s = time.monotonic()
    for connection in connections:
        connection.close()
    return Downloads(
        window_bytes=tuple(running.window_bytes),
        ended_early=len(connections) - len(running.left),
        ended_s=ended_s,
        unexpected=running.unexpected,
    )


class _Running:
    def __init__(self, connections: list[socket.socket], *, start_s: float) -> None:
        self._connections = connections
        self._start_s = start_s
        self._answered: set[int] = set()
        self._sink = bytearray(_READ_BYTES)
        # The download of each file descriptor, without those that have ended.
        self.left = {connection.fileno(): index for index, connection in enumerate(connections)}
        self.window_bytes = [0] * len(connections)
        self.unexpected: str | None = None
        for connection in connections:
            connection.setblocking(False)

    def has_ended(self, fd: int) -> bool:
        """Read what has arrived on a connection; return whether its download has ended, by FIN or by a reset."""
        index = self.left[fd]
        try:
            # The kernel copies only the first data of a response, and drops everything else (see above).
            flags = socket.MSG_TRUNC if fd in self._answered else 0
            count = self._connections[index].recv_into(self._sink, _READ_BYTES, flags)
        except BlockingIOError:
            return False
        except OSError:
            count = 0
        if fd not in self._answered:
            self._answered.add(fd)
            # The rest of the buffer is from another connection's response.
            answer = bytes(self._sink[: min(count, 64)])
            if not answer.startswith(_STATUS_LINE):
                self.unexpected = f"bulk download answered with {answer!r}"
        if time.monotonic() >= self._start_s:
            self.window_bytes[index] += count
        return count == 0
