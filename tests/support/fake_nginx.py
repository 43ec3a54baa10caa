"""A stand-in for nginx and its backend, in threads on 127.0.0.1, with switches for faults."""

import itertools
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Self

from images.client.loadgen import http1
from images.client.loadgen.placement import place

PROBE = http1.get("/probe", host="127.0.0.1", trial="t")
BULK = http1.get("/bulk.bin", host="127.0.0.1", trial="t")
SMALL = http1.get("/small.bin", host="127.0.0.1", trial="t", keep_alive=False)
HANG_S: Final = 30.0
"""A limit for steps that take milliseconds: only a test that hangs reaches it, even on a busy machine."""
MORE_THAN_BUFFERED: Final = 32 << 20
"""More than the kernel buffers for a few unread connections (each: tcp_rmem's default, tcp_wmem's maximum)."""
_CHUNK = bytes(1 << 16)
_BACKLOG = 128


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """The stand-in's behaviour; by default, it has no fault."""

    worker_pids: tuple[int, ...] = (11, 12)  # process ids of the workers; connections go to them in turn
    delays_s: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    """A worker's delay before each response, by process id."""
    statuses: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))  # statuses by path, if not 200
    small_bytes: int = 100_000  # announced length of /small.bin
    small_sent_bytes: int | None = None  # sent bytes of /small.bin, then the end of the connection; None: all
    bulk_bytes: int | None = None  # /bulk.bin ends after this many bytes; None: it never ends
    silent_paths: tuple[str, ...] = ()  # paths that are never answered
    hanging_up: tuple[int, ...] = ()  # workers that close the connection instead of answering /bulk.bin
    probes: int | None = None  # each connection is closed after this many responses; None: it stays open
    deaf: bool = False
    """Until :meth:`FakeNginx.listen`, the stand-in accepts nothing, and the kernel drops all but one or two SYNs."""
    answers_after: threading.Event | None = None  # no response is sent before this is set; None: each is sent at once
    broken: int = 0  # how many of the first connections are closed without a response


@dataclass(frozen=True, kw_only=True)
class Request:
    worker_pid: int
    path: str
    trial: str


class FakeNginx:
    """A server that listens on :attr:`port` inside its context; afterwards, no thread and no socket is left."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._pids = itertools.cycle(behaviour.worker_pids)
        self._ended = threading.Event()
        self._changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._to_break = behaviour.broken
        self._listens = threading.Event()
        if not behaviour.deaf:
            self._listens.set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=0 if behaviour.deaf else _BACKLOG)
        self.port: int = self._listener.getsockname()[1]
        self.most_open = 0
        self.requests: list[Request] = []
        self.endless_bytes = 0  # bytes sent in endless downloads

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._listens.set()
        if self._behaviour.answers_after is not None:
            self._behaviour.answers_after.set()
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

    def listen(self) -> None:
        """Start to listen; when this returns, the kernel has room for new connections."""
        self._listener.listen(_BACKLOG)
        self._listens.set()

    def wait_for_open(self, count: int) -> None:
        """Wait until exactly this many connections are open."""
        with self._changed:
            is_so = self._changed.wait_for(lambda: len(self._connections) == count, timeout=HANG_S)
            assert is_so, len(self._connections)

    def workers_asked_for(self, path: str) -> list[int]:
        """Return the process id of the worker for each request for a path, in ascending order."""
        return sorted(request.worker_pid for request in self.requests if request.path == path)

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            self._listens.wait()
            while True:
                connection, _ = self._listener.accept()
                if self._to_break:
                    self._to_break -= 1
                    connection.close()
                    continue
                with self._changed:
                    self._connections.add(connection)
                    self.most_open = max(self.most_open, len(self._connections))
                    self._changed.notify_all()
                self._start(self._serve, connection, next(self._pids))

    def _serve(self, connection: socket.socket, pid: int) -> None:
        with connection, suppress(OSError):
            self._answer_all(connection, pid)
            # A forked load inherits a copy of this socket, so closing only this one would not end the connection.
            connection.shutdown(socket.SHUT_RDWR)
        with self._changed:
            self._connections.discard(connection)
            self._changed.notify_all()

    def _answer_all(self, connection: socket.socket, pid: int) -> None:
        received = b""
        answered = 0
        while answered != self._behaviour.probes:
            while b"\r\n\r\n" not in received:
                chunk = connection.recv(4096)
                if not chunk:
                    return
                received += chunk
            head, _, received = received.partition(b"\r\n\r\n")
            request_line, *headers = head.decode("ascii").split("\r\n")
            path = request_line.split()[1]
            trial = next(line.removeprefix("X-Trial: ") for line in headers if line.startswith("X-Trial: "))
            self.requests.append(Request(worker_pid=pid, path=path, trial=trial))
            if path in self._behaviour.silent_paths:
                self._ended.wait()
            if self._behaviour.answers_after is not None:
                self._behaviour.answers_after.wait()
            self._ended.wait(self._behaviour.delays_s.get(pid, 0))
            if not self._answer(connection, pid, path):
                return
            answered += 1

    def _answer(self, connection: socket.socket, pid: int, path: str) -> bool:
        behaviour = self._behaviour
        if path in behaviour.statuses:
            connection.sendall(_head(behaviour.statuses[path], pid, length=4) + b"none")
            return True
        if path == "/probe":
            connection.sendall(_head(200, pid, length=2) + b"ok")
            return True
        if path == "/small.bin":
            connection.sendall(_head(200, pid, length=behaviour.small_bytes))
            connection.sendall(bytes(behaviour.small_bytes)[: behaviour.small_sent_bytes])
            return behaviour.small_sent_bytes is None
        if pid not in behaviour.hanging_up:
            connection.sendall(_head(200, pid, length=1 << 31))
            if behaviour.bulk_bytes is not None:
                connection.sendall(bytes(behaviour.bulk_bytes))
                return False
            while not self._ended.is_set():
                connection.sendall(_CHUNK)
                self.endless_bytes += len(_CHUNK)
        return False


def _head(status: int, pid: int, *, length: int) -> bytes:
    return f"HTTP/1.1 {status} X\r\nX-Worker: {pid}\r\nContent-Length: {length}\r\n\r\n".encode("ascii")


@contextmanager
def placed(server: FakeNginx, *per_worker: int) -> Iterator[dict[int, list[socket.socket]]]:
    """Yield connections by worker: as many as given and one more for the probe; close them at the end."""
    wanted = tuple(count + 1 for count in per_worker)
    found = place("127.0.0.1", server.port, workers=len(wanted), per_worker=wanted, trial="t", timeout_s=HANG_S)
    try:
        yield found
    finally:
        for connection in itertools.chain.from_iterable(found.values()):
            connection.close()
