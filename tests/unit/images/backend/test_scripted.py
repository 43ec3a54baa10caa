"""The scripted backend: replies, streams, and counts of requests and connections."""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from images.backend.scripted.__main__ import Scripted
from images.backend.scripted.player import Player
from images.client.loadgen.streams import OpenStreams
from tests.support.closed_ports import closed_port
from tests.support.joined import differences
from tests.support.loops import running_loop
from tests.support.questions import question
from tuneproof.lab.load.waiting import wait_until
from tuneproof.lab.protocol import scripted as protocol
from tuneproof.lab.protocol.exchanges import Arrived, Streams
from tuneproof.lab.protocol.scripted import Reply

EVENTS = Reply(path="/events", headers={"Content-Type": "text/event-stream"}, streams=True)
EVENT = "data: hello\n\n"


@contextmanager
def playing(*replies: Reply) -> Iterator[tuple[Scripted, tuple[str, int]]]:
    """Serve on a separate event loop; yield the backend's methods and its address."""
    player = Player()
    with running_loop() as loop:
        serving = asyncio.start_server(player.converse, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(serving, loop).result()
        backend = Scripted(loop, player)
        backend.play(replies)
        try:
            yield backend, server.sockets[0].getsockname()
        finally:
            loop.call_soon_threadsafe(server.close)
            backend.play(())


def response_to(address: tuple[str, int], request: str) -> bytes:
    """Return the bytes that are received until the connection ends."""
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(request.encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


def read_until(streams: OpenStreams, done: Callable[[Arrived], bool]) -> Arrived:
    """Read one stream until a condition is true, and return what has arrived."""
    wait_until(lambda: done(streams.arrived()[0]), "nothing arrived")
    return streams.arrived()[0]


def test_every_function_takes_the_protocols_arguments() -> None:
    loop = asyncio.new_event_loop()
    assert differences(protocol.Scripted, Scripted(loop, Player())) == []
    loop.close()


def test_the_first_reply_with_a_matching_path_is_used() -> None:
    """After the response, the connection ends if the client requested it."""
    with playing(Reply(path="/a", status=503, body="no"), Reply(body="yes")) as (backend, address):
        refused = response_to(address, "GET /a/b HTTP/1.1\r\nConnection: close\r\n\r\n")
        answered = response_to(address, "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET / HTTP/1.0\r\n\r\n")
        seen = backend.seen()
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert refused.endswith(b"\r\n\r\nno")
    assert answered.count(b"HTTP/1.1 200 ") == 2
    assert answered.count(b"Connection: keep-alive") == 1
    assert seen.requests == ("GET /a/b HTTP/1.1", "POST / HTTP/1.1", "GET / HTTP/1.0")
    assert (seen.connections, seen.open_connections) == (2, 0)


def test_a_stream_gets_text_on_request_until_it_is_ended() -> None:
    with playing(EVENTS) as (backend, address):
        streams = OpenStreams()
        streams.open(*address, (Streams(path="/events"),))
        assert read_until(streams, lambda it: it.status == 200) == Arrived(status=200, body_bytes=0, end="")
        assert backend.send(EVENT, 3) == 1
        assert read_until(streams, lambda it: it.body_bytes == 3 * len(EVENT)).end == ""
        assert backend.send(EVENT, 1, "/other") == 0
        backend.end_streams()
        assert read_until(streams, lambda it: it.end != "").end == "complete"
        streams.leave()
        wait_until(lambda: backend.seen().open_connections == 0, "the backend did not notice that the client left")
        assert backend.seen().unacknowledged_bytes == 0
        assert backend.seen().open_streams == 0


def test_an_http_1_0_stream_has_no_chunks_and_ends_with_its_connection() -> None:
    with playing(EVENTS) as (backend, address):
        with socket.create_connection(address, timeout=10) as connection:
            connection.sendall(b"GET /events HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            wait_until(lambda: backend.seen().open_streams == 1, "the stream did not open")
            backend.send(EVENT, 1)
            backend.end_streams()
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b"Connection: close" in head
        assert b"chunked" not in head
        assert body == EVENT.encode()


def test_ending_a_connection_that_was_just_reset_causes_no_error() -> None:
    """The transport is aborted, as after a reset by the peer that the backend has not noticed yet."""

    async def trial() -> None:
        player = Player()
        await player.play((EVENTS,))
        async with await asyncio.start_server(player.converse, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"GET /events HTTP/1.1\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
            (gone,) = player._open
            gone.transport.abort()
            await asyncio.sleep(0)
            seen = await player.seen()
            assert (seen.open_connections, seen.unacknowledged_bytes) == (1, 0)
            await player.play(())
            assert (await player.seen()).open_connections == 0
            writer.close()

    asyncio.run(trial())


@pytest.mark.parametrize(("resets", "end"), [(False, "closed"), (True, "reset")])
def test_a_stream_that_the_backend_ends_early_ends_with_a_fin_or_a_reset(*, resets: bool, end: str) -> None:
    """With new replies, the counts start again from zero."""
    with playing(EVENTS) as (backend, address):
        streams = OpenStreams()
        streams.open(*address, (Streams(path="/events"),))
        read_until(streams, lambda it: it.status == 200)
        backend.end_connections(resets=resets)
        assert read_until(streams, lambda it: it.end != "").end == end
        streams.leave()
        assert backend.seen().connections == 1
        backend.play((Reply(body="hello"),))
        assert backend.seen().connections == 0
        streams.open(*address, (Streams(),))
        assert read_until(streams, lambda it: it.end != "") == Arrived(status=200, body_bytes=5, end="complete")
        streams.leave()


@pytest.mark.parametrize("resets", [False, True], ids=["gracefully", "by a reset"])
@pytest.mark.parametrize("reads_body", [False, True], ids=["after the headers", "at the request's end"])
def test_a_connection_ends_when_a_request_beyond_its_limit_arrives(*, resets: bool, reads_body: bool) -> None:
    with playing(Reply(answers=1, resets=resets, reads_body=reads_body)) as (backend, address):
        with socket.create_connection(address, timeout=10) as connection:
            connection.sendall(b"GET /1 HTTP/1.1\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
            connection.sendall(b"POST /2 HTTP/1.1\r\nContent-Length: 2\r\n\r\n" + (b"ab" if reads_body else b""))
            if resets:
                with pytest.raises(ConnectionResetError):
                    connection.recv(65536)
            else:
                assert connection.recv(65536) == b""
        seen = backend.seen()
    assert seen.requests == ("GET /1 HTTP/1.1", "POST /2 HTTP/1.1")[: 1 + reads_body]
    assert seen.open_connections == 0


def test_idle_connections_are_closed_without_a_reset() -> None:
    with playing(Reply()) as (backend, address):
        with socket.create_connection(address, timeout=10) as one, socket.create_connection(address, timeout=10) as two:
            wait_until(lambda: backend.seen().open_connections == 2, "the connections did not arrive")
            assert backend.end_connections(resets=False) == 2
            assert one.recv(1) == two.recv(1) == b""
        assert response_to(address, "GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")


def test_names_have_the_given_addresses() -> None:
    """All other names keep their usual addresses. Each lookup of an IPv4 address is recorded."""
    player = Player()
    asyncio.run(player.name({"app.test": "192.0.2.7"}, 600))
    answer = player.answer_to_name(question("app.test", 1))
    assert answer.endswith(struct.pack("!IH", 600, 4) + socket.inet_aton("192.0.2.7"))
    assert player.answer_to_name(question("localhost", 1)).endswith(socket.inet_aton("127.0.0.1"))
    player.answer_to_name(question("app.test", 28))
    assert asyncio.run(player.seen()).names == ("app.test", "localhost")


def test_a_stream_without_a_server_is_an_error() -> None:
    with closed_port() as port, pytest.raises(ConnectionRefusedError):
        OpenStreams().open("127.0.0.1", port, (Streams(),))


def test_data_that_the_peer_has_not_received_is_reported() -> None:
    """Until the peer reads, its kernel accepts only as much as fits into the receive buffer."""
    size = 100_000
    with playing(EVENTS) as (backend, address), socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(address)
        connection.sendall(b"GET /events HTTP/1.0\r\n\r\n")
        wait_until(lambda: backend.seen().open_streams == 1, "the stream did not open")
        backend.send("x" * size, 1)
        assert backend.seen().unacknowledged_bytes > 0
        received = 0
        while received < size:
            received += len(connection.recv(65536))
        wait_until(lambda: backend.seen().unacknowledged_bytes == 0, "the data was not acknowledged")


def test_a_stream_with_an_interval_gets_its_text_repeatedly() -> None:
    """The longest pause is reported, so that a trial can tell whether a timeout was possible."""
    with playing(Reply(streams=True, beat=": \n\n")) as (backend, address):
        streams = OpenStreams()
        streams.open(*address, (Streams(),))
        assert read_until(streams, lambda it: it.body_bytes >= 3 * len(": \n\n")).end == ""
        assert backend.seen().longest_pause_s > 0
        streams.leave()
        wait_until(lambda: backend.seen().open_connections == 0, "the backend did not notice that the client left")
