"""Connections that are refused."""

from tests.support.canned_evidence import BACK, capture, evidence, grown, load_run, log, service, spread
from tuneproof.explain.diagnosis.causes.refused import assess
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.parse.capture.records import Endpoint


def test_a_rst_in_answer_to_a_syn_proves_it() -> None:
    """No other cause answers a SYN so."""
    found = assess(evidence(captures=[capture(service(BACK, refused=50, handshakes={"complete": 150, "refused": 50}))]))
    assert found.verdict is CauseVerdict.FOUND
    assert "50 of 200 connections to 10.0.1.3:9000" in found.for_[0].text
    assert found.for_[0].file == "captures 1"


def test_one_refusal_among_thousands_of_connections_proves_nothing() -> None:
    """It explains nothing that anybody would ask about."""
    few = capture(service(refused=1, flows=5000))
    found = assess(evidence(captures=[few]))
    assert found.verdict is CauseVerdict.RARE
    assert found.for_[0].text.startswith("1 of 5000 connections to ")


def test_other_ports_that_strangers_try_are_not_the_service() -> None:
    """Beside connections that work, a few refused ones to another port are rare, whatever their share there."""
    scanned = service(Endpoint(address="10.0.0.2", port=23), flows=2, refused=2, handshakes={"refused": 2})
    assert assess(evidence(captures=[capture(service(flows=10), scanned)])).verdict is CauseVerdict.RARE
    alone = assess(evidence(captures=[capture(scanned)]))
    assert alone.verdict is CauseVerdict.FOUND


def test_a_share_that_may_explain_a_complaint_proves_it() -> None:
    """By the exact lower limit: twenty of a thousand are at least one in a hundred, ten are not."""
    many, fewer = (capture(service(BACK, flows=1000, refused=number)) for number in (20, 10))
    assert assess(evidence(captures=[many])).verdict is CauseVerdict.FOUND
    assert assess(evidence(captures=[fewer])).verdict is CauseVerdict.RARE


def test_handshakes_without_a_refusal_rule_it_out() -> None:
    """Twenty are enough, nineteen are not."""
    enough, few = (capture(service(handshakes={"complete": count})) for count in (20, 19))
    assert assess(evidence(captures=[enough])).verdict is CauseVerdict.RULED_OUT
    assert assess(evidence(captures=[few])).verdict is CauseVerdict.NOT_SEEN


def test_a_load_tool_that_says_so_proves_it() -> None:
    """A count of failed connects does not: they may have timed out."""
    said = load_run(errors={"connect": 1}, notes=("apr_socket_connect(): Connection refused (111)",))
    assert assess(evidence(load_runs=[said])).verdict is CauseVerdict.FOUND
    assert assess(evidence(load_runs=[load_run(errors={"connect": 1})])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(load_runs=[load_run()])).verdict is CauseVerdict.NOT_SEEN


def test_502s_that_fail_at_once_fit_it() -> None:
    """A backend that accepts and closes answers like that, too; the error log tells."""
    found = assess(evidence(access_logs=[log(status_counts={200: 100, 502: 100}, connect_time_s=spread(0.0))]))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert any("error.log" in each for each in found.would_decide)
    without = log(status_counts={502: 3}, connect_time_s=None)
    assert assess(evidence(access_logs=[without])).verdict is CauseVerdict.POSSIBLE


def test_502s_and_as_many_failed_attempts_to_connect_prove_it() -> None:
    """A backend that accepts and closes fails no attempt; and no live upstream is not even tried."""
    failed = log(status_counts={200: 100, 502: 100}, connect_time_s=None)
    found = assess(evidence(access_logs=[failed], counters=[grown(AttemptFails=100)]))
    assert found.verdict is CauseVerdict.FOUND
    assert found.for_[0].file == "access_logs 1, counters 1"
    assert "and 100 attempts to connect failed (AttemptFails)" in found.for_[0].text
    fewer = evidence(access_logs=[failed], counters=[grown(AttemptFails=99)])
    assert assess(fewer).verdict is CauseVerdict.POSSIBLE


def test_502s_after_long_connects_do_not_fit_it() -> None:
    """A refusal takes one round trip."""
    late = log(status_counts={502: 100}, connect_time_s=spread(0.0, 1.0))
    assert assess(evidence(access_logs=[late])).verdict is CauseVerdict.NOT_SEEN


def test_failed_attempts_alone_are_no_sign() -> None:
    """AttemptFails counts whatever ends a handshake: it only adds to other signs."""
    assert assess(evidence(counters=[grown(AttemptFails=9)])).verdict is CauseVerdict.NOT_SEEN
    with_tool = evidence(counters=[grown(AttemptFails=9)], load_runs=[load_run(errors={"connect": 1})])
    assert [reason.file for reason in assess(with_tool).for_] == ["load_runs 1", "counters 1"]
