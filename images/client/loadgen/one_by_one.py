"""The article's protocol: fast requests one after the other, while bulk downloads run.

Nothing is placed: the kernel decides which worker takes a download, as it does for the article's ``curl``.
"""

import math
import os
import socket
import time

from tuneproof.lab.protocol.loadgen import Round, RoundSeen

from . import http1
from .background import Background
from .bulk import Downloads, download
from .fast import FastClient

# For a connection of a bulk download to stand: enough for a SYN that is lost twice.
_CONNECT_TIMEOUT_S = 5.0


def run(asked: Round) -> RoundSeen:
    """Ask for the bulk downloads, then make the fast requests; the downloads end with the last of these.

    Raises ConnectionError: a download was answered with something else than a 200.
    Raises OSError: a download's connection did not stand.
    """
    request = http1.get(asked.bulk_path, host=asked.address, trial=asked.trial, keep_alive=False)
    connections: list[socket.socket] = []
    told, tell = os.pipe()

    def downloads() -> Downloads:
        # This process's own copy would keep the pipe open for ever.
        os.close(tell)
        return download(connections, told=told)

    try:
        # One by one: if one fails, the others are closed all the same.
        connections.extend(
            socket.create_connection((asked.address, asked.port), timeout=_CONNECT_TIMEOUT_S)
            for _ in range(asked.bulk_downloads)
        )
        # Before the first fast request begins: none of them may have the subject to itself.
        for connection in connections:
            connection.sendall(request)
        began_s = time.monotonic()
        child = Background(downloads, Downloads)
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
            # A single tick; it is followed to its end.
            fast.run_open_loop(iter((time.monotonic(), math.inf)), end_s=math.inf)
    finally:
        os.close(tell)
        bulk = child.result()
    if bulk.unexpected is not None:
        raise ConnectionError(bulk.unexpected)
    return RoundSeen(requests=fast.records, bulk_bytes=sum(bulk.window_bytes), bulk_seconds=bulk.ended_s - began_s)
