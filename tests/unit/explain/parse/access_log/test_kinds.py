"""Requests are classified by their user agent, path and method."""

from typing import Any

import pytest

from tuneproof.explain.parse.access_log.kinds import is_health_check, is_incomplete, kind_of_path, may_have_body
from tuneproof.explain.parse.access_log.records import LogRecord


def record(request: str = "GET /a HTTP/1.1", *, agent: str = "-") -> LogRecord:
    return LogRecord(request=request, columns={"http_user_agent": agent})


@pytest.mark.parametrize(
    ("path", "agent", "expected"),
    [
        *(("/a", agent, True) for agent in ("kube-probe/1.30", "ELB-HealthChecker/2.0", "Consul Health Check")),
        *((path, "-", True) for path in ("/healthz", "/health/live", "/-/ready?x=1", "/PING")),
        *((path, "Mozilla/5.0", False) for path in ("/", "/healthy-recipes", "/pingpong", "/a/ready")),
    ],
)
def test_health_checks_are_recognised_by_user_agent_or_path(path: str, agent: str, *, expected: bool) -> None:
    assert is_health_check(record(f"GET {path} HTTP/1.1", agent=agent)) is expected


def test_a_request_with_a_broken_request_line_may_have_a_body() -> None:
    assert may_have_body(record("\x16\x03"))
    assert kind_of_path(record("\x16\x03")) == ""


@pytest.mark.parametrize(
    ("request_line", "status", "values", "expected"),
    [
        ("-", 408, {"body_bytes": 0}, True),
        ("POST /a HTTP/1.1", 408, {"sent_bytes": 0}, True),
        ("- - -", 400, {"body_bytes": 0}, True),
        ("POST /a HTTP/1.1", 408, {"body_bytes": 0, "upstream_status": (408,)}, False),
        ("POST /a HTTP/1.1", 408, {"body_bytes": 150}, False),
        ("POST /a HTTP/1.1", 400, {"body_bytes": 0}, False),
        ("-", 400, {"body_bytes": 150}, False),
        ("-", 408, {}, False),
        ("-", 499, {"body_bytes": 0}, False),
    ],
)
def test_requests_that_nginx_did_not_get_completely_are_recognised(
    request_line: str, status: int, values: dict[str, Any], *, expected: bool
) -> None:
    """For its own 408, and for a 400 after the client's close, nginx sends nothing; upstreams may send either."""
    assert is_incomplete(LogRecord(request=request_line, status=status, **values)) is expected
