"""Flows of requests, with detailed results: the response, its bytes, and which end closed the connection."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from images.client.loadgen import flows
from images.client.loadgen.flows import Flows
from images.client.loadgen.streams import OpenStreams
from tests.support.loops import running_loop
from tuneproof.lab.load.waiting import wait_until
from tuneproof.lab.protocol.exchanges import Connection, Flow, Step, Streams
from tuneproof.lab.protocol.tls_records import Records

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
OK = b"HTTP/1.1 200 OK\r\nX-Worker: 7\r\nContent-Length: 5\r\n\r\nhello"


@contextmanager
def server(handler: Handler) -> Iterator[int]:
    """Serve connections with a coroutine in a separate thread; yield the port."""
    with running_loop() as loop:
        starting = asyncio.start_server(handler, "127.0.0.1", 0)
        listening = asyncio.run_coroutine_threadsafe(starting, loop).result()
        try:
            yield listening.sockets[0].getsockname()[1]
        finally:
            loop.call_soon_threadsafe(listening.close)


def answering(*answers: bytes, then_close: bool = True) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
        if then_close:
            writer.close()
        else:
            await reader.read()
            writer.close()

    return handle


def run(handler: Handler, **fields: Any) -> tuple[Connection, ...]:
    with server(handler) as port:
        (connections,) = Flows().run("127.0.0.1", port, (Flow(**fields),))
    return connections


def test_small_writes_are_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nagle's algorithm would delay requests; asyncio disables it only for sockets with an explicit protocol."""
    options: list[int] = []
    connect = asyncio.open_connection

    async def recording(**given: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await connect(**given)
        options.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return reader, writer

    monkeypatch.setattr(asyncio, "open_connection", recording)
    run(answering(OK))
    assert options == [1]


def test_a_request_may_be_sent_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client with a slow uplink sends requests in this way. Any bytes may replace a request, not only HTTP."""
    written: list[bytes] = []
    write = asyncio.StreamWriter.write

    def recording(writer: asyncio.StreamWriter, data: bytes) -> None:
        written.append(data)
        write(writer, data)

    monkeypatch.setattr(asyncio.StreamWriter, "write", recording)
    request = b"\x16PROXY \xff" + b"x" * 200 + b"\r\n\r\n"
    (connection,) = run(answering(OK), says=request.decode("latin-1"), sends_bytes_per_s=20 * 50)
    assert written == [*(request[at : at + 50] for at in range(0, len(request), 50)), OK]
    assert connection.answers[0].status == 200


def test_header_lines_are_reported_on_request() -> None:
    answer = OK.replace(b"X-Worker: 7", b"Set-Cookie: a\r\nset-cookie: b")
    (connection,) = run(answering(answer), keeps_heads=True)
    assert connection.answers[0].head == ("Set-Cookie: a", "set-cookie: b", "Content-Length: 5")
    (connection,) = run(answering(answer))
    assert connection.answers[0].head == ()


def test_connections_come_from_the_given_addresses_in_turn() -> None:
    """In this way, one machine acts as many clients."""
    seen: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(writer.get_extra_info("peername")[0])
        await answering(OK)(reader, writer)

    with server(handle) as port:
        sources = ("127.0.0.2", "127.0.0.3")
        Flows().run("127.0.0.1", port, (Flow(connections=3),), sources)
    assert sorted(seen) == ["127.0.0.2", "127.0.0.2", "127.0.0.3"]


@pytest.mark.parametrize("stream", [False, True], ids=["a flow", "a stream"])
def test_a_connection_may_begin_with_addresses_in_the_proxy_protocol(*, stream: bool) -> None:
    """A load balancer with the PROXY protocol sends them before the request."""
    received: list[tuple[bytes, tuple[str, int]]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append((await reader.readuntil(b"\r\n\r\n"), writer.get_extra_info("peername")))
        writer.write(OK)
        writer.close()

    with server(handle) as port:
        if stream:
            streams = OpenStreams()
            streams.open("127.0.0.1", port, (Streams(host="a.example", proxy_protocol=True),))
            wait_until(lambda: streams.arrived()[0].end == "complete", "nothing arrived")
            streams.leave()
        else:
            flow = Flow(proxy_protocol=True, headers={"Host": "a.example"})
            Flows().run("127.0.0.1", port, (flow,))
    ((sent, (address, client_port)),) = received
    line, request, host, *_ = sent.decode().split("\r\n")
    assert line == f"PROXY TCP4 {address} 127.0.0.1 {client_port} {port}"
    assert (request, host) == ("GET / HTTP/1.1", "Host: a.example")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (OK[:-2], (200, 3, False)),
        # Status 0 means no response.
        (b"", (0, 0, False)),
        # nginx's compressed responses are like this: chunks count without their framing.
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            (200, 5, True),
        ),
        # A body without a length ends with the connection (RFC 9112, section 6.3).
        (b"HTTP/1.1 200 OK\r\n\r\nabcd", (200, 4, True)),
    ],
    ids=["cut", "nothing", "chunks", "no-length"],
)
def test_a_response_is_reported_as_far_as_it_arrived(sent: bytes, expected: tuple[int, int, bool]) -> None:
    (connection,) = run(answering(sent))
    assert [(answer.status, answer.body_bytes, answer.complete) for answer in connection.answers] == [expected]
    assert connection.closed_by_server is not expected[-1]


class Waiting:
    """A server that answers, and keeps connections open or closes them; it records the requests."""

    def __init__(self, answer: bytes = b"", *, hangs_up: bool = False) -> None:
        self._answer = answer
        self._hangs_up = hangs_up
        self.received: list[bytes] = []
        self.open = self.most_unread = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most_unread = max(self.most_unread, self.open - len(self.received))
        self.received.append(await reader.read(4096))
        writer.write(self._answer)
        if self._hangs_up:
            writer.close()
        with contextlib.suppress(OSError):
            await reader.read()
        self.open -= 1
        writer.close()


@contextlib.contextmanager
def standing(handler: Handler, *several: Flow) -> Iterator[Callable[[], tuple[tuple[Connection, ...], ...]]]:
    """Run flows with connections that stay open; the yielded function ends them."""
    with server(handler) as port:
        running = Flows()
        running.start("127.0.0.1", port, several)
        yield running.end


def test_headers_count_as_sent_only_when_the_kernel_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """If headers still waited in the client, nginx's memory would be read too early."""

    async def connect(*_: object) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        plain.connect(listening.getsockname())
        return await asyncio.open_connection(sock=plain)

    monkeypatch.setattr(flows, "_connect", connect)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        # This is less than asyncio's limit for its write buffer.
        flow = Flow(path=f"/{'x' * 60_000}", head_bytes=60_000, then=(Step.STAY,), timeout_s=0.2)
        ((connection,),) = Flows().run("", 0, (flow,))
    assert connection.error == "TIMEOUT"


def test_the_servers_response_to_an_idle_connection_is_reported() -> None:
    """The client keeps its socket open after the server has closed the connection, here after incomplete headers."""
    waiting = Waiting(b"HTTP/1.1 408 Request Time-out\r\n\r\n", hangs_up=True)
    with standing(waiting, Flow(head_bytes=9, then=(Step.STAY,))) as end:
        began_s = time.monotonic()
        while waiting.open or not waiting.received:
            time.sleep(0.001)
        stayed_s = time.monotonic() - began_s
        ((connection,),) = end()
    assert waiting.received == [b"GET / HTT"]
    assert [answer.status for answer in connection.answers] == [408]
    assert (connection.error, connection.closed_by_server) == ("", True)
    assert connection.open_s >= stayed_s


def test_other_flows_start_once_all_connections_that_stay_open_have_a_response() -> None:
    """A slow reader counts as staying once its response has begun."""
    waiting = Waiting(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + bytes(50_000))
    slow = Flow(connections=3, read_bytes_per_s=1000, then=(Step.STAY,), path="/slow")
    with standing(waiting, slow, Flow(path="/later", method="HEAD")) as end:
        assert [line.split()[1] for line in waiting.received] == [b"/slow"] * 3 + [b"/later"]
        readers, (late,) = end()
    assert [(answer.status, answer.complete) for one in readers for answer in one.answers] == [(200, False)] * 3
    assert all(0 < one.answers[0].body_bytes < 50_000 for one in readers)
    assert (late.error, [one.error for one in readers]) == ("", [""] * 3)


def test_a_connection_that_continues_sends_one_more_request_and_reports_a_close() -> None:
    """If the server has already closed the connection, there is no response."""
    closing = OK.replace(b"X-Worker", b"Connection: close\r\nX-Worker")
    with standing(answering(OK, closing), Flow(then=(Step.STAY, Step.ASK))) as end:
        ((connection,),) = end()
    assert [(answer.status, answer.says_close) for answer in connection.answers] == [(200, False), (200, True)]
    (closed,) = run(answering(OK), then=(Step.STAY, Step.ASK))
    assert [answer.status for answer in closed.answers] == [200, 0]
    assert closed.closed_by_server


def test_the_rest_of_a_request_follows_when_its_connection_continues() -> None:
    with standing(answering(OK, then_close=False), Flow(head_bytes=9, then=(Step.STAY, Step.ASK))) as end:
        ((connection,),) = end()
    assert [answer.status for answer in connection.answers] == [200]


def test_the_rest_of_a_response_is_read_when_its_connection_continues() -> None:
    """After slow reading, the rest is read at once. A response that the server has truncated is incomplete."""
    body = bytes(200_000)
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + body
    slow = Flow(read_bytes_per_s=1000, then=(Step.STAY, Step.ASK))
    with standing(answering(whole), slow) as end:
        ((connection,),) = end()
    assert [(answer.complete, answer.body_bytes) for answer in connection.answers] == [(True, 200_000)]
    with standing(answering(whole[:-1]), slow) as end:
        ((cut,),) = end()
    assert [(answer.complete, answer.body_bytes) for answer in cut.answers] == [(False, 199_999)]


class Counting:
    """A server that answers and counts every request; the last responses name another worker."""

    def __init__(self, *, closes: bool = False) -> None:
        self._answer = OK.replace(b"X-Worker", b"Connection: close\r\nX-Worker") if closes else OK
        self.connections = self.requests = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(EOFError, OSError):
            while await reader.readuntil(b"\r\n\r\n"):
                self.requests += 1
                writer.write(self._answer)
        writer.close()

    def change(self) -> None:
        """Wait for 50 requests, then name another worker in the responses."""
        while self.requests < 50:
            time.sleep(0.001)
        self._answer = self._answer.replace(b"X-Worker: 7", b"X-Worker: 8")


@pytest.mark.parametrize(
    ("flow", "closes"),
    [
        (Flow(connections=2, then=(Step.REPEAT,)), False),
        (Flow(connections=2, then=(Step.REPEAT,), close=True), True),
        (Flow(connections=2, then=(Step.REPEAT,)), True),
    ],
    ids=["keepalive", "close requested by the client", "close announced by the server"],
)
def test_a_repeating_client_sends_a_last_request_at_the_end(flow: Flow, *, closes: bool) -> None:
    """Each client uses one connection or many. The last request of each reaches the new worker."""
    counting = Counting(closes=closes)
    with standing(counting, flow) as end:
        counting.change()
        (connections,) = end()
    answers = [answer for one in connections for answer in one.answers]
    assert len(answers) == counting.requests >= 50
    assert all(answer.complete for answer in answers)
    assert sum(answer.worker == 8 for answer in answers) >= 2
    assert len(connections) == counting.connections
    assert (len(connections) == len(answers)) == closes


def test_a_client_that_lost_a_request_sends_no_further_ones() -> None:
    """The loss then counts only once."""
    with standing(answering(OK, OK), Flow(then=(Step.REPEAT,))) as end:
        (connections,) = end()
    assert [[answer.complete for answer in one.answers] for one in connections] == [[True, True, False]]


def test_a_connection_that_fails_does_not_stay_open() -> None:
    """The server closes it without a response, or sends nothing until the time limit."""
    (connection,) = run(answering(b""), then=(Step.STAY,))
    assert (connection.closed_by_server, [answer.status for answer in connection.answers]) == (True, [0])
    (silent,) = run(Waiting(), then=(Step.STAY,), timeout_s=0.1)
    assert (silent.error, silent.closed_by_server) == ("TIMEOUT", False)


def test_a_client_may_wait_for_the_server_to_close_the_connection() -> None:
    """The client reports a connection that the server does not close in time."""
    (closed,) = run(answering(OK), then=(Step.AWAIT_END,))
    assert (closed.error, closed.closed_by_server) == ("", True)
    (kept,) = run(answering(OK, then_close=False), then=(Step.AWAIT_END,), timeout_s=0.1)
    assert (kept.error, kept.closed_by_server) == ("TIMEOUT", False)


def test_a_path_may_contain_numbers_and_a_body_has_a_content_length() -> None:
    """In this way, each request can have its own path."""
    flow = Flow(path="/{c}/{n}", requests=2, method="POST", body_bytes=3, close=True, headers={"A": "b"})
    assert flows.request(flow, connection=4, number=1) == (
        b"POST /4/1 HTTP/1.1\r\nHost: lab\r\nConnection: close\r\nA: b\r\nContent-Length: 3\r\n\r\n\0\0\0"
    )
    assert b"Connection" not in flows.request(flow, connection=4, number=0)


@pytest.mark.parametrize("at_once", [0, 1])
def test_established_connections_that_stay_open_do_not_count_towards_the_limit(at_once: int) -> None:
    """All connections are open at the end, even if each starts after the previous one's response."""
    waiting = Waiting(OK)
    with standing(waiting, Flow(connections=6, at_once=at_once, then=(Step.STAY,))) as end:
        assert waiting.open == len(waiting.received) == 6
        end()
    assert (waiting.most_unread == 1) == bool(at_once)


def test_tls_records_and_client_hellos_are_counted_however_their_bytes_are_split() -> None:
    """A change_cipher_spec may precede a ClientHello (RFC 8446, appendix D.4); encrypted data may look like one."""
    hello = b"\x16\x03\x01\x00\x03\x01ab"
    change_cipher_spec = b"\x14\x03\x03\x00\x01\x01"
    data = b"\x17\x03\x03\x00\x04\x01bcd"
    for size in (1, 5, 100):
        stream = change_cipher_spec + hello + data + data
        records = Records()
        for start in range(0, len(stream), size):
            records.add(stream[start : start + size])
        assert (records.hellos, records.sizes) == (1, [1, 3, 4, 4])
