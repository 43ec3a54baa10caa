"""uwsgi (https://uwsgi-docs.readthedocs.io/en/latest/Protocol.html) and SCGI (https://python.ca/scgi/protocol.txt).

Both protocols carry one request per connection.
"""

import asyncio
from collections.abc import Mapping

from . import events
from .answers import asked_bytes, head_lines, send_body


async def talk_uwsgi(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
    """Answer the one request; its first byte has been read."""
    size = int.from_bytes(await reader.readexactly(2), "little")
    await reader.readexactly(1)
    content, found, at = await reader.readexactly(size), [], 0
    while at < len(content):
        length = int.from_bytes(content[at : at + 2], "little")
        found.append(content[at + 2 : at + 2 + length].decode("latin-1"))
        at += 2 + length
    await _answer(reader, writer, dict(zip(found[::2], found[1::2], strict=True)), number, "HTTP/1.1 200 OK")


async def talk_scgi(first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
    """Answer the one request; its first digit has been read."""
    length = int((first + await reader.readuntil(b":"))[:-1])
    words = (await reader.readexactly(length)).decode("latin-1").split("\0")[:-1]
    await reader.readexactly(1)
    await _answer(reader, writer, dict(zip(words[::2], words[1::2], strict=True)), number, "Status: 200 OK")


async def _answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    variables: Mapping[str, str],
    number: int,
    status: str,
) -> None:
    if length := int(variables.get("CONTENT_LENGTH") or 0):
        await reader.readexactly(length)
    if asked := events.asked_events({events.ASKED_HEADER: variables.get("HTTP_X_TUNEPROOF_EVENTS", "")}):
        writer.write("\r\n".join([status, *events.head_lines(number, 1), "", ""]).encode())
        await events.ALL.stream(reader, writer, asked, bytes)
    size = asked_bytes({"x-tuneproof-bytes": variables.get("HTTP_X_TUNEPROOF_BYTES", "")})
    writer.write("\r\n".join([status, *head_lines(number, 1, size), "", ""]).encode())
    if variables.get("REQUEST_METHOD") != "HEAD":
        await send_body(writer, size)
    await writer.drain()
