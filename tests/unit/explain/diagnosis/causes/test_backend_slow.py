"""Backends that take their time."""

import pytest

from tests.support.canned_evidence import (
    BACK,
    both_legs,
    capture,
    evidence,
    listening,
    log,
    service,
    spread,
    table,
    worker,
)
from tuneproof.explain.diagnosis.causes.backend_slow import assess
from tuneproof.explain.diagnosis.findings import CauseVerdict

_SLOW = spread(0.2, 0.8)


def test_a_backend_that_answers_late_while_nginx_is_prompt_is_proof() -> None:
    """Both legs on one clock."""
    found = assess(both_legs(backend_s=_SLOW))
    assert found.verdict is CauseVerdict.FOUND
    assert "answers after 200 ms (median), 800 ms (p90)" in found.for_[0].text


def test_nginx_that_holds_requests_as_well_leaves_it_open() -> None:
    """Above a fifth of the backend's time, both are to blame."""
    assert assess(both_legs(backend_s=_SLOW, request_s=spread(0.001, 0.5))).verdict is CauseVerdict.POSSIBLE
    assert assess(both_legs(backend_s=_SLOW, request_s=spread(0.001, 0.15))).verdict is CauseVerdict.FOUND


def test_a_backend_far_away_need_not_be_slow() -> None:
    """Every answer takes the path's round trip; what the backend adds must stand out."""
    far = both_legs(back={"handshake_s": spread(0.06)}, backend_s=_SLOW)
    near = both_legs(back={"handshake_s": spread(0.04)}, backend_s=_SLOW)
    assert (assess(far).verdict, assess(near).verdict) == (CauseVerdict.POSSIBLE, CauseVerdict.FOUND)


def test_a_fast_backend_rules_it_out() -> None:
    """Also where a log has it late: the log's times are those of a late worker."""
    fast = both_legs()
    late = evidence(access_logs=[log(header_minus_connect_s=_SLOW)])
    assert assess(type(fast)(captures=fast.captures, access_logs=late.access_logs)).verdict is CauseVerdict.RULED_OUT


@pytest.mark.parametrize(
    ("own_s", "verdict"),
    [
        (spread(0.1), CauseVerdict.POSSIBLE),
        (spread(0.09), CauseVerdict.RULED_OUT),
        (spread(0.01, 0.5), CauseVerdict.POSSIBLE),
        (spread(0.01, 0.4), CauseVerdict.RULED_OUT),
        (spread(0.01, 0.6, slow_share=0.02), CauseVerdict.NOT_SEEN),
        (spread(3.0, count=20), CauseVerdict.POSSIBLE),
        (spread(3.0, count=19), CauseVerdict.NOT_SEEN),
    ],
    ids=["median 100 ms", "median 90 ms", "p90 500 ms", "p90 400 ms", "p99 600 ms", "20 requests", "19 requests"],
)
def test_a_log_alone_fits_it(own_s: object, verdict: CauseVerdict) -> None:
    """A late worker reads the backend's answer late, and logs that."""
    assert assess(evidence(access_logs=[log(header_minus_connect_s=own_s)])).verdict is verdict


def test_a_log_whose_workers_are_prompt_and_see_the_same_proves_it() -> None:
    """They notice new connections at once, so their loops come round."""
    workers = (worker(11, spread(0.0, 0.01), _SLOW), worker(12, spread(0.0, 0.004), spread(0.5)))
    assert (
        assess(evidence(access_logs=[log(header_minus_connect_s=_SLOW, workers=workers)])).verdict is CauseVerdict.FOUND
    )


@pytest.mark.parametrize(
    "second",
    [
        worker(12, spread(0.0, 0.011), _SLOW),
        worker(12, spread(0.0, 0.004), spread(0.7)),
        worker(12, spread(0.001, count=10), spread(0.2, count=10)),
    ],
    ids=["late connects", "another time", "few requests"],
)
def test_a_log_whose_workers_differ_leaves_it_open(second: object) -> None:
    """One backend would be the same for all."""
    workers = (worker(11, spread(0.0, 0.004), _SLOW), second)
    given = log(header_minus_connect_s=_SLOW, workers=workers)
    assert assess(evidence(access_logs=[given])).verdict is CauseVerdict.POSSIBLE


def test_connections_that_were_open_already_tell_nothing_of_the_loop() -> None:
    """Their connect time is 0.000, whatever the loop does."""
    workers = tuple(worker(pid, spread(0.0), _SLOW) for pid in (11, 12))
    given = log(header_minus_connect_s=_SLOW, workers=workers)
    assert assess(evidence(access_logs=[given])).verdict is CauseVerdict.POSSIBLE


def test_slow_answers_on_the_wire_prove_it_where_the_service_is_known_as_backend() -> None:
    """The host of nginx does not listen there."""
    slow = capture(service(BACK, response_s=_SLOW))
    assert assess(evidence(captures=[slow])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(captures=[slow], sockets=[table(listening())])).verdict is CauseVerdict.FOUND
    assert assess(evidence(captures=[slow], sockets=[table(listening(BACK.port))])).verdict is CauseVerdict.NOT_SEEN
