"""Answers requests over HTTP/1.0 and HTTP/1.1 as a trial's replies define."""

import asyncio
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from tuneproof.lab.protocol import names
from tuneproof.lab.protocol.scripted import Reply, Seen
from tuneproof.lab.protocol.send_queue import unacknowledged_bytes

_HEAD_END: Final = b"\r\n\r\n"
_READ_BYTES: Final = 65536
_BEAT_S: Final = 0.1
# SO_LINGER is on, with a timeout of zero: close() sends a reset (socket(7)).
_RESETS: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, kw_only=True)
class _Stream:
    target: str
    in_chunks: bool

    def framed(self, data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data) if self.in_chunks else data


class Player:
    """Answers with the replies that were set last, and counts requests. Everything happens on one event loop."""

    def __init__(self) -> None:
        self._replies: tuple[Reply, ...] = ()
        self._streams: dict[asyncio.StreamWriter, _Stream] = {}
        self._open: set[asyncio.StreamWriter] = set()
        self._connections = 0
        self._beats: set[asyncio.Task[None]] = set()
        self._longest_pause_s = 0.0
        self._requests: list[str] = []
        self._names: list[str] = []
        self._addresses: Mapping[str, str] = {}
        self._ttl_s = 0

    async def play(self, replies: tuple[Reply, ...]) -> None:
        """Reset all connections and counts, and use these replies."""
        await self.end_connections(resets=True)
        for beats in self._beats:
            beats.cancel()
        self._connections = 0
        self._longest_pause_s = 0.0
        self._requests, self._names = [], []
        self._replies = replies

    async def send(self, text: str, times: int, path: str = "/") -> int:
        """Write to the open streams below a path; return their number once the kernel has the data."""
        data = text.encode()
        streams = {writer: stream for writer, stream in self._streams.items() if stream.target.startswith(path)}
        for writer, stream in streams.items():
            for _ in range(times):
                writer.write(stream.framed(data))
                await writer.drain()
        return len(streams)

    async def end_streams(self) -> None:
        """End the body of each open stream."""
        for writer, stream in self._streams.items():
            if stream.in_chunks:
                writer.write(b"0" + 2 * b"\r\n")
            else:
                writer.write_eof()
        self._streams = {}

    async def end_connections(self, resets: bool) -> int:  # noqa: FBT001 - see the protocol
        """End all open connections."""
        ended, self._open, self._streams = self._open, set(), {}
        for writer in ended:
            end(writer, resets=resets)
        return len(ended)

    async def name(self, addresses: Mapping[str, str], ttl_s: int) -> None:
        """Set the addresses of names."""
        self._addresses, self._ttl_s = addresses, ttl_s

    def answer_to_name(self, question: bytes) -> bytes:
        """Return the answer to a DNS query (RFC 1035)."""
        return names.answer_to(question, address_of=self._address_of, ttl_s=self._ttl_s)

    def _address_of(self, name: str) -> str:
        self._names.append(name)
        known = (address for known, address in self._addresses.items() if f".{name}".endswith(f".{known}"))
        return next(known, "") or names.usual_address(name)

    async def seen(self) -> Seen:
        """Return the counts so far."""
        return Seen(
            connections=self._connections,
            open_connections=len(self._open),
            open_streams=len(self._streams),
            unacknowledged_bytes=sum(map(unacknowledged_bytes, self._open)),
            requests=tuple(self._requests),
            names=tuple(self._names),
            longest_pause_s=self._longest_pause_s,
        )

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        # With this limit, drain() waits until the kernel has taken all data.
        writer.transport.set_write_buffer_limits(high=0)
        self._connections += 1
        self._open.add(writer)
        try:
            number = 1
            while await self._answer(reader, writer, number):
                number += 1
        except (OSError, EOFError):
            # Either end has ended the connection.
            pass
        finally:
            self._open.discard(writer)
            self._streams.pop(writer, None)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        """Answer a connection's request with this number; return whether another may follow."""
        request_line, *lines = (await reader.readuntil(_HEAD_END)).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip().lower() for name, _, value in (line.partition(":") for line in lines)}
        _method, target, version = request_line.split(" ")
        reply = next(reply for reply in self._replies if target.startswith(reply.path))
        is_last = 0 < reply.answers < number
        if reply.reads_body or not is_last:
            await reader.readexactly(int(headers.get("content-length", "0")))
            self._requests.append(request_line)
        if is_last:
            self._open.discard(writer)
            end(writer, resets=reply.resets)
            return False
        is_old = version == "HTTP/1.0"
        connection = headers.get("connection", "")
        stays = "keep-alive" in connection if is_old else "close" not in connection
        if reply.streams:
            writer.write(_head(reply, "" if is_old else "Transfer-Encoding: chunked", stays=stays and not is_old))
            self._streams[writer] = _Stream(target=target, in_chunks=not is_old)
            if reply.beat:
                beats = asyncio.create_task(self._beat(writer, reply.beat.encode()))
                self._beats.add(beats)
                beats.add_done_callback(self._beats.discard)
            await self._hear_the_end(reader)
        body = reply.body.encode()
        writer.write(_head(reply, f"Content-Length: {len(body)}", stays=stays) + body)
        await writer.drain()
        return stays

    async def _beat(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        last_s = loop.time()
        while stream := self._streams.get(writer):
            writer.write(stream.framed(data))
            now_s = loop.time()
            self._longest_pause_s, last_s = max(self._longest_pause_s, now_s - last_s), now_s
            await asyncio.sleep(_BEAT_S)

    async def _hear_the_end(self, reader: asyncio.StreamReader) -> NoReturn:
        """Wait until the peer leaves, during a stream or after its end: no request follows a stream."""
        while await reader.read(_READ_BYTES):
            pass
        raise EOFError


def end(writer: asyncio.StreamWriter, *, resets: bool) -> None:
    """End a connection, by a reset or a FIN."""
    if resets:
        # A connection that the peer has just reset no longer has a socket.
        if (connected := writer.get_extra_info("socket")).fileno() >= 0:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)
        writer.transport.abort()
    else:
        writer.close()


def _head(reply: Reply, framing: str, *, stays: bool) -> bytes:
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{name}: {value}" for name, value in reply.headers.items())]
    lines += [framing] if framing else []
    lines.append(f"Connection: {'keep-alive' if stays else 'close'}")
    return "\r\n".join(lines).encode("latin-1") + _HEAD_END
