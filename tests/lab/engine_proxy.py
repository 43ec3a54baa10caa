"""A socket in front of the engine's, which a test can take away and bring back."""

import contextlib
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Self


class EngineProxy:
    """Forwards connections to the engine until it is stopped; a stopped one refuses like an engine that died.

    path: path of the Unix socket to listen on; None to listen on TCP, on a free port of the loopback address.
    """

    def __init__(self, target: str, path: Path | None = None) -> None:
        self._target = target
        self._path = path
        self._listener: socket.socket | None = None
        self._open: list[socket.socket] = []

    @property
    def address(self) -> str:
        """Value for DOCKER_HOST."""
        if self._path is not None:
            return f"unix://{self._path}"
        assert self._listener is not None
        host, port = self._listener.getsockname()
        return f"tcp://{host}:{port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        if self._path is None:
            self._listener = socket.create_server(("127.0.0.1", 0))
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
            engine = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            engine.connect(self._target)
            self._open += [client, engine]
            for source, sink in ((client, engine), (engine, client)):
                threading.Thread(target=_forward, args=(source, sink), daemon=True).start()


def _forward(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
