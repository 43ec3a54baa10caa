"""Fast requests: each on a new connection, and with a time limit (in the article, ``curl --max-time 1``)."""

import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from tuneproof.lab.protocol.stall import FastRequest

from . import http1

_OK = 200


@dataclass(kw_only=True)
class _Transfer:
    connection: socket.socket
    started_s: float
    at_ms: float
    late_ms: float
    received: bytearray = field(default_factory=bytearray)
    expected_bytes: int | None = None
    connect_ms: float | None = None
    first_byte_ms: float | None = None
    total_ms: float = 0.0
    body_bytes: int = 0
    status: int | None = None
    worker_pid: int | None = None
    complete: bool = False

    def record(self) -> FastRequest:
        return FastRequest(**{each.name: getattr(self, each.name) for each in fields(FastRequest)})


class FastClient:
    """Runs fast requests, several at a time if earlier ones have not ended when the next is due."""

    def __init__(self, address: str, port: int, *, request: bytes, timeout_s: float, origin_s: float) -> None:
        self._target = (address, port)
        self._request = request
        self._timeout_s = timeout_s
        self._origin_s = origin_s
        self._poller = select.epoll()
        self._open: dict[int, _Transfer] = {}
        self._sink = bytearray(1 << 18)
        self._begun: list[_Transfer] = []

    @property
    def records(self) -> tuple[FastRequest, ...]:
        """All requests, in the order in which they started."""
        return tuple(transfer.record() for transfer in self._begun)

    def run_open_loop(self, ticks_s: Iterator[float], *, end_s: float) -> None:
        """Start a request at every tick before ``end_s``, whether or not earlier ones have ended; wait for all."""
        tick_s = next(ticks_s)
        while True:
            now_s = time.monotonic()
            while tick_s <= now_s and tick_s < end_s:
                self._start(intended_s=tick_s)
                tick_s = next(ticks_s)
            if tick_s >= end_s and not self._open:
                return
            wake_s = tick_s if tick_s < end_s else now_s + self._timeout_s
            self._step(wake_s)

    def run_one_after_another(self, *, end_s: float) -> None:
        """Start each request when the previous one has ended, until ``end_s``."""
        while (now_s := time.monotonic()) < end_s:
            self._start(intended_s=now_s)
            while self._open:
                self._step(end_s + self._timeout_s)

    def _start(self, *, intended_s: float) -> None:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.setblocking(False)
        started_s = time.monotonic()
        connection.connect_ex(self._target)
        transfer = _Transfer(
            connection=connection,
            started_s=started_s,
            at_ms=(started_s - self._origin_s) * 1e3,
            late_ms=(started_s - intended_s) * 1e3,
        )
        self._begun.append(transfer)
        self._open[connection.fileno()] = transfer
        self._poller.register(connection, select.EPOLLOUT)

    def _step(self, wake_s: float) -> None:
        now_s = time.monotonic()
        oldest_s = min((item.started_s for item in self._open.values()), default=wake_s)
        limit_s = min(wake_s, oldest_s + self._timeout_s) if self._open else wake_s
        for fd, _ in self._poller.poll(max(0.0, limit_s - now_s)):
            transfer = self._open[fd]
            try:
                self._advance(transfer)
            except OSError:
                self._finish(transfer)
        now_s = time.monotonic()
        for transfer in [item for item in self._open.values() if now_s - item.started_s >= self._timeout_s]:
            self._finish(transfer)

    def _advance(self, transfer: _Transfer) -> None:
        elapsed_ms = (time.monotonic() - transfer.started_s) * 1e3
        if transfer.connect_ms is None:
            error = transfer.connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                raise OSError(error, "connect")
            # If connect() failed immediately (for example, without a route), there is no pending error, but sending
            # fails.
            transfer.connection.send(self._request)
            transfer.connect_ms = elapsed_ms
            self._poller.modify(transfer.connection, select.EPOLLIN)
            return
        if transfer.expected_bytes is None:
            chunk = transfer.connection.recv(65536)
            if transfer.first_byte_ms is None and chunk:
                transfer.first_byte_ms = elapsed_ms
            transfer.received += chunk
            count = len(chunk)
            head_bytes, separator, body = bytes(transfer.received).partition(b"\r\n\r\n")
            if separator:
                head = http1.parse_head(head_bytes)
                transfer.status, transfer.worker_pid = head.status, head.worker_pid
                transfer.expected_bytes = head.content_length
                transfer.body_bytes = len(body)
        else:
            count = transfer.connection.recv_into(self._sink, len(self._sink), socket.MSG_TRUNC)
            transfer.body_bytes += count
        ended = transfer.expected_bytes is not None and transfer.body_bytes >= transfer.expected_bytes
        # A quick error page does not count, only a complete 200.
        transfer.complete = ended and transfer.status == _OK
        if ended or count == 0:
            self._finish(transfer)

    def _finish(self, transfer: _Transfer) -> None:
        transfer.total_ms = (time.monotonic() - transfer.started_s) * 1e3
        del self._open[transfer.connection.fileno()]
        self._poller.unregister(transfer.connection)
        transfer.connection.close()
