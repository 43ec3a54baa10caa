"""``python3 -m server`` serves on port 8000 until SIGINT or SIGTERM."""

import asyncio
import resource
import signal
import sys
from pathlib import Path
from typing import Final

import uvloop

from .connection import Connection

PORT: Final = 8000
PAGE: Final = Path("/srv/files/index.html")
# The kernel reduces it to net.core.somaxconn (listen(2)).
_BACKLOG: Final = 65535


async def serve() -> None:
    """Serve, and print a line once connections are accepted."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    page = PAGE.read_bytes()
    await loop.create_server(lambda: Connection(page), "0.0.0.0", PORT, backlog=_BACKLOG)  # noqa: S104 - the lab's network
    sys.stdout.write(f"Serving HTTP on port {PORT} on an event loop\n")
    sys.stdout.flush()
    # Connections end with the process: nothing waits for those that are held.
    await ended.wait()


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())
