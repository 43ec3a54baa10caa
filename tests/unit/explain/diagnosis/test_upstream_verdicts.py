"""Verdicts about upstreams that are slow, that refuse or close connections, or that are considered down."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from tests.support.canned_evidence import (
    BACK,
    capture,
    connects,
    established,
    grown,
    legs,
    listening,
    load_run,
    log,
    paths,
    seen,
    service,
    spread,
    table,
    worker,
)
from tests.support.verdict_rows import (
    ALONE,
    FOUND,
    LATE,
    NOT_SEEN,
    POSSIBLE,
    RARE,
    RULED_OUT,
    Assess,
    Rows,
    check,
    error_log_with,
    row,
    rows_of,
)
from tuneproof.explain.diagnosis.causes import backend_slow, refused
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
from tuneproof.explain.diagnosis.symptoms import symptoms
from tuneproof.explain.parse.access_log.log_summary import LogSummary, WorkerSummary
from tuneproof.explain.parse.access_log.sums import Outage
from tuneproof.explain.parse.access_log.upstream_times import NOT_LOGGED
from tuneproof.explain.parse.capture.capture_summary import CaptureSummary
from tuneproof.explain.parse.capture.records import Endpoint
from tuneproof.explain.parse.error_log import Event, parse

SLOW_HOUR: Final = Outage(begin_s=1_795_168_800, end_s=1_795_172_400, requests=100, failed=50)
SLOW: Final = spread(0.2, 0.8)


def slow_log(*workers: WorkerSummary, **values: Any) -> LogSummary:
    """Return these workers' log with a slow backend; a connect time of 0.000 may mean a reused connection."""
    times = [(each.worker_pid, each.connect_time_s) for each in workers]
    new = tuple(connects(pid, spread(each.maximum, count=40)) for pid, each in times if each and each.maximum)
    made = {"path_times": paths(SLOW, SLOW, spread(0.01)), "server_connects": new, **values}
    return log(header_minus_connect_s=SLOW, workers=workers, **made)


FAST: Final = spread(0.01)
PROMPT: Final = worker(11, spread(0.0, 0.004), SLOW)
PROMPT_TOO: Final = worker(12, spread(0.0, 0.004), SLOW)
FAILED: Final = log(status_counts={200: 100, 502: 100}, connect_time_s=None)
SCANNED: Final = service(Endpoint(address="10.0.0.2", port=23), flows=2, refused=2, handshakes={"refused": 2})
REFUSED_RUN: Final = load_run(errors={"connect": 1}, notes=("apr_socket_connect(): Connection refused (111)",))

ANSWERED_502: Final = log(status_counts={200: 150, 502: 50})

WORKER_EXITS: Final = parse(["2026/11/22 14:50:07 [notice] 29#29: gracefully shutting down"])
SECOND: Final = int(datetime(2026, 11, 22, 14, 50, 8, tzinfo=UTC).timestamp())


def closed_in_request(reused: int, new: int = 0) -> dict[str, Any]:
    """Return the fields of a service that closed connections during a request."""
    return {"hung_up_flows": reused + new, "hung_up_reused_flows": reused}


def closed_at(second: int) -> CaptureSummary:
    return legs({**closed_in_request(8), "hung_up_seconds": {second: 8}})


CASES: Final[Rows] = {
    # A capture of the backend's leg shows that the backend is slow; a log does so only if no worker is late.
    backend_slow.assess: [
        row("nginx is prompt", FOUND, "for 1: answers after 200 ms (median), 800 ms (p90)", legs(backend_s=SLOW)),
        # If nginx's own time exceeds a fifth of the backend's, both may be causes.
        row("nginx holds requests as well", POSSIBLE, legs(backend_s=SLOW, request_s=spread(0.001, 0.5))),
        row("nginx holds requests briefly", FOUND, legs(backend_s=SLOW, request_s=spread(0.001, 0.15))),
        row("one answer in fifty is late", NOT_SEEN, legs(backend_s=spread(0.01, 0.6, slow_share=0.02))),
        row("19 captured requests", NOT_SEEN, legs(backend_s=SLOW, matched=19)),
        row("distant backend", POSSIBLE, legs(back={"handshake_s": spread(0.06)}, backend_s=SLOW)),
        row("nearer backend", FOUND, legs(back={"handshake_s": spread(0.04)}, backend_s=SLOW)),
        # The capture shows a fast backend, so the worker that logged these times was late.
        row("fast, and late by the log", RULED_OUT, legs(), slow_log()),
        *(
            row(name, verdict, log(header_minus_connect_s=times))
            for name, times, verdict in (
                ("median 100 ms", spread(0.1), POSSIBLE),
                ("median 90 ms", spread(0.09), RULED_OUT),
                ("p90 500 ms", spread(0.01, 0.5), POSSIBLE),
                ("p90 600 ms", spread(0.01, 0.6), POSSIBLE),
                ("p90 400 ms", spread(0.01, 0.4), RULED_OUT),
                ("p99 600 ms", spread(0.01, 0.6, slow_share=0.02), NOT_SEEN),
                ("20 requests", spread(3.0, count=20), POSSIBLE),
                ("19 requests", spread(3.0, count=19), NOT_SEEN),
            )
        ),
        row(
            "p99 of a second by the log",
            POSSIBLE,
            "for 1: one answer in a hundred takes the backend 1 s or longer, if the worker noticed in time.",
            log(header_minus_connect_s=spread(0.01, 1.0, slow_share=0.02, count=300)),
        ),
        row(
            "p99 of 299 answers by the log",
            NOT_SEEN,
            log(header_minus_connect_s=spread(0.01, 1.0, slow_share=0.02, count=299)),
        ),
        row(
            "distant by the log",
            POSSIBLE,
            "against 1: Each new connection to it takes 60 ms or longer: it is far away,",
            log(header_minus_connect_s=SLOW, server_connects=(connects(7, spread(0.06)),)),
        ),
        # Logs with $upstream_response_time alone, such as ingress-nginx's.
        *(
            row(name, verdict, log(header_minus_connect_s=None, small_response_s=times))
            for name, times, verdict in (
                ("a whole response in 200 ms", spread(0.2), POSSIBLE),
                ("a whole response in 90 ms", spread(0.09), NOT_SEEN),
                ("19 responses", spread(5.0, count=19), NOT_SEEN),
                ("large responses only", None, NOT_SEEN),
            )
        ),
        row(
            "a prompt header and a slow body",
            NOT_SEEN,
            "against 1: begins to answer within 20 ms (p99), but takes 200 ms (p90) until a small response has ended",
            log(small_response_s=spread(0.2)),
        ),
        row(
            "slow for an hour",
            POSSIBLE,
            "for 1: 50 of 100 requests waited 1 s or longer for an upstream between",
            "touched: 0.05",
            log(requests=1000, slowness=SLOW_HOUR),
        ),
        row("late connects for an hour", NOT_SEEN, log(connect_time_s=spread(0.0, 1.0), slowness=SLOW_HOUR)),
        # These workers notice new connections at once, so their loops are not late.
        row(
            "prompt workers",
            FOUND,
            slow_log(worker(11, spread(0.0, 0.01), SLOW), worker(12, spread(0.0, 0.004), spread(0.5))),
        ),
        row("one path", POSSIBLE, slow_log(PROMPT, PROMPT_TOO, path_times=paths(SLOW))),
        row("two paths of five", POSSIBLE, slow_log(PROMPT, PROMPT_TOO, path_times=paths(SLOW, SLOW, *[FAST] * 3))),
        row("three paths of four", FOUND, slow_log(PROMPT, PROMPT_TOO, path_times=paths(SLOW, SLOW, SLOW, FAST))),
        row("two paths of four", FOUND, slow_log(PROMPT, PROMPT_TOO, path_times=paths(SLOW, SLOW, FAST, FAST))),
        # Fast connects to one backend do not show that another one is near.
        row(
            "another server's connects",
            POSSIBLE,
            slow_log(PROMPT, PROMPT_TOO, path_times=paths(SLOW, SLOW, server="far")),
        ),
        row("no address", POSSIBLE, slow_log(PROMPT, PROMPT_TOO, path_times=paths(SLOW, SLOW, server=NOT_LOGGED))),
        row(
            "few new connections",
            POSSIBLE,
            slow_log(PROMPT, PROMPT_TOO, server_connects=(connects(11, spread(0.001, count=19)),)),
        ),
        row("late connects", POSSIBLE, slow_log(PROMPT, worker(12, spread(0.0, 0.011), SLOW))),
        row("workers with other times", POSSIBLE, slow_log(PROMPT, worker(12, spread(0.0, 0.004), spread(0.7)))),
        row(
            "few requests in one worker",
            POSSIBLE,
            slow_log(PROMPT, worker(12, spread(0.001, count=10), spread(0.2, count=10))),
        ),
        # Reused connections have a connect time of 0.000 even if the loop stalls.
        row("reused connections", POSSIBLE, slow_log(*(worker(pid, spread(0.0), SLOW) for pid in (11, 12)))),
        row("in a capture", POSSIBLE, service(BACK, response_s=SLOW)),
        row("nginx's host listens elsewhere", FOUND, service(BACK, response_s=SLOW), ALONE),
        row("nginx's host listens there", NOT_SEEN, service(BACK, response_s=SLOW), table(listening(BACK.port))),
        row("timeouts in the error log", POSSIBLE, error_log_with(Event.ANSWER_TIMED_OUT, 3)),
        # The other requests were answered fast.
        row(
            "given up before an answer",
            POSSIBLE,
            "for 1: had not answered 20 times when nginx or the client gave up, after 60 s (median; 504, 499)",
            "touched: 0.1",
            log(unanswered_s=spread(60.0, count=20)),
        ),
        row("given up after 0.4 s", NOT_SEEN, log(unanswered_s=spread(0.4, count=20))),
        row("given up after 0.09 s", RULED_OUT, log(unanswered_s=spread(0.09, count=20))),
        row("one given up after 0.4 s", RULED_OUT, log(unanswered_s=spread(0.4, count=1))),
        row("given up twice", NOT_SEEN, log(unanswered_s=spread(60.0, count=2))),
        row("few timeouts", NOT_SEEN, error_log_with(Event.ANSWER_TIMED_OUT, 2)),
    ],
    # A RST in answer to a SYN, or nginx's message about it, shows the cause; so do as many failed connects as 502s,
    # or a few more. A count of failures alone does not.
    refused.assess: [
        row(
            "RST",
            FOUND,
            "for 1: 50 of 200 connections to 10.0.1.3:9000",
            "for 1: [captures 1]",
            service(BACK, refused=50, handshakes={"complete": 150, "refused": 50}),
        ),
        row("1 of 5000", RARE, "for 1: 1 of 5000 connections to ", service(refused=1, flows=5000)),
        # Scanners try other ports on every machine.
        row("a scanned port and a service", RARE, capture(service(flows=10), SCANNED)),
        row("a port alone", FOUND, SCANNED),
        # The lower confidence limit of the share (Clopper-Pearson) decides.
        row("20 of 1000", FOUND, service(BACK, flows=1000, refused=20)),
        row("10 of 1000", RARE, service(BACK, flows=1000, refused=10)),
        row("20 handshakes", RULED_OUT, service(handshakes={"complete": 20})),
        row("19 handshakes", NOT_SEEN, service(handshakes={"complete": 19})),
        row("in a load tool's output", FOUND, REFUSED_RUN),
        row("a load tool's count", POSSIBLE, load_run(errors={"connect": 1})),
        row("a load tool's run without errors", NOT_SEEN, load_run()),
        row(
            "502 at once",
            POSSIBLE,
            "decides 2: error.log",
            log(status_counts={200: 100, 502: 100}, connect_time_s=spread(0.0)),
        ),
        row("502 with unknown times", NOT_SEEN, log(status_counts={502: 3}, connect_time_s=None)),
        row(
            "502 after 1 ms",
            POSSIBLE,
            "for 1: 3 of 200 requests were answered 502, within 1 ms (p90): the failures were immediate",
            log(status_counts={502: 3}, connect_time_s=None, bad_gateway_s=spread(0.001)),
        ),
        row(
            "the error log explains some 502s",
            POSSIBLE,
            "for 1: 3 of 200 requests were answered 502 without another reason in the error log, within 1 ms (p90)",
            error_log_with(Event.UNANSWERED, 20),
            log(status_counts={502: 23}, connect_time_s=None, bad_gateway_s=spread(0.001)),
        ),
        row("502 after 200 ms", NOT_SEEN, log(status_counts={502: 100}, bad_gateway_s=spread(0.2))),
        row("502 after long connects", NOT_SEEN, log(status_counts={502: 100}, connect_time_s=LATE)),
        # If a backend accepts and then closes, connects do not fail; without a live upstream, nginx does not connect.
        row(
            "502 and as many failed attempts",
            FOUND,
            "for 1: and 100 attempts to connect failed (AttemptFails)",
            "for 1: [access_logs 1, counters 1]",
            FAILED,
            grown(AttemptFails=100),
        ),
        row("502 and fewer attempts", POSSIBLE, FAILED, grown(AttemptFails=99)),
        # The counter covers the whole network namespace, so it includes other programs' attempts.
        row("502 and many more attempts", POSSIBLE, FAILED, grown(AttemptFails=126)),
        row("502 and a few more attempts", FOUND, FAILED, grown(AttemptFails=125)),
        row("failed attempts alone", NOT_SEEN, grown(AttemptFails=9)),
        row(
            "failed attempts and a load tool's count",
            POSSIBLE,
            "for 1: [load_runs 1]",
            "for 2: [counters 1]",
            grown(AttemptFails=9),
            load_run(errors={"connect": 1}),
        ),
        row(
            "in the error log, with its address",
            FOUND,
            "for 1: Error log: 5 connections that upstreams refused (10.0.0.5:8080).",
            error_log_with(Event.REFUSED, 5, "10.0.0.5:8080"),
        ),
        row("four in the error log", RARE, error_log_with(Event.REFUSED, 4)),
        *(
            row(f"5 of {number}", verdict, error_log_with(Event.REFUSED, 5), log(requests=number))
            for number, verdict in ((100, FOUND), (100_000, RARE), (3, FOUND))
        ),
    ],
    no_port: [
        row(
            "nginx logs it",
            FOUND,
            "for 1: 20 connections to upstreams without a free local port (10.0.1.3:9000)",
            error_log_with(Event.NO_PORT, 20, "10.0.1.3:9000"),
            ANSWERED_502,
        ),
        row("once in thousands", RARE, error_log_with(Event.NO_PORT, 20), replace(ANSWERED_502, requests=100_000)),
        row("no 502", RULED_OUT, log()),
        row(
            "an error page",
            NOT_SEEN,
            "against 1: None of 200 requests got a 502, but 10 got a 500 or 503: error_page may change the status.",
            log(status_counts={200: 190, 503: 10}),
        ),
        row(
            "another server",
            NOT_SEEN,
            "against 1: None of 200 requests got a 502, but 10 were passed to more than one upstream server.",
            log(retried_requests=10),
        ),
        row("another server twice", RULED_OUT, log(retried_requests=2)),
        row("502s without a message", NOT_SEEN, ANSWERED_502),
        row("nothing", NOT_SEEN),
        # All connections are to one address; the host may have another port range.
        row("as many sockets as ports", POSSIBLE, table(*[established()] * MANY_PORTS)),
        row("fewer sockets", NOT_SEEN, table(*[established()] * (MANY_PORTS - 1))),
    ],
    no_live_upstream: [
        row(
            "nginx logs it",
            FOUND,
            "for 1: 20 requests for which no live",
            error_log_with(Event.NONE_LEFT, 20),
            ANSWERED_502,
        ),
        row("once in thousands", RARE, error_log_with(Event.NONE_LEFT, 20), replace(ANSWERED_502, requests=100_000)),
        row("no 502", RULED_OUT, log()),
        row("an error page", NOT_SEEN, log(status_counts={200: 190, 500: 10})),
        row(
            "a stale page",
            NOT_SEEN,
            "against 1: None of 200 requests got a 502, but an upstream's status was 502 in 10.",
            log(hidden_502=10),
        ),
        row("two stale pages", RULED_OUT, log(hidden_502=2)),
        row("an upstream's error", RULED_OUT, log(status_counts={200: 190, 500: 10}, upstream_errors={500: 10})),
        row("nginx's own error", RULED_OUT, log(status_counts={200: 190, 503: 10}, nginx_errors={503: 10})),
        # Without a live server, nginx passes the request to none.
        row("another server", RULED_OUT, log(retried_requests=10)),
        row("no 502 in one of two logs", NOT_SEEN, log(), ANSWERED_502),
        row("nothing", NOT_SEEN),
    ],
    # A backend that closes new and reused connections alike has another problem; error logs do not distinguish them.
    kept_connection_closed: [
        row("keepalive connections", FOUND, legs(back=closed_in_request(20))),
        row("three of 1000", RARE, legs(back={**closed_in_request(3), "requests": 1000})),
        row("keepalive and new connections", POSSIBLE, "touched: 0.1", legs(back=closed_in_request(20, new=20))),
        row("once", RARE, legs(back=closed_in_request(1))),
        row("new connections", NOT_SEEN, legs(back=closed_in_request(0, new=20))),
        row("none", RULED_OUT, legs()),
        row("in the error log", POSSIBLE, "decides 1: tcpdump", error_log_with(Event.UNANSWERED, 20), ANSWERED_502),
        row("closed in the middle of a response", NOT_SEEN, error_log_with(Event.HUNG_UP, 20)),
        row("the backend's leg alone", POSSIBLE, service(BACK, **closed_in_request(20))),
    ],
    reload: [
        row("when a worker exits", FOUND, closed_at(SECOND), WORKER_EXITS),
        row("with a log in Indian time", FOUND, closed_at(SECOND - 5 * 3600 - 30 * 60), WORKER_EXITS),
        row("a minute later", POSSIBLE, closed_at(SECOND + 60), WORKER_EXITS),
        row("without a log", POSSIBLE, closed_at(SECOND)),
        row("two of four requests", NOT_SEEN, legs({**closed_in_request(2), "requests": 4})),
        # Workers exit after every reload.
        row("no connection closed", RULED_OUT, legs(), WORKER_EXITS),
    ],
}


@rows_of(CASES)
def test_upstream_evidence_has_the_expected_verdict(
    assess: Assess, given: EvidenceSet, verdict: CauseVerdict, said: tuple[str, ...]
) -> None:
    check(assess, given, verdict, said)


def test_a_single_message_about_a_temporary_file_is_no_sign() -> None:
    given = seen(error_log_with(Event.TO_FILE, 1))
    assert not list(symptoms(given))
    assert all(one.verdict is NOT_SEEN for one in diagnose(given).assessments)


def test_no_live_upstream_is_a_consequence_of_having_no_local_port() -> None:
    both = replace(error_log_with(Event.NO_PORT, 20), events={Event.NO_PORT: 20, Event.NONE_LEFT: 20})
    diagnosis = diagnose(seen(both, ANSWERED_502))
    assert [each.cause for each in diagnosis.found] == [Cause.NO_PORT, Cause.NO_LIVE_UPSTREAM]
    assert [(each.cause, each.of) for each in diagnosis.consequences] == [(Cause.NO_LIVE_UPSTREAM, Cause.NO_PORT)]


def test_a_worker_that_exits_gracefully_is_healthy() -> None:
    assert diagnose(seen(WORKER_EXITS, legs())).healthy
