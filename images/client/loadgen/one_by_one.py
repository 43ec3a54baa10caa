"""The article's protocol: fast requests one after the other, while bulk downloads run.

The kernel decides which worker gets a download, as it does for the article's ``curl``.
"""

import math
import socket
import time
from contextlib import suppress

from tuneproof.lab.protocol.children import Child
from tuneproof.lab.protocol.loadgen import Round, RoundSeen

from . import http1
from .bulk import Downloads, download
from .fast import FastClient

# Long enough for a SYN that is lost twice.
_CONNECT_TIMEOUT_S = 5.0


def run(asked: Round) -> RoundSeen:
    """Request the bulk downloads, then make the fast requests; the downloads end with the last fast request."""
    request = http1.get(asked.bulk_path, host=asked.address, trial=asked.trial, keep_alive=False)
    connections: list[socket.socket] = []
    try:
        # If one connection fails, the earlier ones are in the list and will be closed.
        connections.extend(
            socket.create_connection((asked.address, asked.port), timeout=_CONNECT_TIMEOUT_S)
            for _ in range(asked.bulk_downloads)
        )
        # The downloads begin before the first fast request, so that no fast request has nginx to itself.
        for connection in connections:
            connection.sendall(request)
        began_s = time.monotonic()
        child: Child[Downloads] = Child(lambda pipe: download(connections, stop_fd=pipe.fileno()))
    finally:
        for connection in connections:
            connection.close()
    fast = FastClient(
        asked.address,
        asked.port,
        request=http1.get(asked.fast_path, host=asked.address, trial=asked.trial, keep_alive=False),
        timeout_s=asked.timeout_s,
        origin_s=began_s,
    )
    try:
        for _ in range(asked.requests):
            # A single tick, whose request runs to its end.
            fast.run_open_loop(iter((time.monotonic(), math.inf)), end_s=math.inf)
    finally:
        # The downloads may have ended on their own.
        with suppress(BrokenPipeError):
            child.pipe.send("")
        bulk = child.result()
    if bulk.unexpected is not None:
        raise ConnectionError(bulk.unexpected)
    return RoundSeen(requests=fast.records, bulk_bytes=sum(bulk.window_bytes), bulk_seconds=bulk.ended_s - began_s)
