"""Verdicts about stalled workers, and about clients that leave early or read slowly."""

from typing import Any, Final

import pytest

from tests.support.canned_evidence import (
    BACK,
    FRONT,
    connects,
    established,
    grown,
    legs,
    listening,
    log,
    lossy,
    memory,
    pidstat,
    repeated_syns,
    scheduled,
    seen,
    service,
    spread,
    stood_still,
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
from tuneproof.explain.diagnosis.causes import (
    accept_queue_overflow,
    client_gone,
    event_loop_stall,
    path_loss,
    slow_reader_buffering,
)
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.parse.access_log.upstream_times import NOT_LOGGED
from tuneproof.explain.parse.capture.records import Side
from tuneproof.explain.parse.error_log import Event
from tuneproof.explain.parse.processes.status import snapshots

LATE_LOG: Final = log(connect_time_s=LATE)
HOLDS: Final = legs(request_s=spread(0.1))
WAITS: Final = "nginx waits for a CPU"
LEFT: Final = {"client_closed_499": 40, "status_counts": {200: 160, 499: 40}}
CLOSED: Final = service(
    zero_window_flows=2, from_client=Side(zero_windows=30, zero_window_episodes=2, zero_window_s=7.5)
)

UNREAD: Final = established(recv_queue=517)
LIMITED: Final[dict[str, Any]] = {"rwnd_limited_ms": 5000.0, "busy_ms": 6000.0}

CASES: Final[Rows] = {
    # Held requests and responses show a stall, unless nginx lacks a CPU; so do connects that are late only by its log.
    event_loop_stall.assess: [
        row(
            "a request is held",
            FOUND,
            "for 1: holds a request for 33 ms (median), 400 ms (p90) and 400 ms (p99)",
            legs(request_s=spread(0.033, 0.4)),
        ),
        row("a response is held", FOUND, legs(request_s=spread(0.001, 0.06), response_held_s=spread(0.001, 0.2))),
        # limit_req and auth_request hold requests, and nginx holds a small first part of a response.
        row(
            "only requests are held",
            POSSIBLE,
            "against 1: A stall would delay everything that a worker waits for, and only this is late.",
            "decides 1: ./lab watch",
            legs(request_s=spread(0.1), response_held_s=spread(0.001)),
        ),
        row("only responses are held", POSSIBLE, legs(response_held_s=spread(0.001, 0.2))),
        # The machine may have paused for 110 ms, while the responses arrived.
        row(
            "a burst of responses is held once",
            POSSIBLE,
            "against 1: This happened only 1 time: a pause of the machine looks the same.",
            legs(response_held_s=spread(0.018, 0.11), backend_s=spread(0.02), moments=1),
        ),
        # The kernel has completed the handshake, but nginx notices it late, and logs a long $upstream_connect_time.
        row(
            "an open connection is used late",
            FOUND,
            "for 1: a request with an open backend connection for 1 ms (median), 300 ms (p90)",
            legs(connected_held_s=spread(0.001, 0.3)),
        ),
        # Half of the requests must be held for 20 ms, a tenth for 50 ms, or one in a hundred for 200 ms.
        row("2 % held for 500 ms", FOUND, legs(request_s=spread(0.001, 0.5, slow_share=0.02))),
        row("2 % held for 200 ms", FOUND, legs(request_s=spread(0.001, 0.2, slow_share=0.02))),
        row("2 % held for 90 ms", NOT_SEEN, legs(request_s=spread(0.001, 0.09, slow_share=0.02))),
        row("20 % held for 50 ms", FOUND, legs(request_s=spread(0.001, 0.05))),
        row("all held for 21 ms", FOUND, legs(request_s=spread(0.021))),
        row("all held for 19 ms", RULED_OUT, legs(request_s=spread(0.019))),
        row("20 % held for 30 ms", RULED_OUT, "against 1: within 30 ms (p99)", legs(request_s=spread(0.001, 0.03))),
        row("19 requests", NOT_SEEN, legs(request_s=spread(0.4), matched=19)),
        row("20 requests", FOUND, legs(request_s=spread(0.4), matched=20)),
        row("starved by schedstat", POSSIBLE, f"against 1: {WAITS} 50 %", scheduled((1.0, 0.0), (2.0, 1.0)), HOLDS),
        row("starved by pidstat", POSSIBLE, f"against 1: {WAITS} 50 %", pidstat("%wait", 40.0, 60.0), HOLDS),
        row("not starved", FOUND, f"for 3: {WAITS} only 2 %", scheduled((98.0, 2.0)), HOLDS),
        row(
            "unread connections",
            POSSIBLE,
            "for 1: 20 of 40 connections to port 8000 hold data that the local program has not read (Recv-Q): if",
            table(listening(), *[UNREAD] * 20, *[established()] * 20),
        ),
        row(
            "unread connections of nginx",
            POSSIBLE,
            table(listening(), *[established(recv_queue=517, program="nginx")] * 20),
        ),
        row(
            "unread connections of others",
            NOT_SEEN,
            table(listening(), *[established(recv_queue=517, program="sshd")] * 20),
        ),
        row("fewer unread connections", NOT_SEEN, table(listening(), *[UNREAD] * 20, *[established()] * 21)),
        row(
            "a busy worker",
            POSSIBLE,
            "for 1: nginx (PID 7) uses 99 % of a CPU (%CPU): events wait until the worker is free.",
            "decides 1: ./lab watch",
            pidstat("%CPU", 98.0, 100.0),
        ),
        row("a worker that waits for events", NOT_SEEN, pidstat("%CPU", 100.0, 80.0)),
        # After a stall, a worker continues with several requests at once; other workers were not late.
        row(
            "a worker stalled",
            FOUND,
            "for 1: Worker 12 was stalled for up to 300 ms: 20 times several requests of the worker",
            "for 1: among them late connections to 10.0.1.3:9000",
            log(standstills=(stood_still(),)),
        ),
        row("a worker stalled, and nginx is prompt in a capture", RULED_OUT, log(standstills=(stood_still(),)), legs()),
        row(
            "a worker stalled and was starved",
            POSSIBLE,
            f"against 1: {WAITS} 50 %",
            log(standstills=(stood_still(),)),
            scheduled((1.0, 0.0), (2.0, 1.0)),
        ),
        row("three of three", FOUND, log(standstills=(stood_still(alone=3, moments=3),))),
        row("two of two", NOT_SEEN, log(standstills=(stood_still(alone=2, moments=2),))),
        # Two workers with too few stalls each may have enough stalls together.
        row(
            "three of four, by two workers",
            FOUND,
            "for 1: Workers 12, 13 were stalled for up to 400 ms: 3 times several requests of the worker",
            "for 1: late connections to 10.0.1.3:9000 or 10.0.1.4:9000, while",
            log(
                standstills=(
                    stood_still(alone=2, moments=3),
                    stood_still(worker_pid=13, server="10.0.1.4:9000", alone=1, moments=1, longest_s=0.4),
                )
            ),
        ),
        row(
            "three of nine, by two workers",
            NOT_SEEN,
            log(standstills=(stood_still(alone=2, moments=4), stood_still(worker_pid=13, alone=1, moments=5))),
        ),
        # By chance, one moment in fifty looks like the end of a stall; twice as many are required.
        row("20 of 300", FOUND, log(standstills=(stood_still(moments=300),))),
        row("20 of 900", NOT_SEEN, log(standstills=(stood_still(moments=900),))),
        row("few delayed requests", RARE, log(standstills=(stood_still(delayed=4),))),
        # The workers may have connected at different times, when the backend's kernel was slower or faster.
        row(
            "one worker connects late",
            POSSIBLE,
            "for 1: Worker 12 takes 300 ms (p90) to connect to 10.0.1.3:9000, worker 11 1 ms",
            log(server_connects=(connects(11, spread(0.001)), connects(12, LATE))),
        ),
        row(
            "to servers without an address in the log",
            POSSIBLE,
            "for 1: its upstream servers, which the log does not name",
            log(server_connects=(connects(11, spread(0.001), NOT_LOGGED), connects(12, LATE, NOT_LOGGED))),
        ),
        row(
            "late to another server only",
            NOT_SEEN,
            log(server_connects=(connects(11, spread(0.001), "near"), connects(12, spread(0.08), "far"))),
        ),
        row(
            "a far and a near server",
            NOT_SEEN,
            log(
                connect_time_s=spread(0.001, 0.08),
                server_connects=(connects(11, spread(0.001), "near"), connects(11, spread(0.08), "far")),
            ),
        ),
        row(
            "one worker connects late, and nginx is prompt in a capture",
            RULED_OUT,
            log(server_connects=(connects(11, spread(0.001)), connects(12, spread(0.033)))),
            legs(),
        ),
        *(
            row(name, verdict, log(server_connects=(connects(11, spread(fast_s)), connects(12, spread(slow_s)))))
            for name, slow_s, fast_s, verdict in (
                ("32 and 1 ms", 0.032, 0.001, POSSIBLE),
                ("30 and 1 ms", 0.03, 0.001, NOT_SEEN),
                ("90 and 20 ms", 0.09, 0.02, NOT_SEEN),
            )
        ),
        *(
            row(
                f"{fast} fast and {slow} late connects",
                verdict,
                log(server_connects=(connects(11, spread(0.001, count=fast)), connects(12, spread(0.3, count=slow)))),
            )
            for fast, slow, verdict in ((20, 20, POSSIBLE), (19, 200, NOT_SEEN), (200, 19, NOT_SEEN))
        ),
        row(
            "all workers connect late",
            POSSIBLE,
            "decides 1: tcpdump",
            "decides 2: $pid $connection",
            log(connect_time_s=LATE, workers=(worker(11, LATE), worker(12, LATE))),
        ),
        # The backend's kernel answered at once, and nginx noticed the answer late.
        row(
            "fast in a capture",
            FOUND,
            "for 1: 300 ms (p90), but on the wire the backend answers within 20 ms (p90)",
            "for 1: [access_logs 1, captures 1]",
            LATE_LOG,
            legs(matched=0),
        ),
        # The log's time includes a TLS handshake with a busy backend.
        row("fast in a capture, with TLS", POSSIBLE, LATE_LOG, legs(back={"tls_flows": 200}, matched=0)),
        row(
            "late in a capture",
            POSSIBLE,
            LATE_LOG,
            legs(back=repeated_syns(handshake_s=spread(0.0001, 1.0)), matched=0),
        ),
        row("no captured handshake", POSSIBLE, LATE_LOG, legs(back={"handshake_s": None}, matched=0)),
        *(
            row(
                f"{count} handshakes",
                verdict,
                LATE_LOG,
                legs(back={"handshake_s": spread(0.001, count=count)}, matched=0),
            )
            for count, verdict in ((20, FOUND), (19, POSSIBLE))
        ),
        row(
            "every packet captured twice",
            POSSIBLE,
            LATE_LOG,
            legs(back={"syn_retransmission_delay_s": spread(0.0001)}, matched=0),
        ),
        # The p90 must be five times the minimum, and also 50 ms, unless the median is 10 ms: gaps in CPU time
        # delay only a few connects.
        *(
            row(name, verdict, log(connect_time_s=times))
            for name, times, verdict in (
                ("connects of 40 ms", spread(0.0, 0.04), NOT_SEEN),
                ("a SYN timer", spread(0.0, 1.02), NOT_SEEN),
                ("a far backend", spread(0.1, 0.12), NOT_SEEN),
                ("20 connects", spread(0.02, 0.1, count=20), POSSIBLE),
                ("19 connects", spread(0.02, 0.1, count=19), NOT_SEEN),
                ("below five times the fastest", spread(0.021, 0.1), NOT_SEEN),
                ("51 % take 10 ms", spread(0.001, 0.01, slow_share=0.51), POSSIBLE),
                ("51 % take 9 ms", spread(0.001, 0.009, slow_share=0.51), NOT_SEEN),
                ("49 % take 10 ms", spread(0.001, 0.01, slow_share=0.49), NOT_SEEN),
            )
        ),
        # A stalled worker finds both the request and the client's FIN in one loop iteration.
        row("three 499s without time", POSSIBLE, log(closed_499_without_time=3)),
        row("three of a thousand", NOT_SEEN, log(requests=1000, closed_499_without_time=3)),
        row("two 499s without time", NOT_SEEN, log(closed_499_without_time=2)),
        row("499s of unknown time", NOT_SEEN, log(closed_499_without_time=None)),
        # Without a RST, the client has only closed its half.
        row("data to a client that has gone", POSSIBLE, service(served_gone_client_flows=5)),
        row("half-closed connections", NOT_SEEN, service(data_after_peer_fin_flows=5)),
        row(
            "nginx closes its window",
            POSSIBLE,
            "for 1: nginx closed its own receive window to 10.0.1.3:9000 2 times",
            legs(back={"from_client": Side(zero_windows=9, zero_window_episodes=2)}, matched=0),
        ),
        row("slow answers", POSSIBLE, service(FRONT, response_s=spread(0.2))),
        row("fast answers", NOT_SEEN, service(BACK)),
        # Holding 20 % of the requests for 70 ms matters less if all requests wait 200 ms for the backend.
        row("a burst before a slow backend", POSSIBLE, legs(request_s=spread(0.0007, 0.07), backend_s=spread(0.2))),
        row("a burst before a fast backend", FOUND, legs(request_s=spread(0.0007, 0.07), backend_s=spread(0.02))),
    ],
    client_gone.assess: [
        row(
            "fast answers",
            FOUND,
            "for 1: 40 of 200 requests were abandoned (499, 20 %).",
            "for 2: Responses are not slow: answered requests take 30 ms (p90)",
            "touched: 0.2",
            log(**LEFT),
        ),
        row("no client left in one of two logs", NOT_SEEN, log(), log(client_closed_499=1)),
        *(
            row(f"{count} answers", verdict, log(**LEFT, request_time_s=spread(0.03, count=count)))
            for count, verdict in ((20, FOUND), (19, POSSIBLE))
        ),
        row("three of 200", FOUND, log(client_closed_499=3)),
        row("slow answers", POSSIBLE, log(**LEFT, request_time_s=spread(1.0))),
        row("they left within 90 ms", FOUND, log(**LEFT, left_after_s=spread(0.001, 0.09))),
        # The other requests were answered fast.
        row(
            "they had waited for 2 s",
            POSSIBLE,
            "against 1: p90 wait of those who left: 2 s",
            log(**LEFT, left_after_s=spread(0.001, 2.0)),
        ),
        row("only health checks", NOT_SEEN, log(**LEFT, health_checks_499=40)),
        row("clients and health checks", FOUND, log(**LEFT, health_checks_499=20)),
        row("answers with unknown times", POSSIBLE, log(**LEFT, request_time_s=None)),
        row(
            "captured",
            FOUND,
            "for 1: left before the end of 40 of 200 responses",
            service(client_left_before_response=30, client_left_in_response=10),
        ),
        # On the leg to the upstream, nginx is the client.
        row("nginx leaves", RULED_OUT, legs(back={"client_left_before_response": 40})),
        row("below one in a hundred", NOT_SEEN, log(client_closed_499=19, requests=2000)),
        row("fewer than three", NOT_SEEN, log(client_closed_499=2, requests=10)),
        row("none of 200", RULED_OUT, log()),
        row(
            "cut downloads",
            NOT_SEEN,
            "against 1: None of 200 requests was abandoned (499), but 10 responses with status 200 are shorter",
            log(short_200=10),
        ),
        row("two short responses", RULED_OUT, log(short_200=2)),
        row("none of 20", RULED_OUT, log(requests=20)),
        row("none of 19", NOT_SEEN, log(requests=19)),
        row("in the error log", POSSIBLE, error_log_with(Event.CLIENT_LEFT, 3)),
        row("in the error log, twice", NOT_SEEN, error_log_with(Event.CLIENT_LEFT, 2)),
    ],
    # Windows that clients keep closed show slow readers; memory and long queues may have other causes.
    slow_reader_buffering.assess: [
        row(
            "closed windows",
            FOUND,
            "for 1: closed their window to 10.0.0.2:8000 on 2 connections, for 7.5 s in total",
            legs({"zero_window_flows": 2, "from_client": CLOSED.from_client}),
        ),
        row(
            "closed for 0.9 s",
            NOT_SEEN,
            legs({"zero_window_flows": 2, "from_client": Side(zero_windows=3, zero_window_s=0.9)}, matched=0),
        ),
        row(
            "one client of a thousand",
            RARE,
            legs({"flows": 1000, "zero_window_flows": 2, "from_client": CLOSED.from_client}),
        ),
        # If nginx does not listen on this port, nginx may be the slow reader.
        row("closed to an unknown service", POSSIBLE, CLOSED),
        row("closed to nginx", FOUND, CLOSED, ALONE),
        row("closed by nginx", POSSIBLE, "for 1: its buffers may be full", CLOSED, table(listening(80))),
        row(
            "limited by the clients' windows",
            FOUND,
            "for 1: 1 of 1 socket on port 8000 has up to 773 KiB that the peer has not read yet, limited",
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
        row("64 KiB in the queue", FOUND, table(listening(), established(64 << 10, **LIMITED))),
        # ss -nt does not show windows.
        row("no details", POSSIBLE, "decides 1: ss -tanmi", table(established(792_024, cwnd=None))),
        row("to the backend", NOT_SEEN, table(listening(), established(792_024, port=40_001, rwnd_limited_ms=5000.0))),
        row("rt far above urt", POSSIBLE, log(client_time_s=spread(0.0, 12.0))),
        row("rt a second above urt", POSSIBLE, log(client_time_s=spread(0.0, 1.0))),
        row("rt above urt", NOT_SEEN, log(client_time_s=spread(0.0, 0.9))),
        row("memory grows", POSSIBLE, "for 1: nginx (PID 7) grew by 101 MiB to 131 MiB.", memory(30), memory(131)),
        row("much memory", POSSIBLE, memory(300)),
        # Linux before 4.5 has no RssAnon.
        row("much memory by VmRSS", POSSIBLE, snapshots("Name:\tnginx\nPid:\t7\nVmRSS:\t307200 kB\n")),
        row("memory grows by pidstat", POSSIBLE, pidstat("RSS", 5000.0, 464_136.0)),
        row("memory grows a little", NOT_SEEN, memory(30, 129)),
        row("two workers", NOT_SEEN, memory(30), memory(200, pid=8)),
        row("open windows", RULED_OUT, legs()),
        row("temporary files", POSSIBLE, error_log_with(Event.TO_FILE, 3)),
        row("few temporary files", NOT_SEEN, error_log_with(Event.TO_FILE, 2)),
    ],
}


@rows_of(CASES)
def test_worker_and_client_evidence_has_the_expected_verdict(
    assess: Assess, given: EvidenceSet, verdict: CauseVerdict, said: tuple[str, ...]
) -> None:
    check(assess, given, verdict, said)


def test_another_finding_is_a_reason_against_impatient_clients() -> None:
    before, after = grown(ListenOverflows=50, ListenDrops=50)
    given = seen(log(**LEFT), (before,), (after,))
    found = client_gone.assess(given, [accept_queue_overflow.assess(given)])
    assert found.verdict is POSSIBLE
    assert found.against[0].text.endswith("accept-queue overflow was found.")
    assert found.against[0].files == ("counters 1", "counters 2")


@pytest.mark.parametrize(
    ("front", "verdict"),
    [
        ({}, FOUND),
        ({"from_server": Side(packets=80, data_segments=60)}, POSSIBLE),
        ({"incomplete_flows": 5}, POSSIBLE),
        (lossy(), POSSIBLE),
    ],
    ids=["6200 segments", "60 segments", "a capture with gaps", "loss in the capture"],
)
def test_loss_by_counters_does_not_matter_if_a_capture_shows_none(front: dict[str, Any], verdict: CauseVerdict) -> None:
    """The host's counters include other programs' connections; the capture shows those of the clients that left."""
    left = legs(front={"client_left_before_response": 40, **front})
    given = seen(log(**LEFT), left, grown(RetransSegs=397, TCPSynRetrans=100, TCPSackRecovery=50))
    assert client_gone.assess(given, [path_loss.assess(given)]).verdict is verdict


@pytest.mark.parametrize(("left_after_s", "reasons"), [(0.09, 2), (0.1, 1)])
def test_fast_answers_are_no_reason_to_leave_for_clients_that_waited(left_after_s: float, reasons: int) -> None:
    left = client_gone.assess(seen(log(**LEFT, left_after_s=spread(left_after_s))))
    assert len(left.for_) == reasons
