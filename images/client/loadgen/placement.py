"""Connections to chosen workers.

The kernel decides which worker accepts a connection, so the only way to reach a chosen one is to connect, ask who
answered, and keep what fits. Connections come in bursts: with a shared accept queue an idle nginx hands a single
newcomer to the same worker again and again, and only several newcomers at once wake the others.
"""

import itertools
import socket
import time
from collections import defaultdict
from collections.abc import Iterable

from . import http1

_BURST = 16


class PlacementError(Exception):
    """The wanted workers were not reached in time."""


def place(
    address: str, port: int, *, workers: int, per_worker: tuple[int, ...], trial: str, timeout_s: float
) -> dict[int, list[socket.socket]]:
    """Return kept-alive connections by worker process id, in ascending order of process id.

    Each worker gets one connection more than ``per_worker`` asks for: the probe's, which comes first in its list.

    Raises:
        PlacementError: After ``timeout_s`` seconds a worker still lacks connections, or too many workers answer.
    """
    found: defaultdict[int, list[socket.socket]] = defaultdict(list)
    most = max(per_worker) + 1
    deadline = time.monotonic() + timeout_s
    ask = http1.get("/probe", host=address, trial=trial)
    while not _complete(found, workers, per_worker):
        if time.monotonic() > deadline:
            counts = {pid: len(connections) for pid, connections in found.items()}
            _close(itertools.chain.from_iterable(found.values()))
            raise PlacementError(f"after {timeout_s} s connections per worker: {counts}, wanted {per_worker} + 1 each")
        burst = [_connect(address, port) for _ in range(_BURST)]
        for connection in burst:
            connection.sendall(ask)
        for connection in burst:
            head, body = http1.receive_head(connection)
            if len(body) != head.content_length:
                raise PlacementError("the probe location's answer did not arrive in one piece")
            found[head.worker_pid].append(connection)
        # Only as many as any worker may need: all that are found in a long search would use up nginx's connections.
        for pid in found:
            _close(found[pid][most:])
            del found[pid][most:]
    if len(found) > workers:
        raise PlacementError(f"{len(found)} workers answered, wanted {workers}: {sorted(found)}")
    chosen = {}
    for index, pid in enumerate(sorted(found)):
        wanted = per_worker[index] + 1
        chosen[pid] = found[pid][:wanted]
        _close(found[pid][wanted:])
    return chosen


def _complete(found: dict[int, list[socket.socket]], workers: int, per_worker: tuple[int, ...]) -> bool:
    # More workers than wanted end the search as well: it would never come true, and the caller says why.
    return len(found) > workers or (
        len(found) == workers and all(len(found[pid]) > per_worker[index] for index, pid in enumerate(sorted(found)))
    )


def _connect(address: str, port: int) -> socket.socket:
    connection = socket.create_connection((address, port), timeout=2.0)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _close(connections: Iterable[socket.socket]) -> None:
    for connection in connections:
        connection.close()
