"""Both legs of requests if nginx replaces the beginning of their paths."""

from itertools import count

import pytest

from tests.support.proxied_segments import back, front
from tests.support.segments import get, ok
from tuneproof.explain.parse.capture.decode import Segment
from tuneproof.explain.parse.capture.flows import flows
from tuneproof.explain.parse.capture.held import HeldMatcher, HeldRequests
from tuneproof.explain.parse.capture.rewritten import ENOUGH

_NGINX = b"HTTP/1.1 200 OK\r\nServer: nginx/1.30.0\r\nContent-Length: 5\r\n\r\nhello"
_NUMBERS = count()


def proxied(
    asked: str, sent: str | None, *, at_s: float, held_s: float = 0.04, response: bytes = _NGINX
) -> list[Segment]:
    """Return both legs of a request that nginx holds, and the backend answers after 10 ms."""
    number = next(_NUMBERS) % 10_000
    inside, outside = front(number), back(number, now_s=1 + at_s + held_s)
    inside.now_s = 1 + at_s
    inside.send(inside.client, get(asked), after_s=0.0)
    inside.now_s += held_s + 0.011
    inside.send(inside.server, response, after_s=0.0)
    if sent is None:
        return inside.segments
    outside.send(outside.client, get(sent), after_s=0.0)
    outside.send(outside.server, ok(), after_s=0.01)
    return inside.segments + outside.segments


def held(segments: list[Segment]) -> HeldRequests | None:
    matcher = HeldMatcher()
    assert list(flows(sorted(segments), observer=matcher))
    return matcher.held()


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
def test_a_replaced_beginning_of_the_path_is_found(asked: str, sent: str) -> None:
    """Requests begin every 20 ms and overlap: each is in time with its neighbours' requests to the backend."""
    found = held(
        [
            segment
            for number in range(ENOUGH)
            for segment in proxied(asked.format(number), sent.format(number), at_s=number / 50)
        ]
    )
    assert found is not None
    assert (str(found.front), [str(each) for each in found.back], found.matched) == (
        "10.0.0.2:80",
        ["10.0.0.3:8000"],
        ENOUGH,
    )
    assert found.request_held_s is not None
    assert found.request_held_s.median == pytest.approx(0.04)


def test_the_rule_that_explains_most_requests_wins() -> None:
    """Neighbours' requests with equal ends seem to turn /api/a into /v1/b."""
    segments = []
    for number in range(4 * ENOUGH):
        name = ("a", "b")[number % 2]
        segments += proxied(f"/api/{name}/status", f"/v1/{name}/status", at_s=number / 50)
    segments += proxied("/api/a/status", None, at_s=0.1)
    found = held(segments)
    assert found is not None
    assert found.matched == 4 * ENOUGH
    assert found.request_held_s is not None
    assert found.request_held_s.minimum == pytest.approx(0.04)


def both(number: int, asked: str, sent: str, response: bytes = _NGINX) -> list[Segment]:
    return proxied(asked.format(number), sent.format(number), at_s=number / 50, response=response)


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
def test_similar_requests_without_a_rule_of_nginx_have_no_match(segments: list[list[Segment]]) -> None:
    """A program that gets a request may send one with a similar path to another program."""
    assert held([segment for each in segments for segment in each]) is None
