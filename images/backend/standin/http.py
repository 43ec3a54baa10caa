"""HTTP/1.0 and 1.1 (RFC 9112), with keepalive if the peer allows it."""

import asyncio
from collections.abc import Mapping
from typing import Final

from . import events
from .answers import asked_bytes, head_lines, send_body

_HEAD_END: Final = b"\r\n\r\n"


async def talk(first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
    """Answer requests until the connection ends."""
    received = first
    count = 0
    while True:
        try:
            head = received + await reader.readuntil(_HEAD_END)
        except asyncio.IncompleteReadError:
            return
        received = b""
        request_line, *lines = head.decode("latin-1").split("\r\n")
        method, _target, version = request_line.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        await _skip_body(reader, headers)
        count += 1
        if asked := events.asked_events(headers):
            is_old = version == "HTTP/1.0"
            framing = "Connection: close" if is_old else "Transfer-Encoding: chunked"
            lines = ["HTTP/1.1 200 OK", *events.head_lines(number, count), framing]
            writer.write("\r\n".join(lines).encode() + _HEAD_END)
            await events.ALL.stream(reader, writer, asked, bytes if is_old else _chunk)
        stays = _stays(version, headers.get("connection", "").lower())
        size = asked_bytes(headers)
        status = ["HTTP/1.1 200 OK", *head_lines(number, count, size)]
        status.append(f"Connection: {'keep-alive' if stays else 'close'}")
        writer.write("\r\n".join(status).encode() + _HEAD_END)
        if method != "HEAD":
            await send_body(writer, size)
        await writer.drain()
        if not stays:
            return


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _stays(version: str, connection: str) -> bool:
    return "keep-alive" in connection if version == "HTTP/1.0" else "close" not in connection


async def _skip_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> None:
    if "chunked" in headers.get("transfer-encoding", ""):
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            await reader.readexactly(size + 2)
        await reader.readuntil(b"\r\n")
    elif length := int(headers.get("content-length", "0")):
        await reader.readexactly(length)
