"""Clients that leave."""

from tests.support.canned_evidence import both_legs, capture, evidence, grown, log, service, spread
from tuneproof.explain.diagnosis.causes import accept_queue_overflow
from tuneproof.explain.diagnosis.causes.client_gone import assess
from tuneproof.explain.diagnosis.findings import CauseVerdict

_LEFT = {"client_closed_499": 40, "status_counts": {200: 160, 499: 40}}


def test_clients_that_leave_although_answers_are_fast_prove_it() -> None:
    """Nothing else makes them."""
    found = assess(evidence(access_logs=[log(**_LEFT)]))
    assert found.verdict is CauseVerdict.FOUND
    assert found.for_[0].text == "40 of 200 requests were abandoned (499, 20 %)."
    assert "Answers are not slow: requests take 30 ms (p90)" in found.for_[1].text


def test_clients_that_leave_slow_answers_prove_nothing() -> None:
    """They may have waited for too long, and so may those whose time nobody logged."""
    assert assess(evidence(access_logs=[log(**_LEFT, request_time_s=spread(1.0))])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(access_logs=[log(**_LEFT, request_time_s=None)])).verdict is CauseVerdict.POSSIBLE


def test_what_else_was_found_speaks_against_it() -> None:
    """Clients leave for a reason."""
    given = evidence(access_logs=[log(**_LEFT)], counters=[grown(ListenOverflows=50, ListenDrops=50)])
    found = assess(given, [accept_queue_overflow.assess(given)])
    assert found.verdict is CauseVerdict.POSSIBLE
    assert found.against[0].text.endswith("accept-queue overflow was found.")
    assert found.against[0].file == "counters 1"


def test_a_capture_shows_them_leave() -> None:
    """Before their response, or in the middle of it."""
    left = service(client_left_before_response=30, client_left_in_response=10)
    found = assess(evidence(captures=[capture(left)]))
    assert found.verdict is CauseVerdict.FOUND
    assert "left before the end of 40 of 200 responses" in found.for_[0].text


def test_nginx_that_leaves_its_backend_is_no_client_that_leaves() -> None:
    """On that leg nginx is the client."""
    assert assess(both_legs(back={"client_left_before_response": 40})).verdict is CauseVerdict.RULED_OUT


def test_a_few_of_many_are_a_habit() -> None:
    """Less than one in a hundred, or less than three."""
    assert assess(evidence(access_logs=[log(client_closed_499=19, requests=2000)])).verdict is CauseVerdict.NOT_SEEN
    assert assess(evidence(access_logs=[log(client_closed_499=2, requests=10)])).verdict is CauseVerdict.NOT_SEEN


def test_requests_of_which_none_was_given_up_rule_it_out() -> None:
    """Two hundred are enough."""
    assert assess(evidence(access_logs=[log()])).verdict is CauseVerdict.RULED_OUT
