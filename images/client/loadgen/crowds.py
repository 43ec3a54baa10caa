"""Crowds of connections: a storm, connections that are held, slow readers."""

import fcntl
import resource
import socket
import struct
import termios
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tuneproof.lab.protocol.loadgen import Held, SlowReadersSeen, SlowReading, StormSeen

from . import http1
from .crowd import Crowd, errno_name, new_socket, reset_all

# Established connections are noticed after at most this many further connect() calls, so the times are imprecise by
# well under a millisecond. Looking more often would slow down the storm.
_LOOK_EVERY = 32
# This many connections fit into nginx's default accept queue of 511 (``backlog`` of its directive listen).
_BURST = 256
# Slow readers check this often whether they should end.
_CHECK_EVERY_S = 0.05
_STATUS_LINE = b"HTTP/1.1 200 "


def storm(address: str, port: int, connections: int, wait_s: float) -> StormSeen:
    """Start connections as fast as possible, as after a restart, and send nothing; wait at most ``wait_s`` for them."""
    crowd = Crowd()
    sockets: list[socket.socket] = []
    try:
        # If descriptors run out, the earlier sockets are in the list and will be closed.
        sockets.extend(new_socket() for _ in range(connections))
        last_s = time.monotonic()
        for index, connection in enumerate(sockets, start=1):
            last_s = time.monotonic()
            crowd.begin(connection, (address, port))
            if index % _LOOK_EVERY == 0:
                crowd.look(0.0)
        while crowd.waiting and (left_s := last_s + wait_s - time.monotonic()) > 0:
            crowd.look(left_s)
        # If there was no time left, the last connections have not been looked at yet.
        crowd.look(0.0)
        return StormSeen(
            connect_ms=tuple(sorted(crowd.connect_ms)),
            unfinished=len(crowd.waiting),
            failed=dict(crowd.failed),
        )
    finally:
        crowd.close()
        for connection in sockets:
            connection.close()


class Holder:
    """Holds connections between calls; of each response, the headers and at most the start of the body are read."""

    def __init__(self, timeout_s: float = 10.0) -> None:
        self._timeout_s = timeout_s
        self._crowd = Crowd(awaits_answer=True)

    def hold(self, address: str, port: int, path: str, count: int) -> Held:
        """Open further connections, and keep those that get a 200."""
        crowd, request = self._crowd, http1.get(path, host=address, trial="hold")
        started = 0
        while started < count or crowd.waiting:
            while started < count and len(crowd.waiting) < _BURST:
                started += 1
                try:
                    crowd.begin(new_socket(), (address, port), request)
                except OSError as error:
                    crowd.failed[errno_name(error.errno)] += 1
            if crowd.waiting:
                # The first entry is the oldest connection, and the next to time out.
                oldest_s = next(iter(crowd.waiting.values())).began_s
                crowd.look(max(0.0, oldest_s + self._timeout_s - time.monotonic()))
                crowd.give_up(timeout_s=self._timeout_s)
        crowd.look(0.0)
        failed = dict(crowd.failed)
        reset_all(member.connection for member in crowd.ended)
        crowd.failed.clear()
        crowd.ended.clear()
        return Held(held=len(crowd.open), failed=failed, rss_bytes=_resident_bytes())

    def release(self) -> None:
        """Reset all connections."""
        self._crowd.close()
        self._crowd = Crowd(awaits_answer=True)


def _resident_bytes() -> int:
    """Return this program's resident memory: the second field of /proc/self/statm (proc(5)), in pages."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def read_slowly(asked: SlowReading, ended: threading.Event, crowd: Crowd) -> SlowReadersSeen:
    """Request a file on several connections, read a little from each per interval, reset them when the event is set."""
    try:
        began_s = time.monotonic()
        request = http1.get(asked.path, host=asked.address, trial="slow_readers")
        for _ in range(asked.count):
            crowd.begin(new_socket(), (asked.address, asked.port), request)
        tick_s = began_s + asked.interval_s
        while not ended.is_set():
            now_s = time.monotonic()
            if now_s >= tick_s:
                _read_each(crowd, asked.read_bytes)
                tick_s += asked.interval_s
            else:
                crowd.look(min(tick_s - now_s, _CHECK_EVERY_S))
        crowd.look(0.0)
        _check_answers(crowd)
        members = (*crowd.open.values(), *crowd.ended)
        return SlowReadersSeen(
            alive=len(crowd.open),
            ended=len(crowd.ended),
            failed=dict(crowd.failed),
            read_bytes=sum(len(member.received) for member in members),
            unread_bytes=sum(unread_bytes(member.connection) for member in members),
        )
    finally:
        crowd.close()


def _read_each(crowd: Crowd, most_bytes: int) -> None:
    for fd, member in list(crowd.open.items()):
        try:
            chunk = member.connection.recv(most_bytes)
        except BlockingIOError:
            continue
        except OSError:
            chunk = b""
        member.received += chunk
        if not chunk:
            crowd.end(fd)


def _check_answers(crowd: Crowd) -> None:
    """Raise ConnectionError if a response has begun and is not a 200: an error page would not fill the buffers."""
    for member in (*crowd.open.values(), *crowd.ended):
        answer = bytes(member.received[: len(_STATUS_LINE)])
        # A connection that was reset has no data left to inspect.
        with suppress(OSError):
            answer += member.connection.recv(64, socket.MSG_PEEK)
        if answer[: len(_STATUS_LINE)] != _STATUS_LINE[: len(answer)]:
            raise ConnectionError(f"slow reader answered with {answer[:64]!r}")


def unread_bytes(connection: socket.socket) -> int:
    """Return how many bytes wait in the receive buffer. TIOCINQ, FIONREAD and SIOCINQ are the same (ioctl_tty(2))."""
    count: int = struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, bytes(4)))[0]
    return count


class SlowReaders:
    """Slow readers, which read while other calls run, until they are ended."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._ended = threading.Event()
        self._running: Future[SlowReadersSeen]

    def start(self, asked: SlowReading) -> None:
        """Start the slow readers."""
        self._ended.clear()
        self._running = self._pool.submit(lambda: read_slowly(asked, self._ended, Crowd()))

    def end(self) -> SlowReadersSeen:
        """End the slow readers and return their results."""
        self._ended.set()
        return self._running.result()

    def close(self) -> None:
        """End the slow readers if there are any, and wait for their end."""
        self._ended.set()
        self._pool.shutdown()
