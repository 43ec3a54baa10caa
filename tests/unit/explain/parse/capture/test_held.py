"""The two legs of a request through nginx are matched, and the time is attributed to nginx or the backend."""

from itertools import count
from typing import Any

import pytest

from tests.support.proxied_segments import BACKEND, NGINX, back, front, proxied
from tests.support.segments import Conversation, end, get, ok
from tuneproof.explain.parse.capture.decode import Segment
from tuneproof.explain.parse.capture.flows import flows
from tuneproof.explain.parse.capture.held import HeldMatcher
from tuneproof.explain.parse.capture.records import Endpoint
from tuneproof.explain.parse.capture.rewritten import ENOUGH


def exchange(talk: Conversation, request_s: float, response_s: float) -> list[Segment]:
    for now_s, sender, payload in ((request_s, talk.client, get()), (response_s, talk.server, ok())):
        talk.now_s = now_s
        talk.send(sender, payload, after_s=0.0)
    return talk.segments


def held(segments: list[Segment]) -> Any:
    """Return what a matcher finds in these segments; the type is Any because fields may be None."""
    matcher = HeldMatcher()
    assert list(flows(sorted(segments), observer=matcher))
    return matcher.held()


def test_a_requests_time_is_divided_between_nginx_and_the_backend() -> None:
    """The connection to the backend is new: nginx started to handle the request when it sent the SYN."""
    found = held(proxied())
    assert (found.front, found.back) == (Endpoint(address=NGINX, port=80), (Endpoint(address="10.0.0.3", port=8000),))
    assert found.matched == 1
    parts = (found.request_held_s, found.connected_held_s, found.backend_s, found.response_held_s)
    assert [part.mean for part in parts] == pytest.approx([0.021, 0.005, 0.3, 0.040])


def test_a_request_on_a_keepalive_connection_has_no_connected_held_time() -> None:
    """On an existing connection, nginx started when it sent the request."""
    found = held(proxied(kept=True))
    assert found.request_held_s.mean == pytest.approx(0.020)
    assert found.connected_held_s is None


def test_requests_released_together_count_as_held_once() -> None:
    """A burst that a pause held is one moment with any number of requests; prompt requests do not count."""
    assert held(proxied()).moments == 2, "the request and, 0.3 s later, the response"
    burst = [segment for number in range(5) for segment in proxied(number, path=f"/{number}")]
    assert held(burst).moments == 2
    inside, outside = front(), back()
    prompt = [*exchange(inside, 1.0, 1.32), *exchange(outside, 1.001, 1.31)]
    assert held(prompt).moments == 0


def test_requests_held_at_the_same_time_count_once_even_if_released_separately() -> None:
    """A worker that rarely gets a CPU forwards a burst piece by piece."""
    pieces: list[Segment] = []
    for number in range(6):
        inside, outside = front(number), back(number)
        forwarded_s = 1.03 + number / 100
        pieces += exchange(inside, 1.0, forwarded_s + 0.012) + exchange(outside, forwarded_s, forwarded_s + 0.01)
    assert held(pieces).moments == 1


def test_equal_requests_that_overtake_each_other_are_all_matched() -> None:
    """The backend answers the second request first; if the first took that answer, a request would have no match."""
    first = [*exchange(front(0), 1.0, 1.8), *exchange(back(0), 1.1, 1.6)]
    second = [*exchange(front(1), 1.2, 2.0), *exchange(back(1), 1.3, 1.5)]
    found = held([*first, *second])
    assert found.matched == 2
    assert found.request_held_s.mean == pytest.approx(0.1)


def test_an_earlier_request_to_the_backend_does_not_match() -> None:
    inside, outside = front(), back()
    inside.send(inside.client, get("/first"))
    inside.send(inside.server, ok())
    outside.send(outside.client, get("/a"))
    outside.send(BACKEND, ok())
    inside.now_s = 5.0
    inside.send(inside.client, get("/a"))
    inside.send(inside.server, ok())
    assert held(inside.segments + outside.segments) is None


def test_requests_over_loopback_are_matched_although_all_share_an_address() -> None:
    """Client, nginx and backend are distinguished by their ports: no leg matches itself."""
    talks = [
        Conversation(client=end("127.0.0.1", port), server=end("127.0.0.1", service))
        for port, service in ((40_000, 80), (40_001, 80), (50_000, 8000))
    ]
    times_s = ((1.0, 2.0), (1.1, 1.9), (1.2, 1.8))
    found = held([part for talk, of in zip(talks, times_s, strict=True) for part in exchange(talk, *of)])
    assert (found.front.port, found.back[0].port, found.matched) == (80, 8000, 1)


def test_a_capture_of_one_leg_shows_no_held_time() -> None:
    assert held([segment for segment in proxied() if BACKEND not in segment[1:3]]) is None


def test_the_number_of_waiting_requests_is_limited() -> None:
    """Of nine requests, only the last three may wait, and one of them is matched; the first six are forgotten."""
    segments = proxied()
    for number in range(1, 9):
        leg = back(number, now_s=1.01 + number / 1000)
        leg.send(leg.client, get(f"/{number}"))
        leg.send(BACKEND, ok())
        segments += leg.segments
    matcher = HeldMatcher(pending=3)
    assert list(flows(sorted(segments), observer=matcher))
    found: Any = matcher.held()
    assert (found.matched, len(matcher._order)) == (1, 3)


_NGINX = b"HTTP/1.1 200 OK\r\nServer: nginx/1.30.0\r\nContent-Length: 5\r\n\r\nhello"
_NUMBERS = count()


def renamed(asked: str, sent: str | None, *, at_s: float, response: bytes = _NGINX) -> list[Segment]:
    """Return both legs of a request; nginx holds it for 40 ms, and sends it with the path ``sent`` (None: never)."""
    number = next(_NUMBERS) % 10_000
    inside, outside = front(number), back(number, now_s=1.04 + at_s)
    inside.now_s = 1 + at_s
    inside.send(inside.client, get(asked), after_s=0.0)
    inside.now_s += 0.051
    inside.send(inside.server, response, after_s=0.0)
    if sent is None:
        return inside.segments
    outside.send(outside.client, get(sent), after_s=0.0)
    outside.send(outside.server, ok(), after_s=0.01)
    return inside.segments + outside.segments


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("/api/users/{}?x=1", "/v1/users/{}?x=1"),
        ("/api/users/{}/", "/users/{}/"),
        ("/{}", "/app/{}"),
        ("/api/list", "/v1/list"),
    ],
    ids=["replaced", "removed", "added", "equal requests"],
)
def test_a_replaced_prefix_of_the_path_is_found(asked: str, sent: str) -> None:
    """Requests begin every 20 ms and overlap, so by time alone each could match its neighbours' second legs."""
    found = held(
        [
            segment
            for number in range(ENOUGH)
            for segment in renamed(asked.format(number), sent.format(number), at_s=number / 50)
        ]
    )
    assert (str(found.front), [str(each) for each in found.back], found.matched) == (
        "10.0.0.2:80",
        ["10.0.0.3:8000"],
        ENOUGH,
    )
    assert found.request_held_s.median == pytest.approx(0.04)


def test_the_rule_that_explains_most_requests_is_used() -> None:
    """The requests overlap and end alike, so they also suggest that nginx replaces /api/a with /v1/b."""
    segments = []
    for number in range(4 * ENOUGH):
        name = ("a", "b")[number % 2]
        segments += renamed(f"/api/{name}/status", f"/v1/{name}/status", at_s=number / 50)
    segments += renamed("/api/a/status", None, at_s=0.1)
    found = held(segments)
    assert found.matched == 4 * ENOUGH
    assert found.request_held_s.minimum == pytest.approx(0.04)


def both(number: int, asked: str, sent: str, response: bytes = _NGINX) -> list[Segment]:
    return renamed(asked.format(number), sent.format(number), at_s=number / 50, response=response)


@pytest.mark.parametrize(
    "segments",
    [
        [both(number, "/api/{}", "/v1/{}") for number in range(ENOUGH - 1)],
        [both(number, "/api/{}", "/v1/{}", ok()) for number in range(2 * ENOUGH)],
        [both(number, "/api/{}", "/v1/x{}") for number in range(2 * ENOUGH)],
        [both(number, f"/api/{number % 3}/{{}}", f"/v{number % 7}/{{}}") for number in range(3 * ENOUGH)],
        [both(number, "/", "/v1/") for number in range(2 * ENOUGH)],
        [both(number, f"/{'ab'[number % 2]}/status", f"/of_{'ab'[number % 2]}/status") for number in range(2 * ENOUGH)],
    ],
    ids=["few", "another program", "other ends", "no rule", "no ends", "either rule"],
)
def test_similar_requests_without_one_clear_rule_have_no_match(segments: list[list[Segment]]) -> None:
    """A program that gets a request may send one with a similar path to another program."""
    assert held([segment for each in segments for segment in each]) is None
