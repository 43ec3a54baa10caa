"""Cases of clients that leave, or read slowly."""

from typing import Any, Final

from tests.support.canned_evidence import (
    established,
    grown,
    legs,
    listening,
    log,
    memory,
    pidstat,
    seen,
    service,
    spread,
    table,
)
from tests.support.verdict_rows import (
    ALONE,
    FOUND,
    NOT_SEEN,
    POSSIBLE,
    RARE,
    RULED_OUT,
    Assess,
    Rows,
    check,
    row,
    rows_of,
    said_so,
)
from tuneproof.explain.diagnosis.causes import (
    accept_queue_overflow,
    client_gone,
    slow_reader_buffering,
)
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.parse.capture.records import Side
from tuneproof.explain.parse.error_log import Event

LEFT: Final = {"client_closed_499": 40, "status_counts": {200: 160, 499: 40}}


CLOSED: Final = service(
    zero_window_flows=2, from_client=Side(zero_windows=30, zero_window_episodes=2, zero_window_s=7.5)
)


LIMITED: Final[dict[str, Any]] = {"rwnd_limited_ms": 5000.0, "busy_ms": 6000.0}


CASES: Final[Rows] = {
    client_gone.assess: [
        row(
            "fast answers",
            FOUND,
            "for 1: 40 of 200 requests were abandoned (499, 20 %).",
            "for 2: Responses are not slow: requests take 30 ms (p90)",
            log(**LEFT),
        ),
        row("slow answers", POSSIBLE, log(**LEFT, request_time_s=spread(1.0))),
        row("they left at once", FOUND, log(**LEFT, left_after_s=spread(0.001, 0.09))),
        # However fast the others were answered.
        row(
            "they had waited",
            POSSIBLE,
            "against 1: p90 wait of those who left: 2 s",
            log(**LEFT, left_after_s=spread(0.001, 2.0)),
        ),
        row("health checks hang up", NOT_SEEN, log(**LEFT, health_checks_499=40)),
        row("beside health checks", FOUND, log(**LEFT, health_checks_499=20)),
        row("answers of unknown time", POSSIBLE, log(**LEFT, request_time_s=None)),
        row(
            "captured",
            FOUND,
            "for 1: left before the end of 40 of 200 responses",
            service(client_left_before_response=30, client_left_in_response=10),
        ),
        # On that leg nginx is the client.
        row("nginx leaves", RULED_OUT, legs(back={"client_left_before_response": 40})),
        row("below one in a hundred", NOT_SEEN, log(client_closed_499=19, requests=2000)),
        row("less than three", NOT_SEEN, log(client_closed_499=2, requests=10)),
        row("none of 200", RULED_OUT, log()),
        row("in the error log", POSSIBLE, said_so(Event.CLIENT_LEFT, 3)),
        row("seldom", NOT_SEEN, said_so(Event.CLIENT_LEFT, 2)),
    ],
    # Windows that clients keep closed show it; memory and long queues fit it.
    slow_reader_buffering.assess: [
        row(
            "closed windows",
            FOUND,
            "for 1: closed their window to 10.0.0.2:8000 in 2 connections, for 7.5 s altogether",
            legs({"zero_window_flows": 2, "from_client": CLOSED.from_client}),
        ),
        row(
            "a moment",
            NOT_SEEN,
            legs({"zero_window_flows": 2, "from_client": Side(zero_windows=3, zero_window_s=0.9)}, matched=0),
        ),
        row(
            "one client of a thousand",
            RARE,
            legs({"flows": 1000, "zero_window_flows": 2, "from_client": CLOSED.from_client}),
        ),
        # Then nginx may not read; its listeners show it.
        row("closed to an unknown service", POSSIBLE, CLOSED),
        row("closed to nginx", FOUND, CLOSED, ALONE),
        row("closed by nginx", POSSIBLE, "for 1: its buffers may be full", CLOSED, table(listening(80))),
        row(
            "limited by the clients' windows",
            FOUND,
            "for 1: 1 socket at port 8000 holds up to 773 KiB",
            table(listening(), established(792_024, **LIMITED)),
        ),
        row("a window that is closed now", FOUND, table(listening(), established(792_024, is_persisting=True))),
        # A fast download fills its send queue, too.
        *(
            row(
                f"{queue} bytes, {ms} ms",
                NOT_SEEN,
                table(listening(), established(queue, **{**LIMITED, "rwnd_limited_ms": ms})),
            )
            for queue, ms in ((4_000_000, None), (792_024, 900.0), (792_024, 2000.0), (60_000, 5000.0))
        ),
        *(
            row(
                f"{limited_ms:g} of {busy_ms:g} ms",
                verdict,
                table(listening(), established(600_000, rwnd_limited_ms=limited_ms, busy_ms=busy_ms)),
            )
            for limited_ms, busy_ms, verdict in (
                (1000.0, 2000.0, FOUND),
                (999.0, 1999.0, NOT_SEEN),
                (200.0, 210.0, FOUND),
                (199.0, 199.0, NOT_SEEN),
                (300.0, 400.0, NOT_SEEN),
            )
        ),
        # As in the article: ss -nt alone shows no window.
        row("no details", POSSIBLE, "decides 1: ss -tanmi", table(established(792_024, cwnd=None))),
        row("to the backend", NOT_SEEN, table(listening(), established(792_024, port=40_001, rwnd_limited_ms=5000.0))),
        row("rt far above urt", POSSIBLE, log(client_time_s=spread(0.0, 12.0))),
        row("rt above urt", NOT_SEEN, log(client_time_s=spread(0.0, 0.9))),
        row("memory grows", POSSIBLE, "for 1: nginx (PID 7) grew by 101 MiB to 131 MiB.", memory(30), memory(131)),
        row("much memory", POSSIBLE, memory(300)),
        row("memory grows by pidstat", POSSIBLE, pidstat("RSS", 5000.0, 464_136.0)),
        row("memory grows a little", NOT_SEEN, memory(30, 129)),
        row("two workers", NOT_SEEN, memory(30), memory(200, pid=8)),
        row("open windows", RULED_OUT, legs()),
        row("temporary files", POSSIBLE, said_so(Event.TO_FILE, 3)),
        row("few temporary files", NOT_SEEN, said_so(Event.TO_FILE, 2)),
    ],
}


@rows_of(CASES)
def test_each_cause_judges_evidence_as_expected(
    assess: Assess, given: EvidenceSet, verdict: CauseVerdict, said: tuple[str, ...]
) -> None:
    check(assess, given, verdict, said)


def test_other_findings_speak_against_clients_that_leave() -> None:
    given = seen(log(**LEFT), grown(ListenOverflows=50, ListenDrops=50))
    found = client_gone.assess(given, [accept_queue_overflow.assess(given)])
    assert found.verdict is POSSIBLE
    assert found.against[0].text.endswith("accept-queue overflow was found.")
    assert found.against[0].file == "counters 1"
