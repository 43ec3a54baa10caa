"""A port that refuses connections for as long as a test needs it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def closed_port() -> Iterator[int]:
    """Yield a TCP port of 127.0.0.1 without a listener.

    The port is bound without listening: the kernel refuses connections, and does not give the port to another process.
    """
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
