"""Slow readers: downloads that are read byte by byte, so that the rest has to wait somewhere in front of them."""

import errno
import fcntl
import select
import socket
import struct
import termios
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from tuneproof.lab.protocol.loadgen import SlowReadersSeen, SlowReading

from . import http1
from .connect_storm import connect_error, errno_name, reset_all

_STATUS_LINE = b"HTTP/1.1 200 "
# How soon readers in the background notice that they are told to end.
_LISTEN_EVERY_S = 0.05
_CLOSED = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR


def run(asked: SlowReading, told: threading.Event) -> SlowReadersSeen:
    """Ask for a file on some connections, read a little of each per interval, reset them when the event is set.

    Raises:
        ConnectionError: An answer is not a 200.
    """
    readers = _Readers(request=http1.get(asked.path, host=asked.address, trial="slow_readers"))
    try:
        began_s = time.monotonic()
        for _ in range(asked.count):
            readers.start((asked.address, asked.port))
        tick_s = began_s + asked.interval_s
        while not told.is_set():
            now_s = time.monotonic()
            if now_s >= tick_s:
                readers.read_each(asked.read_bytes)
                tick_s += asked.interval_s
            else:
                readers.look(min(tick_s - now_s, _LISTEN_EVERY_S))
        readers.look(0.0)
        readers.check_answers()
        return SlowReadersSeen(
            alive=len(readers.open),
            ended=readers.ended,
            failed=dict(readers.failed),
            read_bytes=sum(len(received) for received in readers.received.values()),
            unread_bytes=sum(_unread_bytes(connection) for connection in readers.received),
        )
    finally:
        readers.close()


class InBackground:
    """Readers that read until they are told to end, while other jobs are done."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._told = threading.Event()
        self._running: Future[SlowReadersSeen] | None = None

    def start(self, asked: SlowReading) -> None:
        """Begin.

        Raises:
            RuntimeError: Some read already.
        """
        if self._running is not None:
            raise RuntimeError("slow readers are there already")
        self._told.clear()
        self._running = self._pool.submit(lambda: run(asked, self._told))

    def end(self) -> SlowReadersSeen:
        """End them and return what :func:`run` returns.

        Raises:
            RuntimeError: There are none.
            ConnectionError: As :func:`run`.
        """
        if self._running is None:
            raise RuntimeError("there are no slow readers")
        running, self._running = self._running, None
        self._told.set()
        return running.result()

    def close(self) -> None:
        """End them if there are any, and wait for it."""
        self._told.set()
        self._pool.shutdown()


class _Readers:
    """The connections.

    Attributes:
        open: Those that stand, by file descriptor.
        received: What was read of each that ever stood.
        ended: How many the server closed.
        failed: How many never stood, by the errno's name.
    """

    def __init__(self, *, request: bytes) -> None:
        self._request = request
        self._poller = select.epoll()
        self._connecting: dict[int, socket.socket] = {}
        self.open: dict[int, socket.socket] = {}
        self.received: dict[socket.socket, bytearray] = {}
        self.ended = 0
        self.failed: Counter[str] = Counter()

    def start(self, target: tuple[str, int]) -> None:
        """Begin a connection."""
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        number = connection.connect_ex(target)
        if number not in (0, errno.EINPROGRESS):
            self.failed[errno_name(number)] += 1
            connection.close()
            return
        self._connecting[connection.fileno()] = connection
        self._poller.register(connection, select.EPOLLOUT)

    def look(self, longest_s: float) -> None:
        """Send the requests of connections that stand, take note of what was closed; if nothing happens, wait."""
        for fd, _ in self._poller.poll(longest_s, max(1, len(self._connecting) + len(self.open))):
            if fd in self._connecting:
                self._ask(fd)
            else:
                self._end(fd)

    def read_each(self, most_bytes: int) -> None:
        """Read so many bytes at most of every connection on which some wait."""
        for fd, connection in list(self.open.items()):
            try:
                chunk = connection.recv(most_bytes)
            except BlockingIOError:
                continue
            except OSError:
                chunk = b""
            self.received[connection] += chunk
            if not chunk:
                self._end(fd)

    def check_answers(self) -> None:
        """Raise ConnectionError if an answer has begun and is not a 200: an error page would wait nowhere."""
        for connection, received in self.received.items():
            answer = bytes(received)
            # What a connection that was reset has no more of is not looked at.
            with suppress(OSError):
                answer += connection.recv(64, socket.MSG_PEEK)
            if answer[: len(_STATUS_LINE)] != _STATUS_LINE[: len(answer)]:
                raise ConnectionError(f"slow reader answered with {answer[:64]!r}")

    def close(self) -> None:
        """Reset all connections."""
        self._poller.close()
        reset_all([*self._connecting.values(), *self.received])

    def _ask(self, fd: int) -> None:
        connection = self._connecting.pop(fd)
        if error := connect_error(connection):
            self._poller.unregister(fd)
            self.failed[errno_name(error.errno)] += 1
            connection.close()
            return
        self.open[fd] = connection
        self.received[connection] = bytearray()
        # Not for arriving data: it would wake this loop all the time, and nobody wants to read it.
        self._poller.modify(fd, _CLOSED)
        # A connection that was closed since then is told by the next look.
        with suppress(OSError):
            connection.sendall(self._request)

    def _end(self, fd: int) -> None:
        del self.open[fd]
        self._poller.unregister(fd)
        self.ended += 1


def _unread_bytes(connection: socket.socket) -> int:
    """Return how many bytes wait in the receive buffer. TIOCINQ, FIONREAD and SIOCINQ are one number (ioctl_tty(2))."""
    count: int = struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, bytes(4)))[0]
    return count
