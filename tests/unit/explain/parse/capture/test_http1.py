"""HTTP/1 in flows: requests, response times, and the side that left before the end of a response."""

import pytest

from tests.support.segments import CLIENT, SERVER, Conversation, Send, client, get, ok, server
from tuneproof.explain.parse.capture.decode import ACK, FIN, RST
from tuneproof.explain.parse.capture.http1 import MAX_REQUEST, Response, request, response


def asked(path: str = "/", *, seqs: tuple[int, int] = (1_000, 500_000)) -> Conversation:
    """Return a conversation after a handshake of 12 ms (at 13 ms) and a request (at 14 ms)."""
    talk = Conversation(seqs=seqs)
    talk.handshake()
    talk.send(CLIENT, get(path))
    return talk


@pytest.mark.parametrize(
    ("payload", "line"),
    [
        (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /"),
        (b"DELETE /a?b=c%20d HTTP/1.0\n", "DELETE /a?b=c%20d"),
        (b"GET /cut/by/the/snap/len", "GET /cut/by/the/snap/len"),
        (b"GET / HTTP/1.1", "GET /"),
        (b"GET /\xc3\xa9 HTTP/1.1\r\n", "GET /\\xc3\\xa9"),
        (b"GET / HTTP/2.0\r\n", None),
        (b"GET /\x1b[2J HTTP/1.1\r\n", None),
        (b"GET a word of some text\r\n", None),
        (b"get / HTTP/1.1\r\n", None),
        (b"\x16\x03\x01\x02\x00", None),
        (b"", None),
    ],
)
def test_request_lines_are_distinguished_from_other_payload(payload: bytes, line: str | None) -> None:
    """They have a known method, a target and a version; a line that the capture truncated may lack its end."""
    assert request(payload) == line


def test_a_long_request_is_kept_in_part() -> None:
    """Thousands of connections may each have a request of 60 kB."""
    kept = request(b"GET /" + b"a" * 60_000 + b" HTTP/1.1\r\n")
    assert kept is not None
    assert (kept[:6], len(kept)) == ("GET /a", MAX_REQUEST)


@pytest.mark.parametrize(
    ("payload", "to_head", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-LENGTH:  5\r\n\r\nhello", False, Response(status=200, size_bytes=44)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", True, Response(status=200, size_bytes=38)),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", False, Response(status=304, size_bytes=48)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", False, Response(status=200, size_bytes=None)),
        (b"HTTP/1.1 200 OK\r\nContent-Le", False, Response(status=200, size_bytes=None)),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", False, Response(status=101, size_bytes=None)),
        (b"HTTP/1.1 100 Continue\r\n\r\n", False, None),
        (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 \r\n\r\n", False, Response(status=404, size_bytes=None)),
        (
            b"HTTP/1.1 404 Not Found\r\nserver: openresty/1.25\r\n",
            False,
            Response(status=404, size_bytes=None, from_nginx=True),
        ),
        (b"HTTP/1.1 204 No Content\r\nVia: nginx\r\n\r\nServer: nginx", False, Response(status=204, size_bytes=39)),
        (b"", False, Response(status=None, size_bytes=None)),
        (b"\0" * 20, False, Response(status=None, size_bytes=None)),
    ],
)
def test_responses_report_status_and_size(payload: bytes, to_head: bool, expected: Response | None) -> None:  # noqa: FBT001
    """Interim responses other than 101 are skipped; unknown values are None."""
    assert response(payload, to_head=to_head) == expected


def test_exchanges_on_a_keepalive_connection_are_timed_one_by_one() -> None:
    talk = asked("/a")
    talk.send(SERVER, ok(), after_s=0.5)
    talk.send(CLIENT, b"POST /b HTTP/1.1\r\n", after_s=1.0)
    talk.send(CLIENT, b"Content-Length: 2\r\n\r\nxy", after_s=0.1)
    talk.send(SERVER, b"HTTP/1.1 100 Continue\r\n\r\n")
    talk.send(SERVER, ok(b"h", length=2), after_s=0.2)
    talk.send(SERVER, b"i", after_s=0.4)
    flow = talk.record()
    assert flow.exchanges == 2
    assert flow.response_times.total_s == pytest.approx(0.5 + 0.201)
    assert not flow.client_left_before_response


def test_responses_with_a_status_of_500_or_above_are_counted() -> None:
    talk = asked("/a")
    talk.send(SERVER, b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    talk.send(CLIENT, get("/b"))
    talk.send(SERVER, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    assert talk.record().server_errors == 1


def test_a_request_sent_again_is_not_a_second_request() -> None:
    talk = asked()
    talk.send(CLIENT, get(), seq=1001, after_s=0.2)
    talk.send(SERVER, ok())
    talk.send(CLIENT, get(), seq=1001, after_s=0.2)
    flow = talk.record()
    assert (flow.exchanges, flow.from_client.retransmitted_segments) == (1, 2)
    assert flow.response_times.total_s == pytest.approx(0.201)


def test_a_request_shows_which_side_is_the_client() -> None:
    """This matters if the capture has no SYN and the ports are misleading."""
    talk = Conversation(client=CLIENT[:-2] + (79).to_bytes(2))
    talk.send(talk.client, get())
    talk.send(SERVER, ok())
    flow = talk.record()
    assert (flow.client.port, flow.server.port, flow.exchanges) == (79, 80, 1)


def test_a_tls_connection_has_no_exchanges() -> None:
    talk = Conversation()
    talk.handshake()
    talk.send(CLIENT, b"\x16\x03\x01" + bytes(300))
    talk.send(SERVER, b"\x16\x03\x03" + bytes(300))
    assert (talk.record().exchanges, talk.record().tls) == (0, True)


WHOLE, PART = (server(ok(b"hello", length=length)) for length in (5, 1000))
CHUNKED = server(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
LOST, BEGUN = server(ok(), captured=False), server(ok(b"", length=5))
CLIENT_GOES, SERVER_GOES = client(flags=FIN | ACK), server(flags=FIN | ACK)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # The client leaves with FIN or RST before any response.
        ((CLIENT_GOES,), {"left before"}),
        ((client(flags=RST),), {"left before"}),
        # Content-Length shows that the response was cut short; the same response in full does not count.
        ((PART, CLIENT_GOES), {"answered", "left before", "left in"}),
        ((WHOLE, CLIENT_GOES), {"answered"}),
        ((CHUNKED, CLIENT_GOES, server(b"5\r\nhello\r\n")), {"answered", "left before", "left in"}),
        ((CHUNKED, CLIENT_GOES, server()), {"answered"}),
        # The server left on a new connection, or on one where it had answered before.
        ((SERVER_GOES,), {"hung up"}),
        ((server(flags=RST),), {"hung up"}),
        ((WHOLE, client(get()), SERVER_GOES), {"answered", "hung up", "reused"}),
        ((WHOLE, client(get()), server(flags=RST)), {"answered", "hung up", "reused"}),
        # The client's request and the server's FIN crossed.
        ((WHOLE, SERVER_GOES, client(get()), CLIENT_GOES), {"answered", "hung up", "reused"}),
        # A server that had the request for a second did not close an idle connection.
        ((WHOLE, client(get()), server(flags=FIN | ACK, after_s=1.0)), {"answered", "hung up"}),
        ((PART, SERVER_GOES), {"answered", "hung up"}),
        ((WHOLE, SERVER_GOES), {"answered"}),
        ((PART, CLIENT_GOES, SERVER_GOES), {"answered", "left before", "left in"}),
        # A busy host's tcpdump loses packets; the FIN's sequence number shows that data came before it.
        ((LOST, SERVER_GOES), set()),
        # The client's acknowledgement also shows missing data.
        ((LOST, CLIENT_GOES), set()),
        ((BEGUN, server(b"hello", captured=False), CLIENT_GOES), {"answered"}),
        ((BEGUN, server(b"hello", captured=False), SERVER_GOES), {"answered"}),
    ],
)
def test_the_side_that_left_before_the_end_of_a_response_is_reported(
    steps: tuple[Send, ...], expected: set[str]
) -> None:
    for start in (1_000, *range(2**32 - 100, 2**32)):
        assert sides(asked(seqs=(start, start)), steps) == expected, start


def sides(talk: Conversation, steps: tuple[Send, ...]) -> set[str]:
    """Return what a flow with these steps reports about its two ends."""
    for step in steps:
        step(talk)
    flow = talk.record()
    found = {
        "answered": flow.response_times.count > 0,
        "left before": flow.client_left_before_response,
        "left in": flow.client_left_in_response,
        "hung up": flow.hung_up_ns is not None,
        "reused": flow.hung_up_reused,
    }
    return {name for name, is_so in found.items() if is_so}
