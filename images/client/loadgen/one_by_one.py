"""The article's protocol: fast requests one after the other, while bulk downloads run.

Nothing is placed: the kernel decides which worker takes a download, as it does for the article's ``curl``.
"""

import math
import os
import select
import socket
import time
from dataclasses import dataclass

from tuneproof.lab.protocol.loadgen import Round, RoundSeen

from . import http1
from .background import Background
from .fast import FastClient

_READ_BYTES = 1 << 20
_STATUS_LINE = b"HTTP/1.1 200 "
# For a connection of a bulk download to stand: enough for a SYN that is lost twice.
_CONNECT_TIMEOUT_S = 5.0


@dataclass(frozen=True, kw_only=True)
class _Bulk:
    bytes_: int
    seconds: float
    unexpected: str | None


def run(asked: Round) -> RoundSeen:
    """Ask for the bulk downloads, then make the fast requests; the downloads end with the last of these.

    Raises:
        ConnectionError: A download was answered with something else than a 200.
        OSError: A download's connection did not stand.
    """
    request = http1.get(asked.bulk_path, host=asked.address, trial=asked.trial, keep_alive=False)
    connections: list[socket.socket] = []
    told, tell = os.pipe()
    try:
        # One by one: if one fails, the others are closed all the same.
        connections.extend(
            socket.create_connection((asked.address, asked.port), timeout=_CONNECT_TIMEOUT_S)
            for _ in range(asked.bulk_downloads)
        )
        # Before the first fast request begins: none of them may have the subject to itself.
        for connection in connections:
            connection.sendall(request)
        began_s = time.monotonic()
        child = Background(lambda: _download(connections, told=told, tell=tell, began_s=began_s), _Bulk)
    except BaseException:
        os.close(tell)
        raise
    finally:
        os.close(told)
        for connection in connections:
            connection.close()
    fast = FastClient(
        asked.address,
        asked.port,
        request=http1.get(asked.fast_path, host=asked.address, trial=asked.trial, keep_alive=False),
        timeout_s=asked.timeout_s,
        origin_s=began_s,
    )
    try:
        for _ in range(asked.requests):
            # A single tick; it is followed to its end.
            fast.run_open_loop(iter((time.monotonic(), math.inf)), end_s=math.inf)
    finally:
        os.close(tell)
        bulk = child.result()
    if bulk.unexpected is not None:
        raise ConnectionError(f"bulk download answered with {bulk.unexpected}")
    return RoundSeen(requests=fast.records, bulk_bytes=bulk.bytes_, bulk_seconds=bulk.seconds)


def _download(connections: list[socket.socket], *, told: int, tell: int, began_s: float) -> _Bulk:
    """Read all downloads until they have ended or the pipe's other end is closed."""
    # This process's own copy would keep the pipe open for ever.
    os.close(tell)
    poller = select.epoll()
    poller.register(told, select.EPOLLIN)
    by_fd = {connection.fileno(): connection for connection in connections}
    for connection in connections:
        connection.setblocking(False)
        poller.register(connection, select.EPOLLIN)
    answered: set[int] = set()
    unexpected: str | None = None
    total_bytes = 0
    sink = bytearray(_READ_BYTES)
    while by_fd and unexpected is None:
        ready = {fd for fd, _ in poller.poll()}
        for fd in ready - {told}:
            count = _receive(by_fd[fd], sink, drop=fd in answered)
            if count is None:
                continue
            answer = bytes(sink[: min(count, 64)])
            if fd not in answered and not answer.startswith(_STATUS_LINE):
                unexpected = repr(answer)
            answered.add(fd)
            total_bytes += count
            if count == 0:
                poller.unregister(fd)
                del by_fd[fd]
        # Last: what had come by then counts.
        if told in ready:
            break
    return _Bulk(bytes_=total_bytes, seconds=time.monotonic() - began_s, unexpected=unexpected)


def _receive(connection: socket.socket, sink: bytearray, *, drop: bool) -> int | None:
    """Return how many bytes came; 0: the download has ended, if by a reset; None: nothing came."""
    try:
        # The kernel drops what is not the beginning of an answer instead of copying it (MSG_TRUNC in tcp(7)).
        return connection.recv_into(sink, _READ_BYTES, socket.MSG_TRUNC if drop else 0)
    except BlockingIOError:
        return None
    except OSError:
        return 0
