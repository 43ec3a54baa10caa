"""One connection: its first byte shows the protocol; over TLS, the first decrypted byte does."""

import asyncio
import contextlib
import itertools
import secrets
import socket
import ssl
from typing import Final

from . import cgi, fastcgi, http

_HANDSHAKE: Final = 0x16  # TLS, RFC 8446, section 5.1
_FASTCGI_VERSION: Final = 1
_UWSGI: Final = 0
_LIMIT_BYTES: Final = 1 << 20

# An upstream may have stand-ins on two machines: if both started at 1, their responses would have the same numbers.
_numbers = itertools.count(secrets.randbelow(1 << 48))


async def converse(connection: socket.socket, tls: ssl.SSLContext) -> None:
    """Answer the requests of a connection, and close it."""
    number = next(_numbers)
    writer = None
    try:
        first = await _peek(connection)
        if not first:
            return
        reader, writer = await _streams(connection, tls if first[0] == _HANDSHAKE else None)
        await _talk(reader, writer, number)
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
        # The peer has left, or uses an unknown protocol.
        return
    finally:
        if writer is None:
            connection.close()
        else:
            with contextlib.suppress(OSError):
                writer.close()
                await writer.wait_closed()


async def _peek(connection: socket.socket) -> bytes:
    loop = asyncio.get_running_loop()
    connection.setblocking(False)
    ready = asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)
    return connection.recv(1, socket.MSG_PEEK)


async def _streams(
    connection: socket.socket, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LIMIT_BYTES)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=tls)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
    first = await reader.readexactly(1)
    if first[0] == _FASTCGI_VERSION:
        await fastcgi.talk(first, reader, writer, number)
    elif first[0] == _UWSGI:
        await cgi.talk_uwsgi(reader, writer, number)
    elif first.isdigit():
        await cgi.talk_scgi(first, reader, writer, number)
    else:
        await http.talk(first, reader, writer, number)
