"""The stand-in for upstreams: HTTP, FastCGI, uwsgi and SCGI on the same port."""

import asyncio
import importlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable

import pytest

from images.backend.standin import conversation, events, fastcgi
from images.backend.standin.conversation import converse
from tests.support.questions import question
from tuneproof.lab.protocol import names
from tuneproof.lab.protocol.standin import EVENT as EVENT_TEXT
from tuneproof.lab.protocol.standin import Streaming

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
EVENT = EVENT_TEXT.encode()
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]


def converse_with(talk: Talk) -> bytes:
    async def both() -> bytes:
        ours, theirs = socket.socketpair()
        serving = asyncio.create_task(converse(theirs, NO_TLS))
        reader, writer = await asyncio.open_connection(sock=ours)
        result = await asyncio.wait_for(talk(reader, writer), 10)
        writer.close()
        await asyncio.wait_for(serving, 10)
        return result

    return asyncio.run(both())


def response_to(*requests: bytes) -> bytes:
    """Send some requests, and return everything that is received until the connection ends."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"".join(requests))
        writer.write_eof()
        return await reader.read()

    return converse_with(talk)


def numbers(response: bytes) -> list[str]:
    lines = [line for line in response.decode("latin-1").split("\r\n") if line.startswith("X-Tuneproof-Answer")]
    return [line.partition(".")[2] for line in lines]


def test_an_http_connection_stays_open_and_its_responses_are_numbered() -> None:
    """The second response on a connection is number 2, so that the client sees whether nginx reused the connection."""
    response = response_to(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
    assert numbers(response) == ["1", "2"]
    assert response.count(b"Connection: keep-alive") == 2


def test_stand_ins_on_two_machines_use_different_numbers() -> None:
    """A repeated number means a response from the cache."""
    one, other = (next(importlib.reload(conversation)._numbers) for _ in range(2))
    assert abs(one - other) > 1000


@pytest.mark.parametrize("request_", [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"])
def test_a_connection_ends_if_the_peer_requests_it(request_: bytes) -> None:
    """By default, nginx before 1.29.7 requests this."""
    response = response_to(request_, b"GET / HTTP/1.1\r\n\r\n")
    assert numbers(response) == ["1"]
    assert b"Connection: close" in response


def test_bodies_are_as_long_as_requested() -> None:
    response = response_to(
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nX-Tuneproof-Bytes: 70000\r\nConnection: close\r\n\r\n",
    )
    assert numbers(response) == ["1", "2"]
    assert response.rpartition(b"\r\n\r\n")[2] == b"\0" * 70000


def test_large_bodies_arrive_completely() -> None:
    """Large bodies are sent with sendfile(2), or in many FastCGI records."""
    size = (2 << 20) + 12345
    response = response_to(f"GET / HTTP/1.1\r\nX-Tuneproof-Bytes: {size}\r\nConnection: close\r\n\r\n".encode())
    assert len(response.partition(b"\r\n\r\n")[2]) == size
    begin = _record(1, bytes([0, 1, 0, 0, 0, 0, 0, 0]))
    params = _record(4, _params(HTTP_X_TUNEPROOF_BYTES=str(size))) + _record(4, b"")
    answer, at, body = response_to(begin + params + _record(5, b"")), 0, b""
    while at < len(answer):
        kind, length = answer[at + 1], int.from_bytes(answer[at + 4 : at + 6], "big")
        body += answer[at + 8 : at + 8 + length] if kind == 6 else b""
        at += 8 + length
    assert len(body.partition(b"\r\n\r\n")[2]) == size


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("!BBHHBx", 1, kind, 1, len(content), 0) + content


def _params(**values: str) -> bytes:
    parts = (bytes([len(name), len(value)]) + name.encode() + value.encode() for name, value in values.items())
    return b"".join(parts)


@pytest.mark.parametrize(("flags", "answers"), [(0, ["1"]), (1, ["1", "2"])])
def test_fastcgi_keeps_its_connection_open_on_request(flags: int, answers: list[str]) -> None:
    begin = _record(1, bytes([0, 1, flags, 0, 0, 0, 0, 0]))
    request = begin + _record(4, _params(REQUEST_METHOD="GET", HTTP_X_TUNEPROOF_BYTES="5")) + _record(4, b"")
    response = response_to(*[request + _record(5, b"")] * len(answers))
    assert numbers(response) == answers
    assert b"Content-Length: 5" in response


def test_long_fastcgi_values_are_read() -> None:
    value = "v" * 300
    content = bytes([4]) + struct.pack("!I", 300 | 1 << 31) + b"NAME" + value.encode()
    assert fastcgi.names_and_values(content) == {"NAME": value}


def test_uwsgi_and_scgi_requests_get_responses() -> None:
    variables = {"REQUEST_METHOD": "GET", "CONTENT_LENGTH": "", "HTTP_X_TUNEPROOF_BYTES": "7"}
    words = b"".join(struct.pack("<H", len(word)) + word.encode() for pair in variables.items() for word in pair)
    uwsgi = response_to(struct.pack("<BHB", 0, len(words), 0) + words)
    assert uwsgi.startswith(b"HTTP/1.1 200 OK\r\n")
    assert uwsgi.endswith(b"\r\n\r\n" + b"\0" * 7)
    joined = "".join(f"{name}\0{value}\0" for name, value in variables.items()).encode()
    scgi = response_to(b"%d:%s," % (len(joined), joined))
    assert scgi.startswith(b"Status: 200 OK\r\n")


@pytest.mark.parametrize("nonsense", [b"", b"\x01\x01", b"9999", b"GET\r\n\r\n", b"G", b"\x00\x05\x00\x00ab"])
def test_nonsense_ends_its_connection_without_a_response(nonsense: bytes) -> None:
    """A health check may connect and send nothing."""
    assert response_to(nonsense) == b""


def test_every_name_has_an_ipv4_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown name gets the stand-in's own address. No name has an IPv6 address."""
    monkeypatch.setattr(names, "_OWN_NAME", "127.0.0.7")
    answer = names.answer_to(question("localhost", 1))
    assert answer[:2] == b"\0\x07"
    assert answer.endswith(socket.inet_aton("127.0.0.1"))
    assert struct.unpack_from("!H", names.answer_to(question("localhost", 28)), 6) == (0,)
    assert names.answer_to(question("no.such.name.invalid", 1)).endswith(socket.inet_aton("127.0.0.7"))


SCGI = "HTTP_X_TUNEPROOF_EVENTS\x003\x00"
FASTCGI = _record(4, _params(HTTP_X_TUNEPROOF_EVENTS="3")) + _record(4, b"") + _record(5, b"")
UWSGI = struct.pack("<H", 23) + b"HTTP_X_TUNEPROOF_EVENTS" + struct.pack("<H", 1) + b"3"


@pytest.mark.parametrize(
    ("request_", "stream"),
    [
        (b"GET / HTTP/1.1\r\nX-Tuneproof-Events: 3\r\n\r\n", 3 * (b"64\r\n" + EVENT + b"\r\n")),
        (b"GET / HTTP/1.0\r\nX-Tuneproof-Events: 3\r\n\r\n", 3 * EVENT),
        (f"{len(SCGI)}:{SCGI},".encode(), 3 * EVENT),
        (struct.pack("<BHB", 0, len(UWSGI), 0) + UWSGI, 3 * EVENT),
        (_record(1, bytes([0, 1, 1, 0, 0, 0, 0, 0])) + FASTCGI, 3 * _record(6, EVENT)),
    ],
    ids=["HTTP/1.1", "HTTP/1.0", "SCGI", "uwsgi", "FastCGI"],
)
def test_a_stream_has_the_requested_events_and_stays_open(request_: bytes, stream: bytes) -> None:
    """The stream counts as written after its last event. No byte is unacknowledged once the client has read all."""
    before = events.ALL.streaming().written

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(request_)
        received = await reader.readuntil(stream)
        assert events.ALL.streaming() == Streaming(written=before + 1, unacknowledged_bytes=0)
        return received

    received = converse_with(talk)
    assert b"Content-Type: text/event-stream" in received
    assert b"Content-Length" not in received
