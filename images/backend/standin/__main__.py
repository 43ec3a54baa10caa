"""``python3 -m standin`` listens on ports and sockets from its environment, until SIGINT or SIGTERM.

STANDIN_PORTS lists the TCP ports, STANDIN_ADDRESSES the addresses to use with each (default: all IPv4 addresses),
STANDIN_SOCKETS the paths of unix sockets, all separated by commas; STANDIN_NAMES is "yes" if the stand-in also resolves
names, and "" otherwise.
"""

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import sys
from pathlib import Path
from typing import Final

from tuneproof.lab.protocol import standin as protocol
from tuneproof.lab.protocol.names import answer_names
from tuneproof.lab.protocol.serving import Answers

from . import events
from .conversation import converse

_BACKLOG: Final = 4096
_CERTIFICATE: Final = "/etc/tuneproof/tls.crt"
_KEY: Final = "/etc/tuneproof/tls.key"
_DNS_PORT: Final = 53


def _named(variable: str) -> list[str]:
    return [word for word in os.environ.get(variable, "").split(",") if word]


def listening() -> list[socket.socket]:
    """Return the sockets on which to listen."""
    sockets = []
    for port in _named("STANDIN_PORTS"):
        for address in _named("STANDIN_ADDRESSES") or ["0.0.0.0"]:  # noqa: S104 - the lab's network
            is_ipv6 = ":" in address
            # A container may lack IPv6 even if its hosts file has IPv6 addresses.
            with contextlib.suppress(OSError) if is_ipv6 else contextlib.nullcontext():
                family = socket.AF_INET6 if is_ipv6 else socket.AF_INET
                sockets.append(socket.create_server((address, int(port)), family=family, backlog=_BACKLOG))
    # nginx's workers may connect, whatever their user.
    os.umask(0)
    for path in _named("STANDIN_SOCKETS"):
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
        if listener.family != socket.AF_UNIX:
            # asyncio sets TCP_NODELAY only on sockets with an explicit protocol; without it, each response would wait
            # 40 ms for an ACK.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = loop.create_task(converse(connection, tls))
        # The loop itself keeps only weak references.
        running.add(task)
        task.add_done_callback(running.discard)


async def _answer_calls() -> None:
    answers, reader = Answers(protocol.Standin, events.ALL), asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        answers.serve([line.decode()], sys.stdout)


async def serve() -> None:
    """Start to listen, print a line, and serve until a signal arrives."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    answering = asyncio.create_task(_answer_calls())
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(_CERTIFICATE, _KEY)
    accepting = [asyncio.create_task(_accept(listener, tls)) for listener in listening()]
    if os.environ.get("STANDIN_NAMES"):
        await answer_names(_DNS_PORT)
    sys.stdout.write("Serving HTTP and other languages as a stand-in\n")
    sys.stdout.flush()
    await ended.wait()
    for task in (answering, *accepting):
        task.cancel()


if __name__ == "__main__":
    asyncio.run(serve())
