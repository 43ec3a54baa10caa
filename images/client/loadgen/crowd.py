"""Many plain TCP connections on one epoll: each connects, sends a request if there is one, and stays open."""

import errno
import os
import select
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from . import http1

_OK = 200
_HEAD_END = b"\r\n\r\n"
_MAX_HEAD_BYTES = 16384
# Names of failures without an error number.
_CLOSED = "closed"
_NOT_HTTP = "not HTTP"
_BY_SERVER = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
# SO_LINGER (socket(7)) with zero seconds: close() sends a reset and leaves no socket in TIME_WAIT.
_NO_LINGER = struct.pack("ii", 1, 0)


class _Refused(Exception):  # noqa: N818 - not an error of the program: a response that does not count
    """The server did not send the expected response."""


@dataclass(kw_only=True)
class Member:
    """One connection, and what was received on it."""

    connection: socket.socket
    began_s: float
    request: bytes
    is_established: bool = False
    received: bytearray = field(default_factory=bytearray)


class Crowd:
    """Connections, in the order in which they started.

    A connection is open once it is established and its request is sent, and with ``awaits_answer`` only once the
    headers of a 200 have arrived.
    """

    def __init__(self, *, awaits_answer: bool = False) -> None:
        self._awaits_answer = awaits_answer
        self._poller = select.epoll()
        self.waiting: dict[int, Member] = {}  # not open yet, by file descriptor
        self.open: dict[int, Member] = {}
        self.ended: list[Member] = []  # closed by the server after they were open; their sockets stay
        self.failed: Counter[str] = Counter()  # never open, by the errno's name or what was wrong with the response
        self.connect_ms: list[float] = []  # from connect() to an established connection

    def begin(self, connection: socket.socket, server: tuple[str, int], request: bytes = b"") -> None:
        """Call connect(); an immediate error, for example without a free local port, counts as a failure."""
        began_s = time.monotonic()
        number = connection.connect_ex(server)
        if number not in (0, errno.EINPROGRESS):
            self.failed[errno_name(number)] += 1
            connection.close()
            return
        self.waiting[connection.fileno()] = Member(connection=connection, began_s=began_s, request=request)
        self._poller.register(connection, select.EPOLLOUT)

    def look(self, longest_s: float) -> None:
        """Process the events on all connections; wait up to ``longest_s`` if there are none."""
        for fd, _ in self._poller.poll(longest_s, max(1, len(self.waiting) + len(self.open))):
            if fd in self.open:
                self.end(fd)
                continue
            try:
                self._advance(fd, self.waiting[fd])
            except OSError as error:
                self._fail(fd, errno_name(error.errno))
            except _Refused as refused:
                self._fail(fd, str(refused))

    def give_up(self, *, timeout_s: float) -> None:
        """Reset the connections that are still not open this long after they started."""
        limit_s = time.monotonic() - timeout_s
        for fd in [fd for fd, member in self.waiting.items() if member.began_s <= limit_s]:
            self._fail(fd, errno_name(errno.ETIMEDOUT))

    def end(self, fd: int) -> None:
        """Count an open connection as closed by the server."""
        self._poller.unregister(fd)
        self.ended.append(self.open.pop(fd))

    def close(self) -> None:
        """Reset all connections."""
        self._poller.close()
        reset_all(member.connection for member in (*self.waiting.values(), *self.open.values(), *self.ended))

    def _advance(self, fd: int, member: Member) -> None:
        if not member.is_established:
            if error := connect_error(member.connection):
                raise error
            member.is_established = True
            self.connect_ms.append((time.monotonic() - member.began_s) * 1e3)
            if self._awaits_answer:
                member.connection.sendall(member.request)
                self._poller.modify(fd, select.EPOLLIN)
            else:
                self._keep(fd)
                # If the server has closed the connection, its event follows.
                with suppress(OSError):
                    member.connection.sendall(member.request)
        elif self._is_answered(member):
            self._keep(fd)

    def _keep(self, fd: int) -> None:
        self.open[fd] = self.waiting.pop(fd)
        # Arriving data is not watched for: it would wake this loop constantly, and nothing reads it at once.
        self._poller.modify(fd, _BY_SERVER)

    def _is_answered(self, member: Member) -> bool:
        """Return whether the headers of a 200 have arrived."""
        try:
            chunk = member.connection.recv(4096)
        except BlockingIOError:
            # The packet that woke this loop may have been damaged (BUGS in select(2)).
            return False
        if not chunk:
            raise _Refused(_CLOSED)
        member.received += chunk
        head, end, _ = member.received.partition(_HEAD_END)
        if not end:
            if len(head) > _MAX_HEAD_BYTES:
                raise _Refused(_NOT_HTTP)
            return False
        try:
            status = http1.parse_head(bytes(head)).status
        except ValueError:
            raise _Refused(_NOT_HTTP) from None
        if status != _OK:
            raise _Refused(f"HTTP {status}")
        return True

    def _fail(self, fd: int, reason: str) -> None:
        self.failed[reason] += 1
        self._poller.unregister(fd)
        reset_all([self.waiting.pop(fd).connection])


def new_socket() -> socket.socket:
    """Return a non-blocking socket (OSError: there are not enough file descriptors)."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)


def reset_all(connections: Iterable[socket.socket]) -> None:
    """Close connections with a reset, which leaves no sockets in TIME_WAIT."""
    for connection in connections:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        connection.close()


def errno_name(number: int | None) -> str:
    """Return the symbol of an error number (errno(3)); a number without a symbol is returned as it is."""
    return errno.errorcode.get(number or 0, str(number))


def connect_error(connection: socket.socket) -> OSError | None:
    """Return the error of a connect() that has ended (EINPROGRESS in connect(2)), or None if it was successful."""
    number = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return OSError(number, os.strerror(number)) if number else None
