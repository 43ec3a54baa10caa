"""Requests whose answers are all looked at one by one: what came, how much of it, and who closed the connection."""

import asyncio
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from . import http1

_HEAD_END: Final = b"\r\n\r\n"
_CHUNK_BYTES: Final = 65536
# Slow readers take their share so many times a second.
_TICKS_PER_S: Final = 20
_BODILESS: Final = (204, 304)
# In tcp(7) and the kernel's headers; Python's socket module does not name it.
_TCP_FASTOPEN_CONNECT: Final = 30
_IP_BIND_ADDRESS_NO_PORT: Final = 24


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Connections that do the same, at once.

    Attributes:
        connections: How many.
        at_once: How many of them may be open at a time; 0 for all.
        requests: How many on each, one after the other.
        path: What is asked for; {c} stands for the connection's number, {n} for the request's.
        method: The request's method.
        headers: Further headers.
        body_bytes: Length of the request's body.
        wait_s: How long each connection waits before it is made.
        close: Whether the last request of a connection asks for its end.
        head_bytes: How much of the first request's head is sent, and nothing more; 0 for all of it.
        hold_s: How long a connection stays open after its last answer, unless the server ends it.
        read_bytes_per_s: How fast answers are read; 0 for at once.
        receive_buffer_bytes: SO_RCVBUF (socket(7)) of each connection; 0 for the kernel's own.
        linger_s: How long its socket is kept after all that, even if the server has ended the connection.
        fast_open: Whether requests may travel in the SYN (RFC 7413), as soon as the server has given a cookie.
        tls: Whether the connections are TLS; certificates are not checked.
        timeout_s: The longest that a connection may take.
    """

    connections: int = 1
    at_once: int = 0
    requests: int = 1
    path: str = "/"
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body_bytes: int = 0
    wait_s: float = 0.0
    close: bool = False
    head_bytes: int = 0
    hold_s: float = 0.0
    read_bytes_per_s: int = 0
    receive_buffer_bytes: int = 0
    linger_s: float = 0.0
    fast_open: bool = False
    tls: bool = False
    timeout_s: float = 30.0

    def request(self, host: str, *, connection: int, number: int) -> bytes:
        """Return the bytes of a request."""
        path = self.path.replace("{c}", str(connection)).replace("{n}", str(number))
        last = self.close and number == self.requests - 1
        headers = {"Host": host, **({"Connection": "close"} if last else {}), **self.headers}
        if self.body_bytes:
            headers["Content-Length"] = str(self.body_bytes)
        lines = (f"{self.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()))
        return "\r\n".join(lines).encode("latin-1") + _HEAD_END + bytes(self.body_bytes)


@dataclass(frozen=True, kw_only=True)
class Server:
    """Who is asked, as what, and from where; see :func:`run`."""

    address: str
    port: int
    host: str
    sources: tuple[str, ...]


@dataclass(kw_only=True)
class Answer:
    """One answer, as far as it came; status 0 stands for none."""

    status: int = 0
    worker: int = 0
    numbered: str = ""
    body_bytes: int = 0
    complete: bool = False
    first_byte_s: float = 0.0
    total_s: float = 0.0


@dataclass(kw_only=True)
class Connection:
    """What became of one connection."""

    answers: list[Answer] = field(default_factory=list)
    error: str = ""
    closed_by_server: bool = False
    open_s: float = 0.0


def run(
    *, address: str, port: int, flows: Sequence[Mapping[str, Any]], host: str = "lab", sources: Sequence[str] = ()
) -> dict[str, Any]:
    """Run flows at once, and return for each its ``connections``.

    Args:
        address: IPv4 address of the server.
        port: Its TCP port.
        flows: The fields of :class:`Flow`, for each.
        host: What is sent as Host.
        sources: IPv4 addresses of this machine that connections come from, in turn; the kernel's choice without any.
    """
    server = Server(address=address, port=port, host=host, sources=tuple(sources))
    done = asyncio.run(_all_flows([Flow(**fields) for fields in flows], server))
    return {"flows": [[asdict(connection) for connection in connections] for connections in done]}


async def _all_flows(flows: list[Flow], server: Server) -> list[list[Connection]]:
    return list(await asyncio.gather(*(_flow(flow, server) for flow in flows)))


async def _flow(flow: Flow, server: Server) -> list[Connection]:
    room = asyncio.Semaphore(flow.at_once or flow.connections)

    async def one(number: int) -> Connection:
        async with room:
            return await _connection(flow, server, number)

    return list(await asyncio.gather(*(one(number) for number in range(flow.connections))))


async def _connection(flow: Flow, server: Server, number: int) -> Connection:
    report = Connection()
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
    return report


async def _talk(flow: Flow, server: Server, number: int, report: Connection) -> None:
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
    context = _unchecked() if flow.tls else None
    # What is not read stays with the server: the library takes in twice its limit.
    limit = 4096 if flow.read_bytes_per_s else _CHUNK_BYTES
    name = flow.headers.get("Host", server.host).partition(":")[0]
    reader, writer = await asyncio.open_connection(
        sock=plain, ssl=context, server_hostname=name if context else None, limit=limit
    )
    try:
        if flow.head_bytes:
            writer.write(flow.request(server.host, connection=number, number=0)[: flow.head_bytes])
        else:
            for count in range(flow.requests):
                answer = Answer()
                report.answers.append(answer)
                writer.write(flow.request(server.host, connection=number, number=count))
                await _receive(reader, answer, flow)
        if flow.hold_s:
            await _hold(reader, report, flow)
        await asyncio.sleep(flow.linger_s)
    finally:
        writer.transport.abort()


async def _hold(reader: asyncio.StreamReader, report: Connection, flow: Flow) -> None:
    try:
        data = await asyncio.wait_for(reader.read(_CHUNK_BYTES), flow.hold_s)
    except TimeoutError:
        return
    report.closed_by_server = True
    if data.startswith(b"HTTP/"):
        # An answer to what was not a whole request, such as 408 or 400.
        report.answers.append(Answer(status=int(data[9:12]), complete=True))


async def _receive(reader: asyncio.StreamReader, answer: Answer, flow: Flow) -> None:
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


async def _receive_chunks(reader: asyncio.StreamReader, answer: Answer) -> None:
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        await reader.readexactly(size + 2)
        answer.body_bytes += size
        if size == 0:
            answer.complete = True
            return


async def _receive_bytes(reader: asyncio.StreamReader, answer: Answer, length: int, bytes_per_s: int) -> None:
    while answer.body_bytes < length:
        data = await reader.read(min(length - answer.body_bytes, bytes_per_s // _TICKS_PER_S or _CHUNK_BYTES))
        if not data:
            raise EOFError("closed within the body")
        answer.body_bytes += len(data)
        if bytes_per_s:
            await asyncio.sleep(len(data) / bytes_per_s)
    answer.complete = True


def _unchecked() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
