"""Requests that fail at once: no local port, a kept connection that is closed, a reload, no live upstream."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.canned_evidence import BACK, FRONT, both_legs, capture, established, evidence, log, service, table
from tuneproof.explain.diagnosis.causes.failed_upstreams import (
    MANY_PORTS,
    kept_connection_closed,
    no_live_upstream,
    no_port,
    reload,
)
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import Cause, CauseVerdict
from tuneproof.explain.parse.error_log import ErrorLog, parse

AT = "2026/11/22 14:50:07 [{}] 29#29: {}"
HUNG_UP = "upstream prematurely closed connection while reading response header from upstream"
NO_ADDRESS = "connect() to 10.0.1.3:9000 failed (99: Cannot assign requested address) while connecting to upstream"
BEHIND = ', client: 10.0.0.9, server: shop, request: "POST /a HTTP/1.1", upstream: "http://10.0.1.3:9000/a"'
ANSWERED_502 = log(status_counts={200: 150, 502: 50})


def said(words: str, number: int = 20) -> ErrorLog:
    """Return an error log that says one thing so often."""
    return parse([AT.format("error", f"*{each} {words}{BEHIND}") for each in range(number)])


@pytest.mark.parametrize(
    ("words", "assess", "told"),
    [
        (NO_ADDRESS, no_port, "20 connections to upstreams without a free local port, of 10.0.1.3:9000"),
        (
            "no live upstreams while connecting to upstream",
            no_live_upstream,
            "20 requests for which no live upstream was left",
        ),
    ],
    ids=["no-port", "no-live-upstream"],
)
def test_what_nginx_says_itself_proves_it(words: str, assess: Any, told: str) -> None:
    """Where it touches one request in a hundred; one in thousands is rare, and no 502 at all rules it out."""
    found = assess(evidence(error_logs=[said(words)], access_logs=[ANSWERED_502]))
    assert found.verdict is CauseVerdict.FOUND
    assert told in found.for_[0].text
    rare = evidence(error_logs=[said(words)], access_logs=[replace(ANSWERED_502, requests=100_000)])
    assert assess(rare).verdict is CauseVerdict.RARE
    assert assess(evidence(access_logs=[log()])).verdict is CauseVerdict.RULED_OUT
    assert assess(EvidenceSet()).verdict is CauseVerdict.NOT_SEEN


def test_as_many_sockets_as_ports_fit_the_want_of_ports() -> None:
    """To one address; the range may be another one."""
    assert no_port(evidence(sockets=[table(*[established()] * MANY_PORTS)])).verdict is CauseVerdict.POSSIBLE
    assert no_port(evidence(sockets=[table(*[established()] * (MANY_PORTS - 1))])).verdict is CauseVerdict.NOT_SEEN


def hung_up(reused: int, new: int = 0) -> dict[str, Any]:
    """Return the fields of a service that closed connections under a request."""
    return {"hung_up_flows": reused + new, "hung_up_reused_flows": reused}


@pytest.mark.parametrize(
    ("back", "verdict"),
    [
        (hung_up(20), CauseVerdict.FOUND),
        (hung_up(20, new=20), CauseVerdict.POSSIBLE),
        (hung_up(1), CauseVerdict.RARE),
        (hung_up(0, new=20), CauseVerdict.NOT_SEEN),
        ({}, CauseVerdict.RULED_OUT),
    ],
    ids=["kept", "kept and new", "once", "new", "none"],
)
def test_a_backend_that_closes_kept_connections_is_seen_on_the_wire(
    back: dict[str, Any], verdict: CauseVerdict
) -> None:
    """One that closes new ones as often fails for another reason."""
    assert kept_connection_closed(both_legs(back=back)).verdict is verdict


def test_the_error_log_alone_does_not_tell_a_kept_connection_from_a_new_one() -> None:
    found = kept_connection_closed(evidence(error_logs=[said(HUNG_UP)], access_logs=[ANSWERED_502]))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert "tcpdump" in found.would_decide[0]
    outside = evidence(captures=[capture(service(BACK, **hung_up(20)))])
    assert kept_connection_closed(outside).verdict is CauseVerdict.POSSIBLE


LEFT = parse([AT.format("notice", "gracefully shutting down")])
SECOND = int(datetime(2026, 11, 22, 14, 50, 8, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("second", "error_logs", "verdict"),
    [
        (SECOND, [LEFT], CauseVerdict.FOUND),
        (SECOND - 5 * 3600 - 30 * 60, [LEFT], CauseVerdict.FOUND),
        (SECOND + 60, [LEFT], CauseVerdict.POSSIBLE),
        (SECOND, [], CauseVerdict.POSSIBLE),
    ],
    ids=["as a worker left", "in India", "a minute later", "without a log"],
)
def test_connections_that_nginx_closes_as_a_worker_leaves_are_a_reloads(
    second: int, error_logs: Sequence[ErrorLog], verdict: CauseVerdict
) -> None:
    front = service(FRONT, hung_up_flows=8, hung_up_reused_flows=8, hung_up_seconds={second: 8})
    given = replace(evidence(error_logs=error_logs), captures=both_legs().captures)
    legs = replace(given.captures[0].content, services=(front, service(BACK)))
    found = reload(replace(given, captures=(replace(given.captures[0], content=legs),)))
    assert found.verdict is verdict


def test_reloads_that_closed_nothing_are_no_cause() -> None:
    """Workers leave every day."""
    given = replace(evidence(error_logs=[LEFT]), captures=both_legs().captures)
    assert reload(given).verdict is CauseVerdict.RULED_OUT
    assert diagnose(given).healthy


def test_servers_that_are_left_out_follow_from_what_they_failed_by() -> None:
    """No live upstream is what comes of it."""
    words = [*[f"{NO_ADDRESS}{BEHIND}"] * 20, *[f"no live upstreams while connecting to upstream{BEHIND}"] * 20]
    both = parse([AT.format("error", f"*{number} {each}") for number, each in enumerate(words)])
    diagnosis = diagnose(evidence(error_logs=[both], access_logs=[ANSWERED_502]))
    assert [each.cause for each in diagnosis.found] == [Cause.NO_PORT, Cause.NO_LIVE_UPSTREAM]
    assert [(each.cause, each.of) for each in diagnosis.consequences] == [(Cause.NO_LIVE_UPSTREAM, Cause.NO_PORT)]
