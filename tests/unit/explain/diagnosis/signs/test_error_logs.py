"""What an error log says of the causes."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.support.canned_evidence import evidence, log
from tuneproof.explain.diagnosis.causes import (
    accept_queue_overflow,
    backend_slow,
    client_gone,
    refused,
    slow_reader_buffering,
    syn_queue_drop,
)
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import CauseAssessment, CauseVerdict
from tuneproof.explain.diagnosis.symptoms import symptoms
from tuneproof.explain.diagnosis.thresholds import ENOUGH_EVENTS
from tuneproof.explain.parse.error_log import ErrorLog, Event


def said(event: Event, number: int, *upstreams: str) -> ErrorLog:
    """Return a log that says one thing so often, of each upstream."""
    at = datetime(2026, 11, 22, tzinfo=UTC)
    return ErrorLog(
        messages=number,
        levels={"error": number},
        events={event: number},
        upstreams={event: dict.fromkeys(upstreams, number)},
        workers_left=(at,) if event is Event.WORKER_LEFT else (),
        first=at,
        last=at,
    )


@pytest.mark.parametrize(
    ("event", "assess"),
    [
        (Event.CONNECT_TIMED_OUT, syn_queue_drop.assess),
        (Event.CONNECT_TIMED_OUT, accept_queue_overflow.assess),
        (Event.ANSWER_TIMED_OUT, backend_slow.assess),
        (Event.TO_FILE, slow_reader_buffering.assess),
        (Event.CLIENT_LEFT, client_gone.assess),
    ],
)
def test_what_is_said_often_makes_a_cause_possible(
    event: Event, assess: Callable[[EvidenceSet], CauseAssessment]
) -> None:
    """It fits other causes as well; once or twice in a log of unknown length is nothing."""
    often, seldom = (evidence(error_logs=[said(event, number)]) for number in (ENOUGH_EVENTS, ENOUGH_EVENTS - 1))
    assert assess(often).verdict is CauseVerdict.POSSIBLE
    assert assess(seldom).verdict is CauseVerdict.NOT_SEEN


def test_refused_connections_that_nginx_names_prove_it() -> None:
    """Five, and one in a hundred of the requests where a log tells these; each of them is one that failed."""
    found = refused.assess(evidence(error_logs=[said(Event.REFUSED, 5, "10.0.0.5:8080")]))
    assert found.verdict is CauseVerdict.FOUND
    assert found.for_[0].text == "By the error log 10.0.0.5:8080 refused 5 connections."
    assert refused.assess(evidence(error_logs=[said(Event.REFUSED, 4)])).verdict is CauseVerdict.RARE
    for requests, verdict in ((100, CauseVerdict.FOUND), (100_000, CauseVerdict.RARE), (3, CauseVerdict.FOUND)):
        both = evidence(error_logs=[said(Event.REFUSED, 5)], access_logs=[log(requests=requests)])
        assert refused.assess(both).verdict is verdict, requests


@pytest.mark.parametrize("event", [Event.NO_CONNECTIONS, Event.NO_DESCRIPTORS, Event.NONE_LEFT, Event.HUNG_UP])
def test_trouble_is_told_whatever_its_cause(event: Event) -> None:
    """Even once: a request failed."""
    (reason,) = symptoms(evidence(error_logs=[said(event, 1)]))
    assert reason.text == f"nginx's error log, {event.value}: 1."
    assert reason.file == "error_logs 1"


def test_an_error_log_alone_says_nothing_of_health() -> None:
    """What it does not say may have been below its level."""
    diagnosis = diagnose(evidence(error_logs=[said(Event.TO_FILE, 1)]), None)
    assert all(one.verdict is CauseVerdict.NOT_SEEN for one in diagnosis.assessments)
    assert not list(symptoms(evidence(error_logs=[said(Event.TO_FILE, 1)])))
