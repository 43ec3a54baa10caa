"""Access logs show who got errors, who sent them and when, and what the logs may hide."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

import pytest

from tests.support.canned_evidence import (
    load_run,
    log,
    screen,
    seen,
    spread,
)
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.findings import Cause, CauseVerdict
from tuneproof.explain.parse.access_log.log_summary import LogSummary, summarise
from tuneproof.explain.parse.access_log.records import LogRecord
from tuneproof.explain.parse.access_log.sums import Outage

HOUR: Final = Outage(begin_s=1_795_168_800, end_s=1_795_172_400, requests=0, failed=0)


def requests_of(failing: Mapping[str, int], status: int, *, others: int, more: int = 0) -> LogSummary:
    """Return a log of ``others`` clients without errors, and of some with this number of errors.

    ``more``: the number of the first of these clients' requests without an error.
    """
    sent = [(f"10.0.1.{client}", 200) for client in range(others) for _ in range(10)]
    sent += [(next(iter(failing)), 200)] * more
    sent += [(client, status) for client, number in failing.items() for _ in range(number)]
    records = (LogRecord(remote_addr=client, status=status, body_bytes=0) for client, status in sent)
    return summarise(records, format_name="own")


ONE: Final = {"10.0.0.9": 60}


@pytest.mark.parametrize("status", [503, 429, 408, 499])
def test_errors_of_one_of_many_clients_are_named_as_such(status: int) -> None:
    (symptom,) = diagnose(seen(requests_of(ONE, status, others=19))).symptoms
    assert ", all of them from one address (10.0.0.9) of 20 in the log" in symptom.text
    assert "from one client" not in symptom.would_decide


def test_incomplete_requests_of_many_clients_are_named_as_such() -> None:
    timed_out = requests_of({f"10.0.0.{number}": 2 for number in range(30)}, 408, others=19)
    (symptom,) = diagnose(seen(timed_out)).symptoms
    assert " ended with 408 (24 %), from 30 addresses: " in symptom.text
    assert "from one client" not in symptom.would_decide
    balanced = requests_of({"10.0.0.9": 60}, 408, others=1)
    (symptom,) = diagnose(seen(balanced)).symptoms
    assert "address" not in symptom.text
    assert "from one client" in symptom.would_decide


@pytest.mark.parametrize(("errors", "shown"), [(3, True), (10, True), (2, False)])
def test_a_few_server_errors_are_reported_as_rare(errors: int, *, shown: bool) -> None:
    lines = screen(seen(log(requests=2000, status_counts={200: 2000 - errors, 500: errors})))
    assert lines[0].startswith("No problem found in these files; ")
    rare = [line for line in lines if line.startswith("Rare: ")]
    assert rare == [f"Rare: {errors} of 2000 requests got a server error ({errors / 20} %)."] * shown


@pytest.mark.parametrize(
    ("failing", "more", "others", "of"),
    [
        ({**ONE, "10.0.0.8": 6}, 0, 19, ", 60 of them from one address (10.0.0.9) of 21 in"),
        ({**ONE, "10.0.0.8": 7}, 0, 19, ""),
        (ONE, 0, 18, ""),
        (ONE, 130, 19, ", all of them from"),
        # A balancer in front of nginx sends most requests, and monitors send others.
        (ONE, 131, 19, ""),
        ({"10.0.0.9": 900}, 100, 19, ", all of them from"),
        ({"10.0.0.9": 900}, 101, 19, ""),
    ],
    ids=["nearly all", "two clients", "few clients", "half of the log", "balancer", "scanner", "busy client"],
)
def test_one_client_is_named_only_if_its_requests_fail_more_often_than_others(
    failing: Mapping[str, int], more: int, others: int, of: str
) -> None:
    (symptom,) = diagnose(seen(requests_of(failing, 503, others=others, more=more))).symptoms
    assert ("one address" in symptom.text) == bool(of)
    assert of in symptom.text


def test_a_scanner_is_named_with_the_client_errors_that_it_got() -> None:
    (symptom,) = diagnose(seen(requests_of({"10.0.0.9": 900}, 404, others=19))).symptoms
    assert symptom.text.endswith("all of them with 404, all of them from one address (10.0.0.9) of 20 in the log.")


@pytest.mark.parametrize("status", [503, 429, 404])
@pytest.mark.parametrize(
    ("sender", "text", "shows"),
    [
        ("upstream_errors", "; upstreams sent 170 of them.", "the application's own log"),
        ("nginx_errors", "; nginx sent 170 of them, itself or from its cache.", "nginx's error log of that time; if"),
    ],
)
def test_errors_of_a_known_sender_call_for_its_log(status: int, sender: str, text: str, shows: str) -> None:
    failed = log(status_counts={200: 20, status: 180}, **{sender: {status: 170}})
    (symptom,) = diagnose(seen(failed)).symptoms
    assert symptom.text.endswith(text)
    assert symptom.would_decide.startswith(shows)
    (symptom,) = diagnose(seen(log(status_counts={200: 20, status: 180}, **{sender: {status: 161}}))).symptoms
    assert " sent " not in symptom.text
    assert "$upstream_status" in symptom.would_decide


def test_the_period_of_an_outage_is_named_if_it_is_short() -> None:
    first = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
    begin_s = int(first.timestamp()) + 1800
    failed: dict[str, Any] = {
        "requests": 2000,
        "status_counts": {200: 1950, 504: 50},
        "first_time": first,
        "last_time": first + timedelta(hours=1),
        "outage": Outage(begin_s=begin_s, end_s=begin_s + 120, requests=100, failed=48),
    }
    (symptom,) = diagnose(seen(log(**failed))).symptoms
    assert "(2.5 %), nearly all between 2026-11-20 10:30 and 10:32;" in symptom.text
    (symptom,) = diagnose(seen(log(**{**failed, "last_time": first + timedelta(minutes=3)}))).symptoms
    assert "between" not in symptom.text
    before = first.astimezone(timezone(timedelta(hours=2)))
    (symptom,) = diagnose(seen(log(**{**failed, "first_time": before}))).symptoms
    assert "between 2026-11-20 12:30 and 12:32 (+0200);" in symptom.text
    few = replace(failed["outage"], failed=19)
    assert diagnose(seen(log(**{**failed, "status_counts": {200: 1981, 504: 19}, "outage": few}))).symptoms == ()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            {"abandonment": replace(HOUR, requests=100, failed=20)},
            "20 of 100 requests were abandoned (499) between 2026-11-20 10:00 and 11:00.",
        ),
        ({"abandonment": replace(HOUR, requests=201, failed=20)}, ""),
        (
            {"slowness": replace(HOUR, requests=100, failed=25)},
            "25 of 100 requests waited 1 s or longer for an upstream between 2026-11-20 10:00 and 11:00.",
        ),
        ({"slowness": replace(HOUR, requests=101, failed=25)}, ""),
        ({"outage": replace(HOUR, requests=100, failed=90, is_of_one_client=True)}, ""),
    ],
)
def test_an_hour_of_failures_is_a_symptom_of_a_long_log(values: Mapping[str, Outage], expected: str) -> None:
    found = diagnose(seen(log(requests=100_000, **values)))
    assert [each.text for each in found.symptoms] == ([expected] if expected else [])
    assert found.healthy != bool(expected)


def test_a_few_slow_requests_without_an_answer_are_a_symptom() -> None:
    """Only answered requests have an upstream's time, so nothing shows that a long body made the others slow."""
    slow = spread(0.01, 2.0, slow_share=0.05, count=400)
    assert diagnose(
        seen(log(requests=400, request_time_s=slow, header_minus_connect_s=spread(0.01, count=380)))
    ).symptoms


def test_failed_requests_do_not_hide_other_errors_of_a_load_tool() -> None:
    lines = screen(seen(load_run(tool="wrk", errors={"read": 120, "timeout": 800}, failed_share=0.05)))
    assert "Users: wrk: 5 % of the requests failed." in lines
    assert "Users: wrk counted errors: read 120, timeout 800." in lines


@pytest.mark.parametrize(
    "values",
    [{"unmatched_lines": 2}, {"status_counts": {200: 198}}, {"times_without_unit": {"request_time": 2}}],
    ids=["lines", "statuses", "times"],
)
def test_a_few_unread_requests_do_not_matter(values: Mapping[str, Any]) -> None:
    read = diagnose(seen(log(**values)))
    assert read.healthy
    ruled_out = {each.cause for each in read.assessments if each.verdict is CauseVerdict.RULED_OUT}
    assert ruled_out == {Cause.NO_PORT, Cause.NO_LIVE_UPSTREAM, Cause.BACKEND_SLOW, Cause.CLIENT_GONE}


@pytest.mark.parametrize(
    ("values", "gap", "confirm"),
    [
        ({"unmatched_lines": 3}, "3 lines in another format could not be read", "if these lines are requests, "),
        ({"status_counts": {200: 197}}, "the status of 3 requests is unknown", "the access log with "),
        ({"status_counts": {200: 197, 0: 3}}, "the status of 3 requests is unknown", "the access log with "),
        ({"status_counts": {}}, "the status of 200 requests is unknown", "the access log with "),
        (
            {"times_without_unit": {"request_time": 3}},
            "3 times in an unknown unit could not be read",
            "the access log with ",
        ),
        (
            {"request_time_s": None, "status_counts": {}},
            "they do not show how long requests take, and the status of 200 requests is unknown",
            "the access log with ",
        ),
        ({"is_cut": True}, "only a part of the file could be unpacked", "the whole file; "),
    ],
    ids=["lines", "some statuses", "status 000", "all statuses", "times", "neither", "part of a file"],
)
def test_a_log_that_was_read_in_part_neither_shows_that_all_is_well_nor_rules_causes_out(
    values: Mapping[str, Any], gap: str, confirm: str
) -> None:
    """The requests that were not read may be those that failed."""
    given = seen(log(**values))
    unread = diagnose(given)
    assert not any(each.verdict is CauseVerdict.RULED_OUT for each in unread.assessments)
    reasons = [each.text for assessment in unread.assessments for each in assessment.against]
    (doubt,) = {text for text in reasons if text.startswith("None of 200 requests got a 502, but ")}
    assert gap.endswith(doubt.partition(", but ")[2].removesuffix("."))
    first, *lines = screen(given)
    assert first == f"No problem found in these files, but {gap}."
    (command,) = (line for line in lines if line.startswith("Confirm"))
    assert command.startswith(f"Confirm: {confirm}")
