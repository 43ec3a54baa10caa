"""Cases of slow backends."""

from typing import Any, Final

from tests.support.canned_evidence import (
    BACK,
    connects,
    legs,
    listening,
    log,
    paths,
    service,
    spread,
    table,
    worker,
)
from tests.support.verdict_rows import (
    ALONE,
    FOUND,
    NOT_SEEN,
    POSSIBLE,
    RULED_OUT,
    Assess,
    Rows,
    check,
    row,
    rows_of,
    said_so,
)
from tuneproof.explain.diagnosis.causes import (
    backend_slow,
)
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.parse.access_log.log_summary import LogSummary, WorkerSummary
from tuneproof.explain.parse.access_log.upstream_times import NOT_LOGGED
from tuneproof.explain.parse.error_log import Event

SLOW: Final = spread(0.2, 0.8)


def slow_log(*workers: WorkerSummary, **values: Any) -> LogSummary:
    """Return a log of a backend that is slow for every request, with these workers.

    Connects of 0.000 may be reused connections.
    """
    times = [(each.worker_pid, each.connect_time_s) for each in workers]
    new = tuple(connects(pid, spread(each.maximum, count=40)) for pid, each in times if each and each.maximum)
    made = {"path_times": paths(SLOW, SLOW, spread(0.01)), "server_connects": new, **values}
    return log(header_minus_connect_s=SLOW, workers=workers, **made)


FAST: Final = spread(0.01)


PROMPT: Final = worker(11, spread(0.0, 0.004), SLOW)


PROMPT_TOO: Final = worker(12, spread(0.0, 0.004), SLOW)


CASES: Final[Rows] = {
    # Both legs with one clock show it; a log alone does if its workers look in time.
    backend_slow.assess: [
        row("nginx is prompt", FOUND, "for 1: answers after 200 ms (median), 800 ms (p90)", legs(backend_s=SLOW)),
        # Above a fifth of the backend's time, both are causes.
        row("nginx holds as well", POSSIBLE, legs(backend_s=SLOW, request_s=spread(0.001, 0.5))),
        row("nginx holds a little", FOUND, legs(backend_s=SLOW, request_s=spread(0.001, 0.15))),
        row("far away", POSSIBLE, legs(back={"handshake_s": spread(0.06)}, backend_s=SLOW)),
        row("nearer", FOUND, legs(back={"handshake_s": spread(0.04)}, backend_s=SLOW)),
        # The log's times come from a late worker.
        row("fast, and late by the log", RULED_OUT, legs(), slow_log()),
        *(
            row(name, verdict, log(header_minus_connect_s=times))
            for name, times, verdict in (
                ("median 100 ms", spread(0.1), POSSIBLE),
                ("median 90 ms", spread(0.09), RULED_OUT),
                ("p90 500 ms", spread(0.01, 0.5), POSSIBLE),
                ("p90 400 ms", spread(0.01, 0.4), RULED_OUT),
                ("p99 600 ms", spread(0.01, 0.6, slow_share=0.02), NOT_SEEN),
                ("20 requests", spread(3.0, count=20), POSSIBLE),
                ("19 requests", spread(3.0, count=19), NOT_SEEN),
            )
        ),
        # They notice new connections at once, so their loops are not late.
        row(
            "prompt workers",
            FOUND,
            slow_log(worker(11, spread(0.0, 0.01), SLOW), worker(12, spread(0.0, 0.004), spread(0.5))),
        ),
        row("one path", POSSIBLE, slow_log(PROMPT, PROMPT_TOO, path_times=paths(SLOW))),
        row("two paths of five", POSSIBLE, slow_log(PROMPT, PROMPT_TOO, path_times=paths(SLOW, SLOW, *[FAST] * 3))),
        row("two paths of four", FOUND, slow_log(PROMPT, PROMPT_TOO, path_times=paths(SLOW, SLOW, FAST, FAST))),
        # A distant one with reused connections answers late, however fast connects to another one are.
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
        row("another time", POSSIBLE, slow_log(PROMPT, worker(12, spread(0.0, 0.004), spread(0.7)))),
        row(
            "few requests of a worker",
            POSSIBLE,
            slow_log(PROMPT, worker(12, spread(0.001, count=10), spread(0.2, count=10))),
        ),
        # Their connect time is 0.000, whatever the loop does.
        row("open already", POSSIBLE, slow_log(*(worker(pid, spread(0.0), SLOW) for pid in (11, 12)))),
        row("on the wire", POSSIBLE, service(BACK, response_s=SLOW)),
        row("nginx's host listens elsewhere", FOUND, service(BACK, response_s=SLOW), ALONE),
        row("nginx's host listens there", NOT_SEEN, service(BACK, response_s=SLOW), table(listening(BACK.port))),
        row("timeouts in the error log", POSSIBLE, said_so(Event.ANSWER_TIMED_OUT, 3)),
        # However fast the others were answered.
        row(
            "given up before an answer",
            POSSIBLE,
            "for 1: had not answered 20 times when nginx or the client gave up, after 60 s (median; 504, 499)",
            log(unanswered_s=spread(60.0, count=20)),
        ),
        row("given up in a moment", RULED_OUT, log(unanswered_s=spread(0.4, count=20))),
        row("given up twice", NOT_SEEN, log(unanswered_s=spread(60.0, count=2))),
        row("few timeouts", NOT_SEEN, said_so(Event.ANSWER_TIMED_OUT, 2)),
    ],
}


@rows_of(CASES)
def test_each_cause_judges_evidence_as_expected(
    assess: Assess, given: EvidenceSet, verdict: CauseVerdict, said: tuple[str, ...]
) -> None:
    check(assess, given, verdict, said)
