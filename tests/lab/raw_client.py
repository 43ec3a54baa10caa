"""Sends requests over plain sockets, in nginx's network namespace; a container runs this file with plain Python.

The program reads lists of requests as JSON from the given file, and prints the responses in the same order: status,
header lines, body. A request consists of an address (host and port, or a path), the bytes to send, and the seconds to
wait for a response.
"""

import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

_BLOCK = 65536
_LAST_CHUNK = b"\r\n0\r\n\r\n"


class _Connection:
    """A connection that is opened again after nginx has closed it."""

    def __init__(self, address: Any) -> None:
        self._address = address
        self._socket: socket.socket | None = None
        self._buffer = b""

    def ask(self, text: str, wait_s: float) -> list[Any]:
        """Send a request and return its response; the status is 0 if the connection ends without one, -1 on timeout."""
        try:
            if self._socket is None:
                self._socket = self._connected()
            self._socket.settimeout(wait_s)
            self._socket.sendall(text.encode("latin-1"))
            return self._answer(is_head=text.startswith("HEAD"))
        except TimeoutError:
            self.close()
            return [-1, [], ""]
        except OSError as error:
            self.close()
            return [0, [], type(error).__name__]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._buffer = None, b""

    def _connected(self) -> socket.socket:
        if isinstance(self._address, str):
            found = socket.socket(socket.AF_UNIX)
            found.connect(self._address)
            return found
        return socket.create_connection(tuple(self._address))

    def _answer(self, *, is_head: bool) -> list[Any]:
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                self.close()
                return [0, [], ""]
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = [line.split(": ", 1) for line in lines]
        fields = {name.lower(): value for name, value in headers}
        length = 0 if is_head else int(fields.get("content-length", "0"))
        if fields.get("transfer-encoding") == "chunked":
            while _LAST_CHUNK not in self._buffer and self._more():
                pass
            length = self._buffer.find(_LAST_CHUNK) + len(_LAST_CHUNK)
        while len(self._buffer) < length and self._more():
            pass
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        if fields.get("connection") == "close":
            self.close()
        return [int(status.split(" ")[1]), headers, body.decode("latin-1")]

    def _more(self) -> bool:
        assert self._socket is not None
        read = self._socket.recv(_BLOCK)
        self._buffer += read
        return bool(read)


def answers(questions: list[Any]) -> list[Any]:
    """Return the responses to requests; successive requests to one address share a connection."""
    found = []
    for address, group in groupby(questions, key=lambda question: question[0]):
        connection = _Connection(address)
        found += [connection.ask(text, wait_s) for _, text, wait_s in group]
        connection.close()
    return found


def main() -> None:
    """Send the requests in a file, its lists in parallel, and print the responses."""
    lists = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with ThreadPoolExecutor(max_workers=32) as pool:
        json.dump(list(pool.map(answers, lists)), sys.stdout)


if __name__ == "__main__":
    main()
