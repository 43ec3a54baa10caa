"""Requests with detailed results: the response, its bytes, and which end closed the connection."""

import asyncio
import contextlib
import itertools
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tuneproof.lab.protocol.exchanges import Answer, Connection, Flow, Step
from tuneproof.lab.protocol.serving import CannotDoError
from tuneproof.lab.protocol.tls_records import unchecked

from . import http1, proxy_protocol

_HOST: Final = "lab"
_HEAD_END: Final = b"\r\n\r\n"
_CHUNK_BYTES: Final = 65536
# How often per second slow readers read and slow senders send.
_TICKS_PER_S: Final = 20
_BODILESS: Final = (204, 304)
# This option is in tcp(7) and the kernel's headers, but not in Python's socket module.
_TCP_FASTOPEN_CONNECT: Final = 30
_IP_BIND_ADDRESS_NO_PORT: Final = 24


@dataclass(kw_only=True)
class _Answer:
    """One response, as far as it arrived; status 0 means that there was none."""

    status: int = 0
    worker: int = 0
    numbered: str = ""
    body_bytes: int = 0
    complete: bool = False
    says_close: bool = False
    total_s: float = 0.0
    head: tuple[str, ...] = ()


@dataclass(kw_only=True)
class _Connection:
    """The result of one connection so far."""

    answers: list[_Answer] = field(default_factory=list)
    error: str = ""
    closed_by_server: bool = False
    open_s: float = 0.0

    def frozen(self) -> Connection:
        return Connection(**{**vars(self), "answers": tuple(Answer(**vars(answer)) for answer in self.answers)})


@dataclass(frozen=True, kw_only=True)
class Server:
    """The target of flows, and the client addresses that they use in turn; without any, the kernel chooses one."""

    address: str
    port: int
    sources: tuple[str, ...] = ()


class Standing:
    """Flows on a separate event loop, so that connections may stay open while other calls run.

    If some connections stay open, the others start once each of those has reached that state or failed.
    """

    def __init__(self, flows: Sequence[Flow], server: Server) -> None:
        self._flows = flows
        self._server = server
        self._coming = sum(flow.connections for flow in flows if flow.stays)
        self._ended, self._all_stand, self._others_ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._running = asyncio.run_coroutine_threadsafe(self._run(), self._loop)

    def wait(self) -> None:
        """Wait until every connection that stays open has reached that state or failed, and all others have ended."""
        asyncio.run_coroutine_threadsafe(self._others_ended.wait(), self._loop).result()

    def end(self) -> tuple[tuple[Connection, ...], ...]:
        """Let the connections that stay open take their later steps, then close them; return each flow's results."""
        self._loop.call_soon_threadsafe(self._ended.set)
        try:
            return self._running.result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _run(self) -> tuple[tuple[Connection, ...], ...]:
        """Run all flows; connections that stay open end when ``_ended`` is set."""
        if not self._coming:
            self._all_stand.set()
        tasks = [asyncio.ensure_future(self._flow(flow)) for flow in self._flows]
        for flow, task in zip(self._flows, tasks, strict=True):
            if not flow.stays:
                await task
        await self._all_stand.wait()
        self._others_ended.set()
        return tuple([await task for task in tasks])

    async def _flow(self, flow: Flow) -> tuple[Connection, ...]:
        room = asyncio.Semaphore(flow.at_once or flow.connections)
        if not flow.stays:
            await self._all_stand.wait()

        async def one(number: int) -> list[Connection]:
            made: list[Connection] = []
            await room.acquire()
            # These run once per number, when its first connection has ended or stays open: then the next may start.
            settles = [room.release, *([self._one_stands] if flow.stays else [])]

            def settled() -> None:
                while settles:
                    settles.pop()()

            is_last = False
            while not is_last:
                is_last = self._ended.is_set() or Step.REPEAT not in flow.then
                made.append(await _connection(_Talk(flow, self._server, number, self._ended, settled)))
                settled()
                # After a failed request, no further one is sent, so that the failure counts once.
                is_last |= not (made[-1].answers and made[-1].answers[-1].complete)
            return made

        made = await asyncio.gather(*(one(number) for number in range(flow.connections)))
        return tuple(itertools.chain.from_iterable(made))

    def _one_stands(self) -> None:
        self._coming -= 1
        if not self._coming:
            self._all_stand.set()


class Flows:
    """The client's flows."""

    def __init__(self) -> None:
        self._standing: Standing | None = None

    def run(
        self, address: str, port: int, flows: tuple[Flow, ...], sources: tuple[str, ...] = ()
    ) -> tuple[tuple[Connection, ...], ...]:
        """Run flows at the same time, and return the results of each flow's connections."""
        standing = Standing(flows, Server(address=address, port=port, sources=sources))
        standing.wait()
        return standing.end()

    def start(self, address: str, port: int, flows: tuple[Flow, ...], sources: tuple[str, ...] = ()) -> None:
        """Run flows, and keep some of their connections open."""
        self._standing = Standing(flows, Server(address=address, port=port, sources=sources))
        self._standing.wait()

    def end(self) -> tuple[tuple[Connection, ...], ...]:
        """End the flows that stay open (CannotDoError: there are none)."""
        if self._standing is None:
            raise CannotDoError("no connections are being kept open")
        standing, self._standing = self._standing, None
        return standing.end()

    def close(self) -> None:
        """End the flows that stay open, if there are any."""
        if self._standing is not None:
            self.end()


async def _connection(talk: "_Talk") -> Connection:
    began_s = time.monotonic()
    try:
        await talk.run()
    except TimeoutError:
        talk.report.error = "TIMEOUT"
    except (OSError, EOFError, ValueError) as error:
        talk.report.error = type(error).__name__
        talk.report.closed_by_server = isinstance(error, ConnectionError | EOFError)
    finally:
        talk.close()
    talk.report.open_s = time.monotonic() - began_s
    return talk.report.frozen()


def request(flow: Flow, *, connection: int, number: int) -> bytes:
    """Return the bytes of a request."""
    if flow.says:
        return flow.says.encode("latin-1")
    path = flow.path.replace("{c}", str(connection)).replace("{n}", str(number))
    last = flow.close and number == flow.requests - 1
    headers = {"Host": _HOST, **({"Connection": "close"} if last else {}), **flow.headers}
    if flow.body_bytes:
        headers["Content-Length"] = str(flow.body_bytes)
    return http1.request(path, headers, method=flow.method, body_bytes=flow.body_bytes)


class _Talk:
    """The exchanges on one connection.

    ended: set when connections that stay open should end.
    settled: called when the connection has reached the state in which it stays open.
    """

    def __init__(
        self, flow: Flow, server: Server, number: int, ended: asyncio.Event, settled: Callable[[], None]
    ) -> None:
        self._flow = flow
        self._server = server
        self._number = number
        self._ended = ended
        self._settled = settled
        self._writer: asyncio.StreamWriter | None = None
        self._rest: Coroutine[Any, Any, None] | None = None
        self._body_length = 0
        self.report = _Connection()  # the result so far

    async def run(self) -> None:
        await asyncio.wait_for(self._ask_all(), self._flow.timeout_s)
        for step in self._flow.then:
            if step is Step.STAY:
                await self._stay()
            elif step is Step.REPEAT:
                await self._repeat()
            else:
                await asyncio.wait_for(
                    self._ask_more() if step is Step.ASK else self._await_end(), self._flow.timeout_s
                )

    async def _ask_all(self) -> None:
        flow = self._flow
        reader, self._writer = await _connect(flow, self._server, self._number)
        self._reader = reader
        if flow.sends_bytes_per_s:
            await self._send_slowly(self._writer)
            await _receive(reader, self._begin_answer(), flow)
        elif flow.head_bytes:
            # With this limit, drain() waits until the kernel has accepted everything.
            self._writer.transport.set_write_buffer_limits(high=0)
            self._writer.write(request(flow, connection=self._number, number=0)[: flow.head_bytes])
            await self._writer.drain()
        else:
            for count in range(flow.requests):
                answer = self._ask(self._writer, count)
                if flow.stays and flow.read_bytes_per_s:
                    head = await _receive_head(reader, answer)
                    self._body_length = head.content_length
                    self._rest = _receive_bytes(reader, answer, head.content_length, flow.read_bytes_per_s)
                else:
                    await _receive(reader, answer, flow)

    async def _send_slowly(self, writer: asyncio.StreamWriter) -> None:
        asked = request(self._flow, connection=self._number, number=0)
        part_bytes = self._flow.sends_bytes_per_s // _TICKS_PER_S
        for at in range(0, len(asked), part_bytes):
            writer.write(asked[at : at + part_bytes])
            await asyncio.sleep(1 / _TICKS_PER_S)

    def _begin_answer(self) -> _Answer:
        answer = _Answer()
        self.report.answers.append(answer)
        return answer

    def _ask(self, writer: asyncio.StreamWriter, number: int) -> _Answer:
        """Send a request, or the rest of one that has begun; return the object that will hold its response."""
        answer = self._begin_answer()
        asked = request(self._flow, connection=self._number, number=number)
        writer.write(asked[self._flow.head_bytes :])
        return answer

    async def _repeat(self) -> None:
        """Repeat the request until the flows end, and once more; stop if the server announces that it will close."""
        self._settled()
        is_last = False
        while self._writer is not None and not is_last and not self.report.answers[-1].says_close:
            is_last = self._ended.is_set()
            answer = self._ask(self._writer, self._flow.requests)
            await asyncio.wait_for(_receive(self._reader, answer, self._flow), self._flow.timeout_s)

    async def _stay(self) -> None:
        self._settled()
        meanwhile = asyncio.ensure_future(self._rest or self._await_end())
        waiting = asyncio.ensure_future(self._ended.wait())
        await asyncio.wait([meanwhile, waiting], return_when=asyncio.FIRST_COMPLETED)
        if meanwhile.done():
            # The client does not close its socket, even if the server has closed the connection.
            await waiting
        meanwhile.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await meanwhile

    async def _ask_more(self) -> None:
        flow, writer = self._flow, self._writer
        if self._rest is not None:
            await _receive_bytes(self._reader, self.report.answers[-1], self._body_length, 0)
        elif writer is not None:
            answer = self._ask(writer, 0 if flow.head_bytes else flow.requests)
            await _receive(self._reader, answer, flow)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()

    async def _await_end(self) -> None:
        data = await self._reader.read(_CHUNK_BYTES)
        self.report.closed_by_server = True
        if data.startswith(b"HTTP/"):
            # A response to an incomplete request, such as 408 or 400.
            self.report.answers.append(_Answer(status=int(data[9:12]), complete=True))


async def _connect(flow: Flow, server: Server, number: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    # asyncio sets TCP_NODELAY only on sockets with an explicit protocol; without it, a request over TLS 1.3 would wait
    # a round trip for the acknowledgement of the client's Finished message.
    plain = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    plain.setblocking(False)
    if flow.receive_buffer_bytes:
        # This must precede connect(), since the SYN announces the window's scale.
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, flow.receive_buffer_bytes)
    if flow.fast_open:
        plain.setsockopt(socket.IPPROTO_TCP, _TCP_FASTOPEN_CONNECT, 1)
    try:
        if server.sources:
            # connect() chooses the port, so that connections to different servers may share it.
            plain.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
            plain.bind((server.sources[number % len(server.sources)], 0))
        await asyncio.get_running_loop().sock_connect(plain, (server.address, server.port))
        if flow.proxy_protocol:
            await asyncio.get_running_loop().sock_sendall(plain, proxy_protocol.header(plain))
    except BaseException:
        plain.close()
        raise
    context = unchecked(flow.tls_version) if flow.tls else None
    # Unread data should stay with the server, but asyncio reads up to twice this limit ahead.
    limit = 4096 if flow.read_bytes_per_s else _CHUNK_BYTES
    name = flow.headers.get("Host", _HOST).partition(":")[0]
    if context and flow.tls_trusts_nobody:
        context.verify_mode = ssl.CERT_REQUIRED
        plain.setblocking(True)
        # This always fails. Unlike asyncio, it sends the alert with the reason.
        await asyncio.to_thread(context.wrap_socket, plain, server_hostname=name)
    return await asyncio.open_connection(
        sock=plain, ssl=context, server_hostname=name if context else None, limit=limit
    )


async def _receive(reader: asyncio.StreamReader, answer: _Answer, flow: Flow) -> None:
    began_s = time.monotonic()
    try:
        head = await _receive_head(reader, answer)
        if flow.keeps_heads:
            answer.head = head.lines
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


async def _receive_head(reader: asyncio.StreamReader, answer: _Answer) -> http1.Head:
    raw = await reader.readuntil(_HEAD_END)
    head = http1.parse_head(raw[: -len(_HEAD_END)])
    answer.status, answer.worker = head.status, int(head.headers.get("x-worker", "0"))
    answer.says_close = head.headers.get("connection", "").lower() == "close"
    answer.numbered = head.headers.get("x-tuneproof-answer", "")
    return head


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
