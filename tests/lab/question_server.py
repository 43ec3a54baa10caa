"""Sends requests to nginx in the same network namespace, on behalf of a shell; a container runs it with plain Python.

The shell sends requests to PORT, one line of JSON each, then an empty line. It gets a line of JSON for each request:
the status line and the headers, [""] if the connection was closed without a response, [TIMEOUT], or [] if the request
failed. A request consists of host, port, whether to use TLS, the server's name, and the text to send. Each request
waits briefly for the previous one, which may fill nginx's cache.
"""

import json
import socket
import ssl
import sys
import threading
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

PORT = 39999
TIMEOUT = "timeout"
"""The line for a response without complete headers in time."""
_NEXT_AFTER_S = 0.15
_LIMIT_S = 3.0
_BLOCK = 65536
_ANY_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_ANY_TLS.check_hostname, _ANY_TLS.verify_mode = False, ssl.CERT_NONE


def answer(host: str, port: int, tls: bool, name: str, text: str) -> list[str]:  # noqa: FBT001 - as in JSON
    read = b""
    try:
        with socket.create_connection((host, port), _LIMIT_S) as plain:
            connection = _ANY_TLS.wrap_socket(plain, server_hostname=name) if tls else plain
            connection.sendall(text.encode("latin-1"))
            while b"\r\n\r\n" not in read and (part := connection.recv(_BLOCK)):
                read += part
    except TimeoutError:
        return [TIMEOUT]
    except (OSError, ValueError):
        return []
    return read.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")


class _Handler(StreamRequestHandler):
    def handle(self) -> None:
        found: list[list[str]] = []
        threads = []
        while line := self.rfile.readline().strip():
            found.append([])
            threads.append(threading.Thread(target=self._ask, args=(found[-1], json.loads(line)), daemon=True))
            threads[-1].start()
            threads[-1].join(_NEXT_AFTER_S)
        for thread in threads:
            thread.join(_LIMIT_S)
        self.wfile.write("".join(f"{json.dumps(one)}\n" for one in found).encode())

    def _ask(self, found: list[str], question: Any) -> None:
        found += answer(*question)


class _Server(ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


if __name__ == "__main__":
    with _Server(("127.0.0.1", PORT), _Handler) as server:
        sys.stdout.write("listens\n")
        server.serve_forever()
