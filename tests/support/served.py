"""Servers on loopback, for a folder or with a test's own handler."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


class _Files(Quiet, SimpleHTTPRequestHandler):
    """Serves a folder."""


@contextmanager
def serving(server: HTTPServer, *, scheme: str = "http") -> Iterator[str]:
    """Run a server inside the context, and yield its address."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    with server:
        thread.start()
        try:
            yield f"{scheme}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on a free port, and yield the address."""
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(folder)))) as address:
        yield f"{address}/"
