"""The backend that serves files: its accept queue, and the line that the lab waits for."""

import functools
import http.server
import runpy
import socket
from contextlib import ExitStack

import pytest

from images.backend.files import FilesServer
from tuneproof.lab.engine.images import IMAGES_FOLDER
from tuneproof.proof.scenario.backends import READY


def test_many_simultaneous_connections_fit_into_the_accept_queue() -> None:
    """Nothing accepts them yet. With socketserver's default queue of five, the seventh would wait for a second."""
    with FilesServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server, ExitStack() as opened:
        address = ("127.0.0.1", server.server_address[1])
        for _ in range(20):
            opened.enter_context(socket.create_connection(address, timeout=0.5))
    assert FilesServer.request_queue_size == 1024


def test_the_script_serves_its_folder_and_prints_that_it_is_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It listens on every address, on the port in nginx's configuration. An interrupt causes no error."""
    made: list[http.server.HTTPServer] = []

    def bound(server: http.server.HTTPServer) -> None:
        made.append(server)

    def interrupted(_server: http.server.HTTPServer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(http.server.HTTPServer, "server_bind", bound)
    monkeypatch.setattr(http.server.HTTPServer, "serve_forever", interrupted)
    runpy.run_path(str(IMAGES_FOLDER / "backend" / "files.py"), run_name="__main__")
    (server,) = made
    assert (server.server_address, server.fileno()) == (("", 8000), -1)
    handler: object = server.RequestHandlerClass
    assert isinstance(handler, functools.partial)
    assert (handler.func, handler.keywords) == (http.server.SimpleHTTPRequestHandler, {"directory": "/srv/files"})
    assert READY in capsys.readouterr().out
