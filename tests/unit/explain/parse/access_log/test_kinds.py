"""Requests are classified by their user agent, path and method."""

import pytest

from tuneproof.explain.parse.access_log.kinds import is_health_check, kind_of_path, may_have_body
from tuneproof.explain.parse.access_log.records import LogRecord


def record(request: str = "GET /a HTTP/1.1", *, agent: str = "-") -> LogRecord:
    return LogRecord(request=request, columns={"http_user_agent": agent})


@pytest.mark.parametrize("agent", ["kube-probe/1.30", "ELB-HealthChecker/2.0", "Consul Health Check"])
def test_health_checks_are_recognised_by_user_agent(agent: str) -> None:
    assert is_health_check(record(agent=agent))


@pytest.mark.parametrize("path", ["/healthz", "/health/live", "/-/ready?x=1", "/PING"])
def test_health_checks_are_recognised_by_path(path: str) -> None:
    assert is_health_check(record(f"GET {path} HTTP/1.1"))


@pytest.mark.parametrize("path", ["/", "/healthy-recipes", "/pingpong", "/a/ready"])
def test_other_requests_are_not_health_checks(path: str) -> None:
    assert not is_health_check(record(f"GET {path} HTTP/1.1", agent="Mozilla/5.0"))


def test_a_request_with_a_broken_request_line_may_have_a_body() -> None:
    assert may_have_body(record("\x16\x03"))
    assert kind_of_path(record("\x16\x03")) == ""
