"""Proxies in front of the engine's socket: one that a test can stop and start, and one that makes a call fail."""

import contextlib
import os
import socket
import threading
import time
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tuneproof.lab.engine.lock import NAME


class EngineProxy:
    """Forwards connections to the engine until the proxy is stopped; then refuses them, as if the engine had died.

    path: the Unix socket to listen on; None to listen on a free TCP port of the loopback address.
    """

    def __init__(self, target: str, path: Path | None = None) -> None:
        self._target = target
        self._path = path
        self._port = 0
        self._listener: socket.socket | None = None
        self._open: list[socket.socket] = []

    @property
    def address(self) -> str:
        """The value for DOCKER_HOST."""
        if self._path is not None:
            return f"unix://{self._path}"
        return f"tcp://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        if self._path is None:
            # After a stop, the proxy listens on the same address as before.
            self._listener = socket.create_server(("127.0.0.1", self._port))
            self._port = self._listener.getsockname()[1]
        else:
            self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listener.bind(str(self._path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        if self._listener is None:
            return
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._listener = None
        if self._path is not None:
            self._path.unlink()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._connect(client)

    def _connect(self, client: socket.socket, *, asked: bytes = b"", after_s: float = 0.0) -> None:
        """Forward a connection, starting with the bytes already read; delay the engine's response by ``after_s``."""
        engine = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        engine.connect(self._target)
        engine.sendall(asked)
        self._open += [client, engine]
        threading.Thread(target=_forward, args=(client, engine), daemon=True).start()
        threading.Thread(target=_forward, args=(engine, client, after_s), daemon=True).start()


class Fault(StrEnum):
    REFUSED = "refused"
    """The engine does not get the call; the response has status 500."""
    RESET = "reset"
    """The engine does not get the call; the connection is closed."""
    LOST = "lost"
    """The engine executes the call; its response is lost."""
    SLOW = "slow"
    """The engine executes the call; its response comes after ``SLOW_S``."""


SLOW_S: Final = 20.0
_REFUSAL: Final = b'{"message":"injected fault"}'
_END_OF_HEADERS: Final = b"\r\n\r\n"


class FaultyEngine(EngineProxy):
    """Makes one call fail. Its runs use a separate lock, since they do not measure times and need not wait for others.

    at: the number of the call, from 1; 0 for none.
    """

    def __init__(self, target: str, path: Path, *, fault: Fault, at: int = 0) -> None:
        super().__init__(target, path)
        self._fault = fault
        self._at = at
        self._lock = threading.Lock()
        self.calls: list[str] = []
        """Method and path of each call so far."""

    def _serve(self, client: socket.socket) -> None:
        asked = b""
        with contextlib.suppress(OSError):
            while _END_OF_HEADERS not in asked:
                if not (data := client.recv(65536)):
                    break
                asked += data
        headers, end, rest = asked.partition(_END_OF_HEADERS)
        if not end:
            client.close()
            return
        lines = headers.replace(NAME.encode(), f"{NAME}-{os.getpid()}".encode()).split(b"\r\n")
        with self._lock:
            self.calls.append(" ".join(lines[0].decode().split()[:2]))
            fault = self._fault if len(self.calls) == self._at else None
        if not any(line.lower().startswith(b"upgrade:") for line in lines):
            # Each connection carries one call, so that calls can be counted.
            lines = [*(line for line in lines if not line.lower().startswith(b"connection:")), b"Connection: close"]
        asked = b"\r\n".join(lines) + end + rest
        if fault is Fault.REFUSED:
            client.sendall(
                b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nConnection: close\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(_REFUSAL), _REFUSAL)
            )
        elif fault is Fault.LOST:
            _do(asked, client, self._target)
        elif fault is not Fault.RESET:
            self._connect(client, asked=asked, after_s=SLOW_S if fault is Fault.SLOW else 0.0)
            return
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        client.close()


def _do(asked: bytes, client: socket.socket, target: str) -> None:
    """Let the engine execute a client's request, and wait for the first byte of the response."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as engine:
        engine.connect(target)
        engine.sendall(asked)
        # The thread forwards the rest of the request, such as an archive.
        threading.Thread(target=_forward, args=(client, engine), daemon=True).start()
        engine.settimeout(SLOW_S)
        with contextlib.suppress(OSError):
            engine.recv(1)


def _forward(source: socket.socket, sink: socket.socket, after_s: float = 0.0) -> None:
    time.sleep(after_s)
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
