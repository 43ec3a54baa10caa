"""The backend that serves files: its accept queue, and the line that the lab waits for."""

import functools
import http.server
import runpy
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

import pytest

from images.backend.files import FilesServer
from tuneproof.lab.engine.images import IMAGES_FOLDER
from tuneproof.proof.scenario.backends import READY


def test_connections_that_come_at_once_all_find_room() -> None:
    """Nobody accepts them yet; with socketserver's own queue of five, the seventh would wait for a second."""
    with FilesServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server, ExitStack() as opened:
        address = ("127.0.0.1", server.server_address[1])
        for _ in range(20):
            opened.enter_context(socket.create_connection(address, timeout=0.5))
    assert FilesServer.request_queue_size == 1024


class StandIn:
    """Takes the place of the library's server, and ends when it is asked to serve, as on SIGINT."""

    made: list["StandIn"]

    def __init__(self, address: tuple[str, int], handler: Callable[..., object]) -> None:
        self.address = address
        self.handler = handler
        self.closed = False
        self.made.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.closed = True

    def serve_forever(self) -> None:
        raise KeyboardInterrupt


def test_the_script_serves_its_folder_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On every address, at the port that the subject knows; being told to end is no error."""
    made: list[Any] = []
    monkeypatch.setattr(StandIn, "made", made, raising=False)
    monkeypatch.setattr(http.server, "ThreadingHTTPServer", StandIn)
    runpy.run_path(str(IMAGES_FOLDER / "backend" / "files.py"), run_name="__main__")
    (server,) = made
    assert (server.address, server.closed) == (("", 8000), True)
    assert isinstance(server.handler, functools.partial)
    assert server.handler.func is http.server.SimpleHTTPRequestHandler
    assert server.handler.keywords == {"directory": "/srv/files"}
    assert READY in capsys.readouterr().out
