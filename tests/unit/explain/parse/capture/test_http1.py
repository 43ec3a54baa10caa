"""HTTP/1 in flows: what is a request, when it was answered, and who went before that."""

import pytest

from tests.support.segments import CLIENT, SERVER, Conversation, get, ok
from tuneproof.explain.parse.capture.decode import ACK, FIN, RST
from tuneproof.explain.parse.capture.http1 import MAX_REQUEST, Response, request, response


def asked(path: str = "/") -> Conversation:
    """Return a conversation after a handshake of 12 ms (at 13 ms) and a request (at 14 ms)."""
    talk = Conversation()
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
def test_request_lines_are_told_from_other_payload(payload: bytes, line: str | None) -> None:
    """A known method, a target, a version; a line that the capture cut may lack its end."""
    assert request(payload) == line


def test_a_long_request_is_kept_in_part() -> None:
    """Thousands of connections may have one of 60 kB each."""
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
        (b"", False, Response(status=None, size_bytes=None)),
        (b"\0" * 20, False, Response(status=None, size_bytes=None)),
    ],
)
def test_responses_tell_status_and_size(payload: bytes, to_head: bool, expected: Response | None) -> None:  # noqa: FBT001
    """Interim responses are passed over; what is not known is None."""
    assert response(payload, to_head=to_head) == expected


def test_exchanges_of_a_kept_connection_are_timed_one_by_one() -> None:
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


def test_request_sent_again_is_no_second_request() -> None:
    talk = asked()
    talk.send(CLIENT, get(), seq=1001, after_s=0.2)
    talk.send(SERVER, ok())
    talk.send(CLIENT, get(), seq=1001, after_s=0.2)
    flow = talk.record()
    assert (flow.exchanges, flow.from_client.retransmitted_segments) == (1, 2)
    assert flow.response_times.total_s == pytest.approx(0.201)


def test_request_tells_who_is_the_client() -> None:
    """Where the capture has no SYN and the ports mislead."""
    talk = Conversation(client=CLIENT[:-2] + (79).to_bytes(2))
    talk.send(talk.client, get())
    talk.send(SERVER, ok())
    flow = talk.record()
    assert (flow.client.port, flow.server.port, flow.exchanges) == (79, 80, 1)


def test_other_protocols_have_no_exchanges() -> None:
    """TLS, and payload that was not captured."""
    talk = Conversation()
    talk.handshake()
    talk.send(CLIENT, b"\x16\x03\x01" + bytes(300))
    talk.send(SERVER, b"\x16\x03\x03" + bytes(300))
    assert (talk.record().exchanges, talk.record().tls) == (0, True)


@pytest.mark.parametrize("flags", [FIN | ACK, RST])
def test_client_that_goes_before_the_response_left(flags: int) -> None:
    """By FIN or by RST; the request has no response then."""
    talk = asked()
    talk.send(CLIENT, flags=flags)
    flow = talk.record()
    assert (flow.client_left_before_response, flow.client_left_in_response) == (True, False)
    assert flow.response_times.count == 0


def test_client_that_goes_before_the_promised_end_left_in_the_response() -> None:
    """Content-Length tells; the same response in full is no reason."""
    for length, left in ((1000, True), (5, False)):
        talk = asked()
        talk.send(SERVER, ok(b"hello", length=length))
        talk.send(CLIENT, flags=FIN | ACK)
        flow = talk.record()
        assert (flow.client_left_before_response, flow.client_left_in_response) == (left, left)


@pytest.mark.parametrize("flags", [FIN | ACK, RST])
def test_server_that_goes_under_a_request_hung_up(flags: int) -> None:
    """On a connection that it had answered on, or on a new one; whoever sends a request behind the FIN crossed it."""
    new = asked()
    new.send(SERVER, flags=flags)
    kept, crossed = asked(), asked()
    for talk in (kept, crossed):
        talk.send(SERVER, ok(b"hello", length=5))
    kept.send(CLIENT, get())
    kept.send(SERVER, flags=flags)
    crossed.send(SERVER, flags=FIN | ACK)
    crossed.send(CLIENT, get())
    crossed.send(CLIENT, flags=FIN | ACK)
    flows = [talk.record() for talk in (new, kept, crossed)]
    assert all(flow.hung_up_ns is not None for flow in flows)
    assert [flow.hung_up_reused for flow in flows] == [False, True, True]
    assert not any(flow.client_left_before_response for flow in flows)


def test_server_whose_answer_the_capture_lacks_did_not_hang_up() -> None:
    """A busy host's tcpdump loses packets; the FIN's number tells that something came before it."""
    talk = asked()
    talk.send(SERVER, ok(b"hello", length=5), captured=False)
    talk.send(SERVER, flags=FIN | ACK)
    assert talk.record().hung_up_ns is None


def test_server_that_goes_before_the_promised_end_hung_up() -> None:
    for length, gone, hung_up in ((1000, False, True), (5, False, False), (1000, True, False)):
        talk = asked()
        talk.send(SERVER, ok(b"hello", length=length))
        if gone:
            talk.send(CLIENT, flags=FIN | ACK)
        talk.send(SERVER, flags=FIN | ACK)
        assert (talk.record().hung_up_ns is not None) == hung_up


def test_response_that_goes_on_after_the_client_was_left() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    for more, left in ((b"5\r\nhello\r\n", True), (b"", False)):
        talk = asked()
        talk.send(SERVER, chunked)
        talk.send(CLIENT, flags=FIN | ACK)
        talk.send(SERVER, more)
        assert talk.record().client_left_in_response is left
