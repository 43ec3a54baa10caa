"""The article's protocol: fast requests one after the other, while bulk downloads run.

The kernel decides which worker gets a download, as it does for the article's ``curl``.
"""

import math
import os
import socket
import time
from multiprocessing.connection import Connection

from tuneproof.lab.protocol.children import Child
from tuneproof.lab.protocol.loadgen import Round, RoundSeen

from . import http1
from .bulk import Downloads, download
from .fast import FastClient

# The limit on a bulk download's connect is long enough for a SYN that is lost twice.
_CONNECT_TIMEOUT_S = 5.0


def run(asked: Round) -> RoundSeen:
    """Request the bulk downloads, then make the fast requests; the downloads end with the last of these.

    Raises ConnectionError: the response to a download is not a 200. Raises OSError: a download's connection was not
    established.
    """
    request = http1.get(asked.bulk_path, host=asked.address, trial=asked.trial, keep_alive=False)
    connections: list[socket.socket] = []
    told, tell = os.pipe()

    def downloads(_pipe: Connection) -> Downloads:
        # The copy in this process would keep the pipe open.
        os.close(tell)
        return download(connections, told=told)

    try:
        # Connections are made one by one: if one fails, the others are still closed.
        connections.extend(
            socket.create_connection((asked.address, asked.port), timeout=_CONNECT_TIMEOUT_S)
            for _ in range(asked.bulk_downloads)
        )
        # The downloads begin before the first fast request, so that none of these has nginx to itself.
        for connection in connections:
            connection.sendall(request)
        began_s = time.monotonic()
        child = Child(downloads)
    except BaseException:
        os.close(tell)
        raise
    finally:
        os.close(told)
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
            # This is a single tick, and its request runs to its end.
            fast.run_open_loop(iter((time.monotonic(), math.inf)), end_s=math.inf)
    finally:
        os.close(tell)
        bulk = child.result()
    if bulk.unexpected is not None:
        raise ConnectionError(bulk.unexpected)
    return RoundSeen(requests=fast.records, bulk_bytes=sum(bulk.window_bytes), bulk_seconds=bulk.ended_s - began_s)
