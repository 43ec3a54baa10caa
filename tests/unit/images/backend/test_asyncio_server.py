"""The backend on an event loop: the response to each request, and the state of its connection afterwards."""

import asyncio
from typing import cast

import pytest

from images.backend.server.connection import Connection
from images.client.loadgen import http1
from tuneproof.lab.engine.images import IMAGES_FOLDER

PAGE = (IMAGES_FOLDER / "backend" / "index.html").read_bytes()
GET = b"GET / HTTP/1.1\r\nHost: backend\r\n\r\n"


class FakeTransport:
    def __init__(self) -> None:
        self.written = b""
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written += data

    def close(self) -> None:
        self.closed = True


def connected() -> tuple[Connection, FakeTransport]:
    connection, transport = Connection(PAGE), FakeTransport()
    connection.connection_made(cast("asyncio.Transport", transport))
    return connection, transport


def answered(request: bytes) -> tuple[http1.Head, bytes, bool]:
    """Return the headers and the body of the response to a request, and whether the connection was then closed."""
    connection, transport = connected()
    connection.data_received(request)
    head, _, body = transport.written.partition(b"\r\n\r\n")
    return http1.parse_head(head), body, transport.closed


def test_the_root_is_a_page_of_612_bytes() -> None:
    head, body, _ = answered(GET)
    assert (head.status, head.content_length) == (200, 612)
    assert body == PAGE
    assert len(PAGE) == 612


@pytest.mark.parametrize(
    ("version", "connection", "kept"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"Connection: keep-alive\r\n", True),
        (b"1.1", b"Connection: close\r\n", False),
        (b"1.1", b"connection: Upgrade, Close\r\n", False),
        (b"1.0", b"", False),
        (b"1.0", b"Connection: Keep-Alive\r\n", True),
        (b"1.0", b"Connection: keep-alive, close\r\n", False),
    ],
)
def test_a_connection_stays_open_by_the_rules_of_http(version: bytes, connection: bytes, *, kept: bool) -> None:
    """The rules are in RFC 9112, section 9.3. The response announces whether the connection stays open."""
    head, _, closed = answered(b"GET / HTTP/" + version + b"\r\nHost: backend\r\n" + connection + b"\r\n")
    assert closed is not kept
    assert head.headers["connection"] == ("keep-alive" if kept else "close")


@pytest.mark.parametrize("between", [b"", b"\r\n"], ids=["at-once", "empty-line"])
def test_pipelined_requests_are_answered_in_order(between: bytes) -> None:
    """Pipelining is allowed, and so are empty lines between requests (RFC 9112, sections 9.3.2 and 2.2)."""
    connection, transport = connected()
    connection.data_received(GET + between + b"GET /nothing HTTP/1.1\r\n\r\n" + between + GET[:10])
    first, second = transport.written.split(PAGE)
    assert first.startswith(b"HTTP/1.1 200 ")
    assert second.startswith(b"HTTP/1.1 404 ")
    connection.data_received(GET[10:])
    assert transport.written.count(PAGE) == 2


def test_requests_after_the_last_response_are_ignored() -> None:
    connection, transport = connected()
    connection.data_received(b"GET / HTTP/1.0\r\n\r\n" + GET)
    connection.data_received(GET)
    assert transport.closed
    assert transport.written.count(PAGE) == 1


async def after_its_delay(request: bytes, *, then: bytes = b"", leave: bool = False) -> FakeTransport:
    """Return a connection's transport 60 ms after a request for a delay of 20 ms."""
    connection, transport = connected()
    connection.data_received(request)
    connection.data_received(then)
    assert transport.written == b""
    if leave:
        connection.connection_lost(None)
    await asyncio.sleep(0.06)
    return transport


WAIT = b"GET /wait/20 HTTP/1.1\r\nHost: backend\r\n\r\n"


def test_a_delayed_response_is_sent_after_its_delay_and_before_later_ones() -> None:
    transport = asyncio.run(after_its_delay(WAIT, then=b"GET /nothing HTTP/1.1\r\n\r\n"))
    first, second = transport.written.split(PAGE)
    assert first.startswith(b"HTTP/1.1 200 ")
    assert second.startswith(b"HTTP/1.1 404 ")


def test_a_delayed_response_is_not_sent_after_the_client_has_left() -> None:
    assert asyncio.run(after_its_delay(WAIT, leave=True)).written == b""


@pytest.mark.parametrize("path", [b"/wait", b"/wait/", b"/wait/x", b"/wait/-1", b"/wait/123456"])
def test_a_wait_without_a_valid_number_of_milliseconds_gets_404(path: bytes) -> None:
    head, _, _ = answered(b"GET " + path + b" HTTP/1.1\r\nHost: backend\r\n\r\n")
    assert head.status == 404


@pytest.mark.parametrize("path", [b"/hold", b"/hold/17", b"/hold?n=1"])
def test_a_held_response_begins_and_never_ends(path: bytes) -> None:
    connection, transport = connected()
    connection.data_received(b"GET " + path + b" HTTP/1.1\r\nHost: backend\r\n\r\n" + GET)
    connection.data_received(GET)
    head, _, body = transport.written.partition(b"\r\n\r\n")
    assert http1.parse_head(head).content_length == 1 << 30
    assert len(body) == 1024
    assert not transport.closed
    # Before 1.29.7, nginx uses HTTP/1.0 for upstreams by default; such a connection stays open, too.
    old, body, closed = answered(b"GET /hold HTTP/1.0\r\n\r\n")
    assert (old.headers["connection"], len(body), closed) == ("close", 1024, False)


@pytest.mark.parametrize(
    "request_",
    [
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        b"GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
    ids=["post", "body", "chunks"],
)
def test_requests_with_a_body_are_rejected_and_the_connection_closed(request_: bytes) -> None:
    """The backend reads no bodies, so it would not find the start of the next request."""
    head, body, closed = answered(request_)
    assert (head.status, body, closed) == (501, b"", True)
