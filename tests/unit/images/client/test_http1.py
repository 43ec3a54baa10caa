"""The part of HTTP that the load generators need, over a socket pair."""

import socket
from collections.abc import Iterator

import pytest

from images.client.loadgen import http1


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    client, server = socket.socketpair()
    with client, server:
        yield client, server


def test_a_request_names_its_trial_and_whether_the_connection_stays_open() -> None:
    """X-Trial identifies the request in the access log. A fast request leaves no idle connection behind."""
    assert http1.get("/a", host="h", trial="t-1") == (
        b"GET /a HTTP/1.1\r\nHost: h\r\nX-Trial: t-1\r\nConnection: keep-alive\r\n\r\n"
    )
    assert b"\r\nConnection: close\r\n" in http1.get("/a", host="h", trial="t-1", keep_alive=False)


def test_status_length_and_worker_are_read_from_headers_in_any_letter_case() -> None:
    """Header names are case-insensitive: RFC 9110, section 5.1."""
    head = http1.parse_head(b"HTTP/1.1 404 Not Found\r\ncontent-LENGTH: 7\r\nX-Worker:  31 \r\nDate: 10:00:00")
    assert (head.status, head.content_length, head.worker_pid) == (404, 7, 31)
    assert head.headers["date"] == "10:00:00"


def test_a_response_that_is_not_http_is_rejected_with_its_start() -> None:
    """The message shows the response of a server at a wrong port."""
    with pytest.raises(ValueError, match=r"not an HTTP response: 'SSH-2\.0-OpenSSH'"):
        http1.parse_head(b"SSH-2.0-OpenSSH")


def test_headers_may_arrive_in_pieces_and_body_bytes_after_them_are_kept() -> None:
    client, server = socket.socketpair(type=socket.SOCK_SEQPACKET)  # this type keeps the boundaries between sends
    with client, server:
        server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r")
        server.sendall(b"\nok")
        server.shutdown(socket.SHUT_WR)
        head, body = http1.receive_head(client)
    assert (head.status, body) == (200, b"ok")


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"HTTP/1.1 200", "closed after 12 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", "2 bytes of the body missing"),
        (b"HTTP/1.1 200 OK\r\n" + b"x" * 20_000, "longer than 16384 bytes"),
    ],
    ids=["in-the-headers", "in-the-body", "endless-headers"],
)
def test_a_truncated_or_endless_response_is_an_error(
    ends: tuple[socket.socket, socket.socket], sent: bytes, error: str
) -> None:
    client, server = ends
    server.sendall(sent)
    server.shutdown(socket.SHUT_WR)
    with pytest.raises((ConnectionError, ValueError), match=error):
        http1.exchange(client, b"GET")


def test_an_exchange_reads_the_whole_body(ends: tuple[socket.socket, socket.socket]) -> None:
    """Bytes that arrived with the headers count, too. The connection can then be used again."""
    client, server = ends
    body = b"x" * 5000
    server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + body)
    assert http1.exchange(client, b"GET").content_length == 5000
    assert server.recv(10) == b"GET"
    client.setblocking(False)
    with pytest.raises(BlockingIOError):
        client.recv(1)
