"""Responses with a unique number, and as many bytes as a request header asks for; the same in every protocol."""

import asyncio
import tempfile
from collections.abc import Mapping
from typing import Final

ASKED_HEADER: Final = "x-tuneproof-bytes"
PAGE_BYTES: Final = 612
_LARGE_BYTES: Final = 1 << 20
_MOST_BYTES: Final = 4 << 30


def asked_bytes(headers: Mapping[str, str]) -> int:
    """Return the length of the body that the request's headers, with names in lower case, ask for."""
    asked = headers.get(ASKED_HEADER, "")
    return min(int(asked), _MOST_BYTES) if asked.isdecimal() else PAGE_BYTES


def head_lines(connection: int, request: int, size: int) -> list[str]:
    """Return the header lines that every response carries. The first response on a connection has the number 1."""
    return [
        "Content-Type: application/octet-stream",
        f"Content-Length: {size}",
        "Cache-Control: no-store",
        f"X-Tuneproof-Answer: {connection}.{request}",
    ]


async def send_body(writer: asyncio.StreamWriter, size: int) -> None:
    """Send a body of zeros as fast as a file server does: a large one with sendfile(2) if there is no TLS."""
    await writer.drain()
    if size < _LARGE_BYTES:
        writer.write(bytes(size))
    else:
        with tempfile.TemporaryFile() as file:
            file.truncate(size)
            await asyncio.get_running_loop().sendfile(writer.transport, file, 0, size)
    await writer.drain()
