"""Connections that are held: each has asked and seen the head of its answer, and nobody reads on."""

import errno
import resource
import select
import socket
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tuneproof.lab.protocol.loadgen import Held

from . import http1
from .connect_storm import connect_error, errno_name, reset_all

# Not more than what a small accept queue takes in: nginx asks for 511 (listen() in its documentation).
_BURST = 256
_OK = 200
_HEAD_END = b"\r\n\r\n"
_MAX_HEAD_BYTES = 16384
# An answer's failure that has no error number.
_CLOSED = "closed"
_NOT_HTTP = "not HTTP"


class Holder:
    """Holds connections from one job to the next."""

    def __init__(self) -> None:
        self._held: dict[int, socket.socket] = {}
        self._watch = select.epoll()

    def hold(self, server: tuple[str, int], path: str, count: int, timeout_s: float) -> Held:
        """Open further connections, and keep those that are answered."""
        opening = _Opening(server, http1.get(path, host=server[0], trial="hold"), timeout_s)
        try:
            opening.open(count)
        finally:
            opening.close()
        for connection in opening.opened:
            self._held[connection.fileno()] = connection
            self._watch.register(connection, select.EPOLLRDHUP)
        closed_since = self._forget_closed()
        return Held(
            held=len(self._held), failed=dict(opening.failed), closed_since=closed_since, rss_bytes=_resident_bytes()
        )

    def release(self) -> None:
        """Reset all connections."""
        reset_all(self._held.values())
        self._held.clear()

    def _forget_closed(self) -> int:
        closed = self._watch.poll(0.0, max(1, len(self._held)))
        reset_all(self._held.pop(fd) for fd, _ in closed)
        return len(closed)


def _resident_bytes() -> int:
    """Return this program's memory in RAM: the second figure of /proc/self/statm (proc(5)), in pages."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


@dataclass(kw_only=True)
class _Newcomer:
    connection: socket.socket
    started_s: float
    asked: bool = False
    received: bytes = b""


class _Refused(Exception):  # noqa: N818 - not an error of the program: an answer that does not count
    """The server's answer is none that is waited for."""


class _Opening:
    """Connections on their way.

    Attributes:
        opened: Those that were answered.
        failed: How many were not, by reason.
    """

    def __init__(self, target: tuple[str, int], request: bytes, timeout_s: float) -> None:
        self._target = target
        self._request = request
        self._timeout_s = timeout_s
        self._poller = select.epoll()
        # In the order of their start: the first one is the next to be late.
        self._newcomers: dict[int, _Newcomer] = {}
        self.opened: list[socket.socket] = []
        self.failed: Counter[str] = Counter()

    def open(self, count: int) -> None:
        """Open connections until so many have been answered or have failed."""
        started = 0
        while started < count or self._newcomers:
            while started < count and len(self._newcomers) < _BURST:
                self._start()
                started += 1
            self._step()

    def close(self) -> None:
        """Reset what is still on its way."""
        reset_all(item.connection for item in self._newcomers.values())
        self._poller.close()

    def _start(self) -> None:
        try:
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except OSError as error:
            self.failed[errno_name(error.errno)] += 1
            return
        number = connection.connect_ex(self._target)
        if number not in (0, errno.EINPROGRESS):
            self.failed[errno_name(number)] += 1
            connection.close()
            return
        self._newcomers[connection.fileno()] = _Newcomer(connection=connection, started_s=time.monotonic())
        self._poller.register(connection, select.EPOLLOUT)

    def _step(self) -> None:
        oldest = next(iter(self._newcomers.values()), None)
        if oldest is None:
            return
        for fd, _ in self._poller.poll(max(0.0, oldest.started_s + self._timeout_s - time.monotonic())):
            try:
                answered = self._advance(self._newcomers[fd])
            except OSError as error:
                self._fail(fd, errno_name(error.errno))
            except _Refused as refused:
                self._fail(fd, str(refused))
            else:
                if answered:
                    self._poller.unregister(fd)
                    self.opened.append(self._newcomers.pop(fd).connection)
        limit_s = time.monotonic() - self._timeout_s
        for fd in [fd for fd, item in self._newcomers.items() if item.started_s <= limit_s]:
            self._fail(fd, errno_name(errno.ETIMEDOUT))

    def _advance(self, item: _Newcomer) -> bool:
        """Go a step on; tell whether the head of the answer has come."""
        if not item.asked:
            if error := connect_error(item.connection):
                raise error
            item.connection.sendall(self._request)
            item.asked = True
            self._poller.modify(item.connection, select.EPOLLIN)
            return False
        try:
            chunk = item.connection.recv(4096)
        except BlockingIOError:
            # A packet that woke this loop and turned out to be damaged (BUGS in select(2)).
            return False
        if not chunk:
            raise _Refused(_CLOSED)
        item.received += chunk
        head, end, _ = item.received.partition(_HEAD_END)
        if not end:
            if len(head) > _MAX_HEAD_BYTES:
                raise _Refused(_NOT_HTTP)
            return False
        try:
            status = http1.parse_head(head).status
        except ValueError:
            raise _Refused(_NOT_HTTP) from None
        if status != _OK:
            raise _Refused(f"HTTP {status}")
        return True

    def _fail(self, fd: int, reason: str) -> None:
        self.failed[reason] += 1
        self._poller.unregister(fd)
        reset_all([self._newcomers.pop(fd).connection])
