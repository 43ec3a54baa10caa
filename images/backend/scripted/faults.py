"""Faults of upstreams: broken responses, silence, a full accept queue, and name servers that answer with an error."""

import asyncio
import socket
import struct
from functools import partial
from typing import Final

from tuneproof.lab.protocol.names import answer_names
from tuneproof.lab.protocol.scripted import BROKEN_PORT, DNS_ERROR_PORTS, FULL_PORT, SILENT_PORT, Then

from .player import end

_READ_BYTES: Final = 65536
_RESPONSE: Final = 0x8180  # a response to a recursive query; its last four bits are the error (RFC 1035, 4.1.1)


class Faults:
    """Faulty servers, each on its own port; connections to BROKEN_PORT get the response that :meth:`say` set last."""

    def __init__(self) -> None:
        self._says, self._then = b"", Then.CLOSES
        self._silent: list[asyncio.WriteTransport] = []
        self._open: list[asyncio.Server | socket.socket | asyncio.BaseTransport] = []

    async def say(self, says: str, then: Then) -> None:
        """From now on, send this response; close the connections that have waited in silence."""
        for transport in self._silent:
            transport.abort()
        self._silent.clear()
        self._says, self._then = says.encode("latin-1"), then

    async def serve(self, address: str = "0.0.0.0", *, first_port: int = BROKEN_PORT) -> None:  # noqa: S104 - the lab's
        """Listen on the protocol's ports, all shifted by as much as ``first_port`` differs from BROKEN_PORT."""
        offset = first_port - BROKEN_PORT
        for port, answer in ((BROKEN_PORT, self._answer), (SILENT_PORT, self._say_nothing)):
            self._open.append(await asyncio.start_server(answer, address, port + offset))
        self._open.append(socket.create_server((address, FULL_PORT + offset), backlog=0))
        # The queue holds one connection more than the backlog; the SYNs of further connections are not answered.
        self._open.append(socket.create_connection(("127.0.0.1", FULL_PORT + offset)))
        for code, port in DNS_ERROR_PORTS.items():
            self._open.append(await answer_names(port + offset, partial(_failing, code), address=address))

    async def close(self) -> None:
        """Stop listening."""
        for one in self._open:
            one.close()
        await self.say("", Then.CLOSES)

    async def _say_nothing(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Only as much is read as fits into the reader's own buffer.
        self._silent.append(writer.transport)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(_READ_BYTES)
        writer.write(self._says)
        if self._then is Then.STAYS:
            await reader.read()
        end(writer, resets=self._then is Then.RESETS)


def _failing(code: int, question: bytes) -> bytes:
    """Return the response to a DNS query: an error code, and no answer."""
    return question[:2] + struct.pack("!H", _RESPONSE | code) + question[4:]
