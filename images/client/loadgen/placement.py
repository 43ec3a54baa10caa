"""Connections to chosen workers.

The kernel decides which worker accepts a connection, so the only way to reach a certain worker is to connect, learn
from the response which worker sent it, and keep the connections that fit. Connections come in bursts: with a shared
accept queue, the same worker of an idle nginx accepts all connections that arrive one at a time, and only several at
once wake the others. All connect() calls of a burst come before the first request: otherwise the connections would
reach nginx a round trip apart.
"""

import errno
import itertools
import os
import selectors
import socket
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import cast

from . import http1

_BURST = 16
# The shortest time after which Linux sends a lost packet again (TCP_RTO_MIN in include/net/tcp.h); a lost SYN is sent
# again after a second. If nothing arrives for this long, a new burst begins, and older connections may still answer.
_QUIET_S = 0.2
# The time limit of each later send and receive on a placed connection.
_ANSWER_TIMEOUT_S = 2.0


class PlacementError(Exception):
    """The wanted workers were not reached in time."""


def place(
    address: str, port: int, *, workers: int, per_worker: tuple[int, ...], trial: str, timeout_s: float
) -> dict[int, list[socket.socket]]:
    """Return keepalive connections by worker process id, in ascending order of process id.

    ``per_worker`` contains the number of connections to each worker. Even a worker with 0 must be found: otherwise the
    order of the others would be unknown. Lost packets and a few broken connections only make the search longer.

    Raises PlacementError: after ``timeout_s`` seconds a worker still lacks connections; or too many workers answer, or
    too many connections break.
    """
    deadline = time.monotonic() + timeout_s
    search = _Search(address, port, ask=http1.get("/probe", host=address, trial=trial))
    try:
        while not _complete(search.found, workers, per_worker):
            if time.monotonic() > deadline:
                counts = {pid: len(connections) for pid, connections in search.found.items()}
                raise PlacementError(
                    f"after {timeout_s} s connections per worker: {counts}, wanted {per_worker}; "
                    f"unanswered: {search.unanswered}, broken: {search.broken}"
                )
            if search.broken > _BURST:
                raise PlacementError(f"{search.broken} connections were closed without an answer")
            if search.unanswered <= _BURST:
                search.start_burst()
            search.take_answers()
            search.keep(max(per_worker))
        if len(search.found) > workers:
            raise PlacementError(f"{len(search.found)} workers answered, wanted {workers}: {sorted(search.found)}")
        return search.choose(per_worker)
    finally:
        search.close()


class _Search:
    """Connections on their way to one worker or another."""

    def __init__(self, address: str, port: int, *, ask: bytes) -> None:
        self._target = (address, port)
        self._ask = ask
        self._selector = selectors.DefaultSelector()
        self.found: defaultdict[int, list[socket.socket]] = defaultdict(list)  # connections by the worker that answered
        self.broken = 0  # number of connections that ended without a response

    @property
    def unanswered(self) -> int:
        return len(self._selector.get_map())

    def start_burst(self) -> None:
        for _ in range(_BURST):
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(connection, selectors.EVENT_WRITE)
            error = connection.connect_ex(self._target)
            if error not in (0, errno.EINPROGRESS):
                raise OSError(error, os.strerror(error))

    def take_answers(self) -> None:
        """Send requests and read which worker answers, until all connections have a response or nothing arrives."""
        while self.unanswered and (events := self._selector.select(_QUIET_S)):
            for key, _ in events:
                connection = cast("socket.socket", key.fileobj)
                try:
                    self._advance(connection, connected=key.events == selectors.EVENT_READ)
                except ConnectionRefusedError:
                    raise
                except OSError:
                    self._selector.unregister(connection)
                    connection.close()
                    self.broken += 1

    def keep(self, most: int) -> None:
        """Close surplus connections: otherwise a long search would use up nginx's ``worker_connections``."""
        for connections in self.found.values():
            _close(connections[most:])
            del connections[most:]

    def choose(self, per_worker: tuple[int, ...]) -> dict[int, list[socket.socket]]:
        """Return this many connections to each worker, in ascending order of process id."""
        chosen = {}
        for wanted, pid in zip(per_worker, sorted(self.found), strict=True):
            chosen[pid] = self.found[pid][:wanted]
            del self.found[pid][:wanted]
        return chosen

    def close(self) -> None:
        """Close all connections that were not returned."""
        _close([cast("socket.socket", key.fileobj) for key in self._selector.get_map().values()])
        _close(itertools.chain.from_iterable(self.found.values()))
        self._selector.close()

    def _advance(self, connection: socket.socket, *, connected: bool) -> None:
        if not connected:
            connection.sendall(self._ask)
            self._selector.modify(connection, selectors.EVENT_READ)
            return
        # A response has begun to arrive; on a lossy link, its end may arrive later.
        connection.settimeout(_ANSWER_TIMEOUT_S)
        pid = http1.exchange(connection, request=b"").worker_pid
        self._selector.unregister(connection)
        self.found[pid].append(connection)


def _complete(found: dict[int, list[socket.socket]], workers: int, per_worker: tuple[int, ...]) -> bool:
    # The search also ends if there are more workers than wanted: it cannot succeed, and the caller raises the error.
    return len(found) > workers or (
        len(found) == workers and all(len(found[pid]) >= per_worker[index] for index, pid in enumerate(sorted(found)))
    )


def _close(connections: Iterable[socket.socket]) -> None:
    for connection in connections:
        connection.close()
