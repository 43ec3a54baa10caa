"""What is answered, in whichever language: as many bytes as a header asks for, numbered as no other answer is."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final

ASKED_HEADER: Final = "x-tuneproof-bytes"
PAGE_BYTES: Final = 612
_CHUNK: Final = bytes(32768)
_MOST_BYTES: Final = 4 << 30


def asked_bytes(headers: Mapping[str, str]) -> int:
    """Return how long the body shall be, by the request's headers in lower case."""
    asked = headers.get(ASKED_HEADER, "")
    return min(int(asked), _MOST_BYTES) if asked.isdecimal() else PAGE_BYTES


def head_lines(connection: int, request: int, size: int) -> list[str]:
    """Return the lines that every answer has. The first answer on a connection has the number 1."""
    return [
        "Content-Type: application/octet-stream",
        f"Content-Length: {size}",
        "Cache-Control: no-store",
        f"X-Tuneproof-Answer: {connection}.{request}",
    ]


async def body(size: int) -> AsyncIterator[bytes]:
    """Yield a body's parts, letting others have their turn in between."""
    left = size
    while left > 0:
        part = _CHUNK[:left]
        left -= len(part)
        yield part
        await asyncio.sleep(0)
