"""Something like a subject with its backend, in threads on 127.0.0.1: several workers, and switches for what goes wrong."""

import itertools
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Self

from images.client.loadgen import http1
from images.client.loadgen.placement import place

PROBE = http1.get("/probe", host="127.0.0.1", trial="t")
BULK = http1.get("/bulk.bin", host="127.0.0.1", trial="t")
SMALL = http1.get("/small.bin", host="127.0.0.1", trial="t", keep_alive=False)
_CHUNK = bytes(1 << 16)


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What the fake does; each switch is off unless given.

    Attributes:
        worker_pids: Process ids of the workers; connections go to them in turn.
        delays_s: How long a worker thinks before every answer, by process id.
        statuses: Answers other than 200, by path.
        small_bytes: Announced length of /small.bin.
        small_sent_bytes: After how many bytes of it the connection is closed; None: it is complete.
        bulk_bytes: After how many bytes /bulk.bin ends; None: never.
        silent_paths: Paths that are never answered.
        hang_ups: Process ids of workers that close a connection instead of answering /bulk.bin.
        last_probe: The number of probes that each connection gets answered before it is closed; None: any.
    """

    worker_pids: tuple[int, ...] = (11, 12)
    delays_s: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    statuses: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    small_bytes: int = 100_000
    small_sent_bytes: int | None = None
    bulk_bytes: int | None = None
    silent_paths: tuple[str, ...] = ()
    hang_ups: tuple[int, ...] = ()
    last_probe: int | None = None


class FakeNginx:
    """A context manager: inside it the server listens on :attr:`port`; at its end no thread and no socket is left."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._pids = itertools.cycle(behaviour.worker_pids)
        self._ended = threading.Event()
        self._changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.most_open = 0
        self.requests: list[tuple[int, str]] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        # Closing alone would wake neither accept() nor recv() in another thread.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        with self._changed:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def wait_for_open(self, count: int) -> None:
        """Wait until so many connections are open, at most two seconds."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._connections) == count, timeout=2), len(self._connections)

    def paths(self, path: str) -> dict[int, int]:
        """Return how often each worker was asked for a path."""
        asked = [pid for pid, other in self.requests if other == path]
        return {pid: asked.count(pid) for pid in sorted(set(asked))}

    def _start(self, target: "threading.Thread | object", *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with self._changed:
                    self._connections.add(connection)
                    self.most_open = max(self.most_open, len(self._connections))
                    self._changed.notify_all()
                self._start(self._serve, connection, next(self._pids))

    def _serve(self, connection: socket.socket, pid: int) -> None:
        with connection, suppress(OSError):
            self._answer_all(connection, pid)
            # A forked load holds a copy of this socket, so that closing it here would tell the client nothing.
            connection.shutdown(socket.SHUT_RDWR)
        with self._changed:
            self._connections.discard(connection)
            self._changed.notify_all()
