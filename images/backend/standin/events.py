"""Streams of events in any protocol: the events are written one by one, and the stream then stays open."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from tuneproof.lab.protocol import standin as protocol
from tuneproof.lab.protocol.send_queue import unacknowledged_bytes

ASKED_HEADER: Final = "x-tuneproof-events"
_EVENT: Final = protocol.EVENT.encode()
_READ_BYTES: Final = 65536


class Streams:
    """All streams of a stand-in."""

    def __init__(self) -> None:
        self._open: set[asyncio.StreamWriter] = set()
        self._written = 0

    async def stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, events: int, framed: Callable[[bytes], bytes]
    ) -> NoReturn:
        """Write events after the headers, and keep the stream open until the peer leaves (EOFError or OSError)."""
        # With this limit, drain() waits until the kernel has taken all data.
        writer.transport.set_write_buffer_limits(high=0)
        for _ in range(events):
            writer.write(framed(_EVENT))
            await writer.drain()
        self._written += 1
        self._open.add(writer)
        try:
            while await reader.read(_READ_BYTES):
                pass
        finally:
            self._open.discard(writer)
        raise EOFError

    def streaming(self) -> protocol.Streaming:
        """Return the counts so far."""
        return protocol.Streaming(
            written=self._written, unacknowledged_bytes=sum(map(unacknowledged_bytes, self._open))
        )


ALL: Final = Streams()


def asked_events(headers: Mapping[str, str]) -> int:
    """Return how many events the request's headers (names in lower case) ask for; 0 for another kind of response."""
    asked = headers.get(ASKED_HEADER, "")
    return int(asked) if asked.isdecimal() else 0


def head_lines(connection: int, request: int) -> list[str]:
    """Return the header lines that every stream sends, as :func:`.answers.head_lines` does."""
    return [
        "Content-Type: text/event-stream",
        "Cache-Control: no-cache",
        f"X-Tuneproof-Answer: {connection}.{request}",
    ]
