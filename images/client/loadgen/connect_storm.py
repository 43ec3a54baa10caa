"""A storm of connections: all begin at once, as after a restart, and none sends anything."""

import errno
import os
import select
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterable

from tuneproof.lab.protocol.loadgen import StormSeen

# A connection that stands meanwhile is seen after so many further connect() calls, which take well below a millisecond:
# that is how exact the times are. Looking more often would slow down the storm.
_LOOK_EVERY = 32
# SO_LINGER (socket(7)), on with zero seconds: close() sends a reset and leaves no TIME_WAIT behind (tcp(7), RFC 9293).
_NO_LINGER = struct.pack("ii", 1, 0)


def run(server: tuple[str, int], count: int, wait_s: float) -> StormSeen:
    """Begin the connections as fast as possible; wait until all stood.

    Raises:
        OSError: There are not enough file descriptors.
    """
    storm = _Storm(server)
    sockets: list[socket.socket] = []
    try:
        # One by one: if the descriptors do not suffice, those that were made are closed all the same.
        sockets.extend(socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) for _ in range(count))
        first_s = last_s = time.monotonic()
        for index, connection in enumerate(sockets, start=1):
            last_s = time.monotonic()
            storm.start(connection)
            if index % _LOOK_EVERY == 0:
                storm.look(0.0)
        while storm.waiting and (left_s := last_s + wait_s - time.monotonic()) > 0:
            storm.look(left_s)
        # If starting alone took longer than that, nobody has looked since.
        storm.look(0.0)
    finally:
        storm.close()
        reset_all(sockets)
    return StormSeen(
        started_in_ms=(last_s - first_s) * 1e3,
        connect_ms=tuple(sorted(storm.connect_ms)),
        unfinished=len(storm.waiting),
        failed=dict(storm.failed),
    )


def reset_all(connections: Iterable[socket.socket]) -> None:
    """Close connections with a reset, so that nothing of them is left on this side."""
    for connection in connections:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        connection.close()


def errno_name(number: int | None) -> str:
    """Return the symbol of an error number (errno(3)); a number without one as it is."""
    return errno.errorcode.get(number or 0, str(number))


def connect_error(connection: socket.socket) -> OSError | None:
    """Return what became of a connect() that has ended (connect(2), EINPROGRESS): None if the connection stands."""
    number = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return OSError(number, os.strerror(number)) if number else None


class _Storm:
    """Connections that have begun.

    Attributes:
        waiting: Those of which nothing is known yet.
        connect_ms: How long the others took that stand.
        failed: How many failed, by the errno's name.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._poller = select.epoll()
        self.waiting: dict[int, tuple[socket.socket, float]] = {}
        self.connect_ms: list[float] = []
        self.failed: Counter[str] = Counter()

    def start(self, connection: socket.socket) -> None:
        """Call connect(); an error on the spot (no local port is left, say) counts as a failure."""
        started_s = time.monotonic()
        number = connection.connect_ex(self._target)
        if number not in (0, errno.EINPROGRESS):
            self.failed[errno_name(number)] += 1
            return
        self.waiting[connection.fileno()] = (connection, started_s)
        # One shot: what becomes of it later is not looked at.
        self._poller.register(connection, select.EPOLLOUT | select.EPOLLONESHOT)

    def look(self, longest_s: float) -> None:
        """Take note of connections that stand or failed; if there are none, wait for one."""
        for fd, _ in self._poller.poll(longest_s, max(1, len(self.waiting))):
            connection, started_s = self.waiting.pop(fd)
            elapsed_ms = (time.monotonic() - started_s) * 1e3
            if error := connect_error(connection):
                self.failed[errno_name(error.errno)] += 1
            else:
                self.connect_ms.append(elapsed_ms)

    def close(self) -> None:
        """Stop looking; the connections are the caller's."""
        self._poller.close()
