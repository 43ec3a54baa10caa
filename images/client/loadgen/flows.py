"""Requests whose answers are all looked at one by one: what came, how much of it, and who closed the connection."""

import asyncio
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tuneproof.lab.protocol.exchanges import Answer, Connection, Flow

from . import http1
from .tls import unchecked

_HEAD_END: Final = b"\r\n\r\n"
_CHUNK_BYTES: Final = 65536
# Slow readers take their share so many times a second.
_TICKS_PER_S: Final = 20
_BODILESS: Final = (204, 304)
# In tcp(7) and the kernel's headers; Python's socket module does not name it.
_TCP_FASTOPEN_CONNECT: Final = 30
_IP_BIND_ADDRESS_NO_PORT: Final = 24


@dataclass(kw_only=True)
class _Answer:
    """One answer, as far as it came; status 0 stands for none."""

    status: int = 0
    worker: int = 0
    numbered: str = ""
    body_bytes: int = 0
    complete: bool = False
    first_byte_s: float = 0.0
    total_s: float = 0.0


@dataclass(kw_only=True)
class _Connection:
    """What became of one connection, so far."""

    answers: list[_Answer] = field(default_factory=list)
    error: str = ""
    closed_by_server: bool = False
    open_s: float = 0.0

    def told(self) -> Connection:
        """Return it for good."""
        return Connection(
            answers=tuple(Answer(**vars(answer)) for answer in self.answers),
            error=self.error,
            closed_by_server=self.closed_by_server,
            open_s=self.open_s,
        )


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where flows go, and the client's addresses that they come from, in turn; the kernel's choice without any."""

    address: str
    port: int
    host: str = "lab"
    sources: tuple[str, ...] = ()


def run(flows: Iterable[Flow], server: Server) -> tuple[tuple[Connection, ...], ...]:
    """Run flows at once, and return what became of each one's connections."""
    return asyncio.run(_all_flows(flows, server))


def request(flow: Flow, host: str, *, connection: int, number: int) -> bytes:
    """Return the bytes of a request."""
    path = flow.path.replace("{c}", str(connection)).replace("{n}", str(number))
    last = flow.close and number == flow.requests - 1
    headers = {"Host": host, **({"Connection": "close"} if last else {}), **flow.headers}
    if flow.body_bytes:
        headers["Content-Length"] = str(flow.body_bytes)
    lines = (f"{flow.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()))
    return "\r\n".join(lines).encode("latin-1") + _HEAD_END + bytes(flow.body_bytes)


async def _all_flows(flows: Iterable[Flow], server: Server) -> tuple[tuple[Connection, ...], ...]:
    return tuple(await asyncio.gather(*(_flow(flow, server) for flow in flows)))


async def _flow(flow: Flow, server: Server) -> tuple[Connection, ...]:
    room = asyncio.Semaphore(flow.at_once or flow.connections)

    async def one(number: int) -> Connection:
        async with room:
            return await _connection(flow, server, number)

    return tuple(await asyncio.gather(*(one(number) for number in range(flow.connections))))


async def _connection(flow: Flow, server: Server, number: int) -> Connection:
    report = _Connection()
    await asyncio.sleep(flow.wait_s)
    began_s = time.monotonic()
    try:
        await asyncio.wait_for(_talk(flow, server, number, report), flow.timeout_s)
    except TimeoutError:
        report.error = "TIMEOUT"
    except (OSError, EOFError, ValueError) as error:
        report.error = type(error).__name__
        report.closed_by_server = isinstance(error, ConnectionError | EOFError)
    report.open_s = time.monotonic() - began_s
    return report.told()


async def _talk(flow: Flow, server: Server, number: int, report: _Connection) -> None:
    plain = socket.socket()
    plain.setblocking(False)
    if flow.receive_buffer_bytes:
        # Before the connection stands: the window's scale is told in the SYN.
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, flow.receive_buffer_bytes)
    if flow.fast_open:
        plain.setsockopt(socket.IPPROTO_TCP, _TCP_FASTOPEN_CONNECT, 1)
    try:
        if server.sources:
            # The port is chosen when it connects: several connections of one address may have the same.
            plain.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
            plain.bind((server.sources[number % len(server.sources)], 0))
        await asyncio.get_running_loop().sock_connect(plain, (server.address, server.port))
    except BaseException:
        plain.close()
        raise
    context = unchecked() if flow.tls else None
    # What is not read stays with the server: the library takes in twice its limit.
    limit = 4096 if flow.read_bytes_per_s else _CHUNK_BYTES
    name = flow.headers.get("Host", server.host).partition(":")[0]
    reader, writer = await asyncio.open_connection(
        sock=plain, ssl=context, server_hostname=name if context else None, limit=limit
    )
    try:
        if flow.head_bytes:
            writer.write(request(flow, server.host, connection=number, number=0)[: flow.head_bytes])
        else:
            for count in range(flow.requests):
                answer = _Answer()
                report.answers.append(answer)
                writer.write(request(flow, server.host, connection=number, number=count))
                await _receive(reader, answer, flow)
        if flow.hold_s:
            await _hold(reader, report, flow)
        await asyncio.sleep(flow.linger_s)
    finally:
        writer.transport.abort()


async def _hold(reader: asyncio.StreamReader, report: _Connection, flow: Flow) -> None:
    try:
        data = await asyncio.wait_for(reader.read(_CHUNK_BYTES), flow.hold_s)
    except TimeoutError:
        return
    report.closed_by_server = True
    if data.startswith(b"HTTP/"):
        # An answer to what was not a whole request, such as 408 or 400.
        report.answers.append(_Answer(status=int(data[9:12]), complete=True))


async def _receive(reader: asyncio.StreamReader, answer: _Answer, flow: Flow) -> None:
    began_s = time.monotonic()
    try:
        raw = await reader.readuntil(_HEAD_END)
        answer.first_byte_s = time.monotonic() - began_s
        head = http1.parse_head(raw[: -len(_HEAD_END)])
        answer.status, answer.worker = head.status, int(head.headers.get("x-worker", "0"))
        answer.numbered = head.headers.get("x-tuneproof-answer", "")
        if head.status in _BODILESS or flow.method == "HEAD":
            answer.complete = True
        elif head.headers.get("transfer-encoding") == "chunked":
            await _receive_chunks(reader, answer)
        elif "content-length" in head.headers:
            await _receive_bytes(reader, answer, head.content_length, flow.read_bytes_per_s)
        else:
            while data := await reader.read(_CHUNK_BYTES):
                answer.body_bytes += len(data)
            answer.complete = True
    finally:
        answer.total_s = time.monotonic() - began_s


async def _receive_chunks(reader: asyncio.StreamReader, answer: _Answer) -> None:
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        await reader.readexactly(size + 2)
        answer.body_bytes += size
        if size == 0:
            answer.complete = True
            return


async def _receive_bytes(reader: asyncio.StreamReader, answer: _Answer, length: int, bytes_per_s: int) -> None:
    while answer.body_bytes < length:
        data = await reader.read(min(length - answer.body_bytes, bytes_per_s // _TICKS_PER_S or _CHUNK_BYTES))
        if not data:
            raise EOFError("closed within the body")
        answer.body_bytes += len(data)
        if bytes_per_s:
            await asyncio.sleep(len(data) / bytes_per_s)
    answer.complete = True
