"""``python3 -m standin`` listens where it is told until SIGINT or SIGTERM.

STANDIN_PORTS has the TCP ports, STANDIN_SOCKETS the paths of unix sockets, both separated by commas; STANDIN_NAMES says
whether names are looked up here, too: "yes" or "".
"""

import asyncio
import os
import signal
import socket
import ssl
import sys
from pathlib import Path
from typing import Final

from .conversation import converse
from .names import answer_names

_BACKLOG: Final = 4096
_CERTIFICATE: Final = "/etc/tuneproof/tls.crt"
_KEY: Final = "/etc/tuneproof/tls.key"
_DNS_PORT: Final = 53


def listening() -> list[socket.socket]:
    """Return the sockets that are asked for."""
    sockets = []
    for port in filter(None, os.environ.get("STANDIN_PORTS", "").split(",")):
        # IPv4 through the same socket, as its mapped addresses (ipv6(7)).
        dual = socket.create_server(("::", int(port)), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
        sockets.append(dual)
    # Whoever nginx's workers run as may connect.
    os.umask(0)
    for path in filter(None, os.environ.get("STANDIN_SOCKETS", "").split(",")):
        Path(path).unlink(missing_ok=True)
        local = socket.socket(socket.AF_UNIX)
        local.bind(path)
        local.listen(_BACKLOG)
        sockets.append(local)
    return sockets


async def _accept(listener: socket.socket, tls: ssl.SSLContext) -> None:
    loop = asyncio.get_running_loop()
    running: set[asyncio.Task[None]] = set()
    listener.setblocking(False)
    while True:
        connection, _ = await loop.sock_accept(listener)
        task = loop.create_task(converse(connection, tls))
        # The loop itself keeps weak references only.
        running.add(task)
        task.add_done_callback(running.discard)


async def serve() -> None:
    """Listen, and say so."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(_CERTIFICATE, _KEY)
    accepting = [asyncio.create_task(_accept(listener, tls)) for listener in listening()]
    if os.environ.get("STANDIN_NAMES"):
        await answer_names(_DNS_PORT)
    sys.stdout.write("Serving HTTP and other languages as a stand-in\n")
    sys.stdout.flush()
    await ended.wait()
    for task in accepting:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(serve())
