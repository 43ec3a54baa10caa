"""How each cause judges evidence near its thresholds: a row for each case."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from tests.support.canned_evidence import (
    BACK,
    FRONT,
    capture,
    connects,
    established,
    grown,
    half_open,
    legs,
    listening,
    load_run,
    log,
    lossy,
    memory,
    paths,
    pidstat,
    readings,
    repeated_syns,
    scheduled,
    seen,
    service,
    softnet,
    spread,
    stood_still,
    table,
    worker,
)
from tuneproof.explain.diagnosis.causes import (
    accept_queue_overflow,
    backend_slow,
    client_gone,
    event_loop_stall,
    path_loss,
    refused,
    slow_reader_buffering,
    syn_queue_drop,
)
from tuneproof.explain.diagnosis.causes.failed_upstreams import (
    MANY_PORTS,
    kept_connection_closed,
    no_live_upstream,
    no_port,
    reload,
)
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import Cause, CauseAssessment, CauseVerdict
from tuneproof.explain.diagnosis.symptoms import symptoms
from tuneproof.explain.parse.access_log.log_summary import LogSummary, WorkerSummary
from tuneproof.explain.parse.access_log.upstream_times import NOT_LOGGED
from tuneproof.explain.parse.capture.capture_summary import CaptureSummary
from tuneproof.explain.parse.capture.records import Endpoint, Side
from tuneproof.explain.parse.capture.services import ServiceSummary
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot
from tuneproof.explain.parse.error_log import ErrorLog, Event, parse
from tuneproof.explain.parse.figures import distribution
from tuneproof.explain.parse.sockets.table import SocketAddress

FOUND, POSSIBLE, RARE = CauseVerdict.FOUND, CauseVerdict.POSSIBLE, CauseVerdict.RARE
RULED_OUT, NOT_SEEN = CauseVerdict.RULED_OUT, CauseVerdict.NOT_SEEN
Assess = Callable[[EvidenceSet], CauseAssessment]


def row(name: str, verdict: CauseVerdict, *parts: Any) -> tuple[str, EvidenceSet, CauseVerdict, tuple[str, ...]]:
    """Return one case: pieces of evidence, and their effect, such as "against 1: short of CPU"."""
    said = tuple(part for part in parts if isinstance(part, str))
    return name, seen(*(part for part in parts if not isinstance(part, str))), verdict, said


def said_so(event: Event, number: int, *upstreams: str) -> ErrorLog:
    """Return an error log that repeats one message this often, for each upstream."""
    at = datetime(2026, 11, 22, tzinfo=UTC)
    return ErrorLog(
        messages=number,
        levels={"error": number},
        events={event: number},
        upstreams={event: dict.fromkeys(upstreams, number)},
        workers_left=(),
        first=at,
        last=at,
    )


def check(assess: Assess, given: EvidenceSet, verdict: CauseVerdict, said: tuple[str, ...]) -> None:
    """Compare an assessment with a row: its verdict, and words of its numbered reasons, followed by their files."""
    found = assess(given)
    assert found.verdict is verdict
    told = [
        *(f"for {at}: {each.text} [{each.file}]" for at, each in enumerate(found.for_, start=1)),
        *(f"against {at}: {each.text} [{each.file}]" for at, each in enumerate(found.against, start=1)),
        *(f"decides {at}: {each}" for at, each in enumerate(found.would_decide, start=1)),
    ]
    for each in said:
        place, _, words = each.partition(": ")
        assert any(line.startswith(f"{place}: ") and words in line for line in told), told


AT_THE_CLIENT: Final[dict[str, Any]] = {"syn_to_synack_s": spread(0.0005), "synack_to_ack_s": spread(0.00001)}
AT_THE_SERVER: Final[dict[str, Any]] = {"synack_to_ack_s": spread(0.02)}
SYNS_AGAIN_AT_CLIENT: Final = service(**repeated_syns(), **AT_THE_CLIENT)
# They arrived, so no path lost them; counters show which queue dropped them.
SYNS_AGAIN_AT_SERVER: Final = service(**repeated_syns(), **AT_THE_SERVER)
# A server without room drops the last ACK of the handshake with the request after it, and sends its SYN/ACK again.
UNHEARD: Final = capture(
    service(
        **lossy(
            from_client=Side(packets=500, data_segments=240, retransmitted_segments=40),
            from_server=Side(packets=500, data_segments=300),
        ),
        **repeated_syns(synack_retransmitted_flows=40),
    )
)


MANY_HALF_OPEN: Final = service(half_open=100, handshakes={"complete": 100, "half-open": 100})


LOST: Final = grown(RetransSegs=397, TCPSynRetrans=100, TCPSackRecovery=50)
ALONE: Final = table(listening())
SENT_AGAIN: Final = established(retransmits=(0, 12))
RSYNC: Final = replace(established(port=50_000, retransmits=(0, 300)), peer=SocketAddress(host="10.0.0.7", port=873))


def again(server: int, *, segments: int = 1000, acks: int = 0) -> ServiceSummary:
    """Return a service whose server sent this many of its segments again."""
    return service(
        from_client=Side(data_segments=segments, duplicate_acks=acks),
        from_server=Side(data_segments=segments, retransmitted_segments=server),
    )


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


LATE: Final = spread(0.001, 0.3)
LATE_LOG: Final = log(connect_time_s=LATE)
HOLDS: Final = legs(request_s=spread(0.1))
WAITS: Final = "nginx waits for a CPU"


LEFT: Final = {"client_closed_499": 40, "status_counts": {200: 160, 499: 40}}


FAILED: Final = log(status_counts={200: 100, 502: 100}, connect_time_s=None)
SCANNED: Final = service(Endpoint(address="10.0.0.2", port=23), flows=2, refused=2, handshakes={"refused": 2})
REFUSED_RUN: Final = load_run(errors={"connect": 1}, notes=("apr_socket_connect(): Connection refused (111)",))


CLOSED: Final = service(
    zero_window_flows=2, from_client=Side(zero_windows=30, zero_window_episodes=2, zero_window_s=7.5)
)
LIMITED: Final[dict[str, Any]] = {"rwnd_limited_ms": 5000.0, "busy_ms": 6000.0}


# A SYN without an answer was dropped by a queue or lost, and a client cannot distinguish the two.
ALIKE: Final = [
    row(
        "SYNs again at the client",
        POSSIBLE,
        "for 1: 40 of 200 connections to 10.0.0.2:8000 retransmitted their SYN after 1.0 s",
        "decides 1: ",
        SYNS_AGAIN_AT_CLIENT,
    ),
    row("connects of 300 ms", NOT_SEEN, log(connect_time_s=spread(0.001, 0.3))),
    row("connects of 1 s", POSSIBLE, log(connect_time_s=spread(0.001, 1.02))),
]
ANSWERED_502: Final = log(status_counts={200: 150, 502: 50})
LEFT_A_WORKER: Final = parse(["2026/11/22 14:50:07 [notice] 29#29: gracefully shutting down"])
SECOND: Final = int(datetime(2026, 11, 22, 14, 50, 8, tzinfo=UTC).timestamp())


def accepting(connections: int, **counted: int) -> tuple[CounterSnapshot, ...]:
    """Return two readings, between which a host accepted so many connections."""
    after = {f"TcpExt.{name}": number for name, number in counted.items()}
    return readings({"Tcp.PassiveOpens": 0}, {"Tcp.PassiveOpens": connections, **after})


def hung_up(reused: int, new: int = 0) -> dict[str, Any]:
    """Return the fields of a service that closed connections during a request."""
    return {"hung_up_flows": reused + new, "hung_up_reused_flows": reused}


def closed_at(second: int) -> CaptureSummary:
    return legs({**hung_up(8), "hung_up_seconds": {second: 8}})


CASES: Final[Mapping[Assess, Sequence[tuple[str, EvidenceSet, CauseVerdict, tuple[str, ...]]]]] = {
    # Only its own counter and a listener above its backlog show it; a client sees three causes in the same way.
    accept_queue_overflow.assess: [
        *ALIKE,
        row("grown", FOUND, "for 1: 976 connections", grown(ListenOverflows=976, ListenDrops=976)),
        row(
            "two files with a reading each",
            FOUND,
            "for 1: [counters 1, counters 2]",
            *((each,) for each in readings({}, {"TcpExt.ListenOverflows": 12})),
        ),
        row("one reading", POSSIBLE, "decides 1: nstat", readings({"TcpExt.ListenOverflows": 12})),
        row("increments", FOUND, readings({"TcpExt.ListenOverflows": 12}, relative=True)),
        # Three are more than a single event, and one connection in a hundred explains a complaint.
        row("two connections", RARE, grown(ListenOverflows=2, ListenDrops=2)),
        row("12 of 10000", RARE, accepting(10_000, ListenOverflows=12)),
        row("300 of 10000", FOUND, accepting(10_000, ListenOverflows=300)),
        row("above its backlog", FOUND, table(listening(queued=129, backlog=128), listening(backlog=128))),
        row("at its backlog", NOT_SEEN, table(listening(queued=128, backlog=128), listening(backlog=128))),
        # Some kernels do not report it.
        row("no backlog", NOT_SEEN, table(listening(queued=1, backlog=0))),
        row("SYNs again at the server", POSSIBLE, SYNS_AGAIN_AT_SERVER),
        row("in nginx's namespace", POSSIBLE, legs(repeated_syns())),
        # Counters of another namespace do not rule it out, nor do nginx's rule out a backend's.
        row("front", POSSIBLE, "against 2: namespace", legs(repeated_syns()), grown()),
        row("back", POSSIBLE, legs(back=repeated_syns()), grown()),
        row("backend's timer", POSSIBLE, grown(), log(connect_time_s=spread(0.001, 1.02))),
        row("no overflows beside SYNs again", RULED_OUT, SYNS_AGAIN_AT_CLIENT, grown()),
        row(
            "loss hits data and SYNs alike",
            NOT_SEEN,
            "against 1: data was lost as well",
            service(**lossy(), **repeated_syns()),
        ),
        row("SYN/ACKs again", POSSIBLE, "for 2: SYN/ACK again in 40 of 200", UNHEARD),
        row("two SYNs again", NOT_SEEN, service(**repeated_syns(2))),
        # No timer is that short.
        row("every packet twice", NOT_SEEN, service(**repeated_syns(200, syn_retransmission_delay_s=spread(0.00001)))),
        # As in a recorded stall: 72 ms for a tenth, and 1.04 s for one in a hundred.
        row(
            "a second in a stall", NOT_SEEN, log(connect_time_s=distribution([0.0] * 170 + [0.072] * 20 + [1.04] * 10))
        ),
        row("handshakes at once", RULED_OUT, "against 1: 200 handshakes", service(FRONT)),
        row("timeouts in the error log", POSSIBLE, said_so(Event.CONNECT_TIMED_OUT, 3)),
        row("few timeouts", NOT_SEEN, said_so(Event.CONNECT_TIMED_OUT, 2)),
    ],
    syn_queue_drop.assess: [
        *ALIKE,
        row("two SYNs", RARE, grown(TCPReqQFullDrop=2)),
        row("12 SYNs beside 10000 connections", RARE, accepting(10_000, TCPReqQFullDrop=12)),
        row("full queue", FOUND, "for 1: 703 SYNs", grown(TCPReqQFullDrop=703, ListenDrops=703)),
        row(
            "cookies had to do",
            FOUND,
            "for 1: dropped 20 SYNs",
            grown(ListenDrops=30, ListenOverflows=10, SyncookiesSent=5),
        ),
        row(
            "drops alone may be memory",
            POSSIBLE,
            "for 1: without memory",
            "decides 4: page allocation failure",
            grown(ListenDrops=703),
        ),
        row(
            "cookies did", POSSIBLE, "against 1: no SYN was dropped", grown(TCPReqQFullDoCookies=50, SyncookiesSent=50)
        ),
        row("overflows alone", RULED_OUT, grown(ListenDrops=10, ListenOverflows=10)),
        row("half-open", POSSIBLE, MANY_HALF_OPEN),
        # Without any other segment, the capture's filter left them out; a server sends its SYN/ACK again.
        row("half-open by a filter", NOT_SEEN, service(half_open=100, handshakes={"half-open": 100})),
        row(
            "half-open alone",
            POSSIBLE,
            service(half_open=100, handshakes={"half-open": 100}, synack_retransmitted_flows=50),
        ),
        row("half-open without a drop", RULED_OUT, MANY_HALF_OPEN, grown()),
        row("few half-open", NOT_SEEN, service(half_open=19, handshakes={"complete": 10})),
        row("sockets at the backlog", POSSIBLE, table(listening(backlog=128), *half_open(128))),
        row("sockets below the backlog", NOT_SEEN, table(listening(backlog=128), *half_open(127))),
        row("each socket has its own backlog", POSSIBLE, table(*[listening(backlog=128)] * 2, *half_open(128))),
        row(
            "a locked socket", POSSIBLE, "for 2: 7 packets met a locked socket", grown(TCPBacklogDrop=7, ListenDrops=7)
        ),
        row(
            "SYN/ACK again",
            POSSIBLE,
            "against 1: sent its SYN/ACK again in 5",
            service(**repeated_syns(synack_retransmitted_flows=5)),
        ),
        row(
            "drops beside a flood",
            FOUND,
            "for 1: 20 connections were half-open",
            grown(ListenDrops=303),
            table(listening(backlog=4096), *half_open(20)),
        ),
        row("drops beside nineteen", POSSIBLE, grown(ListenDrops=303), table(listening(backlog=4096), *half_open(19))),
        row("drops beside a captured flood", FOUND, grown(ListenDrops=303), MANY_HALF_OPEN),
        row(
            "no answer",
            POSSIBLE,
            "for 1: 20 of 200 connections",
            service(unanswered=20, handshakes={"unanswered": 20}),
        ),
        # A capture of nothing but SYNs has a filter; clients without an answer send theirs again.
        row("a filter on SYNs", NOT_SEEN, service(unanswered=200, handshakes={"unanswered": 200})),
        row("all without an answer", POSSIBLE, service(unanswered=200, syn_retransmitted_flows=150)),
        row("504 without a connect time", POSSIBLE, "for 1: 3 connections to upstreams timed", log(connect_timeouts=3)),
        row("few 504s", NOT_SEEN, log(connect_timeouts=2)),
        row("few without an answer", NOT_SEEN, service(unanswered=19, handshakes={"unanswered": 19})),
        row("SYNs again at the server", POSSIBLE, SYNS_AGAIN_AT_SERVER),
        row("timer", POSSIBLE, grown(), log(connect_time_s=spread(0.001, 1.02))),
        row("timeouts in the error log", POSSIBLE, said_so(Event.CONNECT_TIMED_OUT, 3)),
        row("few timeouts", NOT_SEEN, said_so(Event.CONNECT_TIMED_OUT, 2)),
    ],
    # Data that is sent again to receivers with gaps; a host's counters show it if the host serves nothing else.
    path_loss.assess: [
        *ALIKE,
        # One in a hundred, by its lower limit, explains it; less slows long transfers.
        *(
            row(f"{share:.2%} sent again", verdict, service(**lossy(share)))
            for share, verdict in (
                (0.014, FOUND),
                (0.01, POSSIBLE),
                (0.005, POSSIBLE),
                (0.004, NOT_SEEN),
                (0.0005, RULED_OUT),
            )
        ),
        row("SYNs as well", FOUND, "for 2: retransmitted their SYN", service(**lossy(), **repeated_syns())),
        row(
            "no hole",
            POSSIBLE,
            "for 1: reported few gaps (0)",
            service(**lossy(from_client=Side(packets=4000, data_segments=200))),
        ),
        row("an echo for four segments", FOUND, again(40, acks=10)),
        row("fewer echoes", POSSIBLE, again(40, acks=9)),
        row("none of 1000", RULED_OUT, again(0, segments=500)),
        row("none of 998", NOT_SEEN, again(0, segments=499)),
        row("none of 999", NOT_SEEN, service(from_client=Side(data_segments=999), from_server=Side())),
        row("below 0.1 %", RULED_OUT, again(1, segments=501)),
        row("above 0.1 %", NOT_SEEN, again(2, segments=999)),
        # A reader that does not read loses nothing.
        row(
            "probes of a closed window",
            RULED_OUT,
            service(**lossy(from_client=Side(packets=4000, data_segments=200, duplicate_acks=400, zero_windows=124))),
        ),
        row(
            "every packet twice",
            NOT_SEEN,
            "against 1: twice in the capture",
            service(
                from_server=Side(packets=8000, data_segments=6000, retransmitted_segments=3000, suspected_copies=2990)
            ),
        ),
        row(
            "nothing else is served",
            FOUND,
            "for 1: 300 segments of 20000 were retransmitted, without SYNs (1.5 %",
            LOST,
            table(listening(), SENT_AGAIN),
        ),
        # Data that this host sends to others is not served by anything here.
        row("no socket shows it", POSSIBLE, "against 1: ss -tanmi would show whose", LOST, ALONE),
        row(
            "rsync to another host",
            POSSIBLE,
            "against 1: 300 of 312 by its sockets were sent on connections that are not nginx's",
            LOST,
            table(listening(), SENT_AGAIN, RSYNC),
        ),
        row(
            "to an upstream",
            FOUND,
            LOST,
            table(listening(), RSYNC),
            log(server_connects=(connects(11, spread(0.001), "10.0.0.7:873"),)),
        ),
        row("what is served is not known", POSSIBLE, "against 1: ss -ltn would show whether it serves", LOST),
        row(
            "a database",
            POSSIBLE,
            "against 1: ports 5432 and 8000 are served",
            LOST,
            table(listening(), listening(5432)),
        ),
        row("a capture without loss", POSSIBLE, "against 2: no captured data of this", LOST, ALONE, service()),
        # In every container, on a loopback address.
        row(
            "an engine's resolver",
            FOUND,
            LOST,
            table(
                listening(), replace(listening(40_841), local=SocketAddress(host="127.0.0.11", port=40_841)), SENT_AGAIN
            ),
        ),
        row("SYNs alone", RULED_OUT, grown(RetransSegs=400, TCPSynRetrans=400)),
        # RFC 2883.
        row(
            "arrived the first time",
            POSSIBLE,
            "against 1: late, not lost",
            grown(RetransSegs=300, TCPSackRecovery=9, TCPDSACKRecv=200),
        ),
        row("no reported hole", POSSIBLE, grown(RetransSegs=300)),
        row(
            "a CPU's backlog, twice",
            FOUND,
            "for 1: This host itself dropped 500 packets",
            "for 1: [softnet 1]",
            softnet(5, 505),
        ),
        row("a CPU's backlog, once", POSSIBLE, softnet(500)),
        row("ten of millions", RARE, softnet(5, 15)),
        row("a bad moment", NOT_SEEN, softnet(0, 9)),
        row("long ago", NOT_SEEN, softnet(500), softnet(500)),
        row("backwards", NOT_SEEN, softnet(905), softnet(900)),
        row("SYNs again at the server", RULED_OUT, "against 2: they had arrived at the server", SYNS_AGAIN_AT_SERVER),
        row("requests to a server without room", POSSIBLE, UNHEARD),
    ],
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
    # The time that nginx holds requests, and connects that are late only in its log, are its own; unless it has no CPU.
    event_loop_stall.assess: [
        row(
            "a request is held",
            FOUND,
            "for 1: holds a request for 33 ms (median), 400 ms (p90) and 400 ms (p99)",
            legs(request_s=spread(0.033, 0.4)),
        ),
        row("a response is held", FOUND, legs(request_s=spread(0.001, 0.06), response_held_s=spread(0.001, 0.2))),
        # limit_req and auth_request do that; a small first part of a response waits for more.
        row(
            "only requests are held",
            POSSIBLE,
            "against 1: A stall delays whatever a worker waits for, and nothing else is late.",
            "decides 1: tuneproof watch",
            legs(request_s=spread(0.1), response_held_s=spread(0.001)),
        ),
        row("only responses are held", POSSIBLE, legs(response_held_s=spread(0.001, 0.2))),
        # They arrived while the machine paused for 110 ms.
        row(
            "a burst of responses is held once",
            POSSIBLE,
            "against 1: It was held 1 time: one pause of the machine does that.",
            legs(response_held_s=spread(0.018, 0.11), backend_s=spread(0.02), moments=1),
        ),
        # The kernel has finished the handshake, and nginx does not look: this is the log's long uct.
        row(
            "a connection stands unused",
            FOUND,
            "for 1: a request with an open backend connection for 1 ms (median), 300 ms (p90)",
            legs(connected_held_s=spread(0.001, 0.3)),
        ),
        # As in the article.
        row("one in fifty 500 ms", FOUND, legs(request_s=spread(0.001, 0.5, slow_share=0.02))),
        row("one in fifty 90 ms", NOT_SEEN, legs(request_s=spread(0.001, 0.09, slow_share=0.02))),
        row("21 ms each", FOUND, legs(request_s=spread(0.021))),
        row("19 ms each", RULED_OUT, legs(request_s=spread(0.019))),
        row("a scheduler's gaps", RULED_OUT, "against 1: within 30 ms (p99)", legs(request_s=spread(0.001, 0.03))),
        row("19 requests", NOT_SEEN, legs(request_s=spread(0.4), matched=19)),
        row("20 requests", FOUND, legs(request_s=spread(0.4), matched=20)),
        row("no CPU by schedstat", POSSIBLE, f"against 1: {WAITS} 50 %", scheduled((1.0, 0.0), (2.0, 1.0)), HOLDS),
        row("no CPU by pidstat", POSSIBLE, f"against 1: {WAITS} 50 %", pidstat("%wait", 40.0, 60.0), HOLDS),
        row("with its CPU", FOUND, f"for 3: {WAITS} only 2 %", scheduled((98.0, 2.0)), HOLDS),
        # No distance, outage, TLS or client makes it continue with everything that waited while others worked.
        row(
            "a worker stalled",
            FOUND,
            "for 1: Worker 12 was stalled for up to 300 ms: 20 times several of its requests continued within",
            "for 1: among them late connections to 10.0.1.3:9000",
            log(standstills=(stood_still(),)),
        ),
        row("still, and nginx is prompt on the wire", RULED_OUT, log(standstills=(stood_still(),)), legs()),
        row(
            "still, without a CPU",
            POSSIBLE,
            f"against 1: {WAITS} 50 %",
            log(standstills=(stood_still(),)),
            scheduled((1.0, 0.0), (2.0, 1.0)),
        ),
        row("three of three", FOUND, log(standstills=(stood_still(alone=3, moments=3),))),
        row("two of two", NOT_SEEN, log(standstills=(stood_still(alone=2, moments=2),))),
        # By chance in one of fifty.
        row("20 of 300", FOUND, log(standstills=(stood_still(moments=300),))),
        row("20 of 900", NOT_SEEN, log(standstills=(stood_still(moments=900),))),
        row("it delayed few", RARE, log(standstills=(stood_still(delayed=4),))),
        # The backend's kernel answers all workers alike, but perhaps not at another moment.
        row(
            "one worker connects late",
            POSSIBLE,
            "for 1: Worker 12 takes 300 ms (p90) to connect to 10.0.1.3:9000, worker 11 1 ms",
            log(server_connects=(connects(11, spread(0.001)), connects(12, LATE))),
        ),
        row(
            "to servers that the log does not name",
            POSSIBLE,
            "for 1: its upstream servers, which the log does not name",
            log(server_connects=(connects(11, spread(0.001), NOT_LOGGED), connects(12, LATE, NOT_LOGGED))),
        ),
        row(
            "to another server",
            NOT_SEEN,
            log(server_connects=(connects(11, spread(0.001), "near"), connects(12, spread(0.08), "far"))),
        ),
        row(
            "a far server beside a near one",
            NOT_SEEN,
            log(
                connect_time_s=spread(0.001, 0.08),
                server_connects=(connects(11, spread(0.001), "near"), connects(11, spread(0.08), "far")),
            ),
        ),
        row(
            "one worker connects late, and nginx is prompt on the wire",
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
        row(
            "all workers connect late",
            POSSIBLE,
            "decides 1: tcpdump",
            "decides 2: $pid $connection",
            log(connect_time_s=LATE, workers=(worker(11, LATE), worker(12, LATE))),
        ),
        # The log's times are wrong: the kernel answered at once, and nginx looked late.
        row(
            "fast on the wire",
            FOUND,
            "for 1: 300 ms (p90), but on the wire the backend answers within 20 ms (p90)",
            "for 1: [access_logs 1, captures 1]",
            LATE_LOG,
            legs(matched=0),
        ),
        # The log's time includes a TLS handshake with a busy backend.
        row(
            "fast on the wire but for TLS",
            POSSIBLE,
            LATE_LOG,
            legs(back={"tls_flows": 200}, matched=0),
        ),
        row(
            "late on the wire",
            POSSIBLE,
            LATE_LOG,
            legs(back=repeated_syns(handshake_s=spread(0.0001, 1.0)), matched=0),
        ),
        *(
            row(name, NOT_SEEN, log(connect_time_s=times))
            for name, times in (
                ("connects of 40 ms", spread(0.0, 0.04)),
                ("a SYN timer", spread(0.0, 1.02)),
                ("a far backend", spread(0.1, 0.12)),
                ("few connects", spread(0.0, 0.3, count=15)),
            )
        ),
        # The worker finds the request and the client's FIN in one iteration.
        row("three 499s without time", POSSIBLE, log(closed_499_without_time=3)),
        row("three of a thousand", NOT_SEEN, log(requests=1000, closed_499_without_time=3)),
        row("two 499s without time", NOT_SEEN, log(closed_499_without_time=2)),
        row("499s of unknown time", NOT_SEEN, log(closed_499_without_time=None)),
        # Clients answer with RST; without it they had only closed their half.
        row(
            "data after a FIN",
            POSSIBLE,
            service(data_after_peer_fin_flows=5, from_client=Side(packets=400, data_segments=200, resets=5)),
        ),
        row("a half-closed connection", NOT_SEEN, service(data_after_peer_fin_flows=5, from_client=Side(packets=400))),
        row(
            "nginx closes its window",
            POSSIBLE,
            "for 1: nginx closed its own receive window to 10.0.1.3:9000 2 times",
            legs(back={"from_client": Side(zero_windows=9, zero_window_episodes=2)}, matched=0),
        ),
        row("slow answers", POSSIBLE, service(FRONT, response_s=spread(0.2))),
        row("fast answers", NOT_SEEN, service(BACK)),
        # A tenth of the requests was held for 70 ms, and all of them waited for the backend for 200 ms.
        row("a burst before a slow backend", POSSIBLE, legs(request_s=spread(0.0007, 0.07), backend_s=spread(0.2))),
        row("a burst before a fast backend", FOUND, legs(request_s=spread(0.0007, 0.07), backend_s=spread(0.02))),
    ],
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
    # A RST in answer to a SYN, and messages about it, are proof; a count of failures is not.
    refused.assess: [
        row(
            "RST",
            FOUND,
            "for 1: 50 of 200 connections to 10.0.1.3:9000",
            "for 1: [captures 1]",
            service(BACK, refused=50, handshakes={"complete": 150, "refused": 50}),
        ),
        row("1 of 5000", RARE, "for 1: 1 of 5000 connections to ", service(refused=1, flows=5000)),
        # Strangers try other ports of every machine.
        row("a scanned port beside a service", RARE, capture(service(flows=10), SCANNED)),
        row("a port alone", FOUND, SCANNED),
        # By the exact lower limit.
        row("20 of 1000", FOUND, service(BACK, flows=1000, refused=20)),
        row("10 of 1000", RARE, service(BACK, flows=1000, refused=10)),
        row("20 handshakes", RULED_OUT, service(handshakes={"complete": 20})),
        row("19 handshakes", NOT_SEEN, service(handshakes={"complete": 19})),
        row("a tool says so", FOUND, REFUSED_RUN),
        row("a tool's count", POSSIBLE, load_run(errors={"connect": 1})),
        row("a tool's clean run", NOT_SEEN, load_run()),
        row(
            "502 at once",
            POSSIBLE,
            "decides 2: error.log",
            log(status_counts={200: 100, 502: 100}, connect_time_s=spread(0.0)),
        ),
        row("502 of unknown time", NOT_SEEN, log(status_counts={502: 3}, connect_time_s=None)),
        row(
            "502 within a moment",
            POSSIBLE,
            "for 1: 3 of 200 requests were answered 502, within 1 ms (p90): the failures were immediate",
            log(status_counts={502: 3}, connect_time_s=None, bad_gateway_s=spread(0.001)),
        ),
        row("502 after a while", NOT_SEEN, log(status_counts={502: 100}, bad_gateway_s=spread(0.2))),
        row("502 after long connects", NOT_SEEN, log(status_counts={502: 100}, connect_time_s=LATE)),
        # A backend that accepts and closes fails no connection attempt; and with no live upstream there is no attempt.
        row(
            "502 and as many failed attempts",
            FOUND,
            "for 1: and 100 attempts to connect failed (AttemptFails)",
            "for 1: [access_logs 1, counters 1]",
            FAILED,
            grown(AttemptFails=100),
        ),
        row("502 and fewer attempts", POSSIBLE, FAILED, grown(AttemptFails=99)),
        # The whole machine's: including a monitor's.
        row("502 and many more attempts", POSSIBLE, FAILED, grown(AttemptFails=126)),
        row("502 and a few more attempts", FOUND, FAILED, grown(AttemptFails=125)),
        row("attempts alone", NOT_SEEN, grown(AttemptFails=9)),
        row(
            "attempts beside a sign",
            POSSIBLE,
            "for 1: [load_runs 1]",
            "for 2: [counters 1]",
            grown(AttemptFails=9),
            load_run(errors={"connect": 1}),
        ),
        row(
            "the error log names it",
            FOUND,
            "for 1: Error log: 5 connections that upstreams refused, of 10.0.0.5:8080.",
            said_so(Event.REFUSED, 5, "10.0.0.5:8080"),
        ),
        row("four in the error log", RARE, said_so(Event.REFUSED, 4)),
        *(
            row(f"5 of {number}", verdict, said_so(Event.REFUSED, 5), log(requests=number))
            for number, verdict in ((100, FOUND), (100_000, RARE), (3, FOUND))
        ),
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
    no_port: [
        row(
            "nginx says so",
            FOUND,
            "for 1: 20 connections to upstreams without a free local port, of 10.0.1.3:9000",
            said_so(Event.NO_PORT, 20, "10.0.1.3:9000"),
            ANSWERED_502,
        ),
        row("once in thousands", RARE, said_so(Event.NO_PORT, 20), replace(ANSWERED_502, requests=100_000)),
        row("no 502", RULED_OUT, log()),
        row("nothing", NOT_SEEN),
        # To one address; the port range may be another one.
        row("as many sockets as ports", POSSIBLE, table(*[established()] * MANY_PORTS)),
        row("fewer sockets", NOT_SEEN, table(*[established()] * (MANY_PORTS - 1))),
    ],
    no_live_upstream: [
        row("nginx says so", FOUND, "for 1: 20 requests for which no live", said_so(Event.NONE_LEFT, 20), ANSWERED_502),
        row("once in thousands", RARE, said_so(Event.NONE_LEFT, 20), replace(ANSWERED_502, requests=100_000)),
        row("no 502", RULED_OUT, log()),
        row("nothing", NOT_SEEN),
    ],
    # A backend that closes new connections as often fails for another reason; the error log does not distinguish them.
    kept_connection_closed: [
        row("kept", FOUND, legs(back=hung_up(20))),
        row("kept and new", POSSIBLE, legs(back=hung_up(20, new=20))),
        row("once", RARE, legs(back=hung_up(1))),
        row("new", NOT_SEEN, legs(back=hung_up(0, new=20))),
        row("none", RULED_OUT, legs()),
        row("in the error log", POSSIBLE, "decides 1: tcpdump", said_so(Event.HUNG_UP, 20), ANSWERED_502),
        row("captured outside", POSSIBLE, service(BACK, **hung_up(20))),
    ],
    reload: [
        row("as a worker left", FOUND, closed_at(SECOND), LEFT_A_WORKER),
        row("in India", FOUND, closed_at(SECOND - 5 * 3600 - 30 * 60), LEFT_A_WORKER),
        row("a minute later", POSSIBLE, closed_at(SECOND + 60), LEFT_A_WORKER),
        row("without a log", POSSIBLE, closed_at(SECOND)),
        # Workers exit every day.
        row("closed nothing", RULED_OUT, legs(), LEFT_A_WORKER),
    ],
}


@pytest.mark.parametrize(
    ("assess", "given", "verdict", "said"),
    [
        pytest.param(assess, *case[1:], id=f"{assess.__module__.rpartition('.')[2]}.{assess.__name__}: {case[0]}")
        for assess, cases in CASES.items()
        for case in cases
    ],
)
def test_each_cause_judges_evidence_as_expected(
    assess: Assess, given: EvidenceSet, verdict: CauseVerdict, said: tuple[str, ...]
) -> None:
    check(assess, given, verdict, said)
    # The share that a cause affected determines its place among others; 0 if it is unknown.
    reasons = assess(given).for_
    assert [reason for reason in reasons if not 0 <= reason.touched <= 1] == []


def test_losses_of_other_services_in_a_capture_are_not_nginxs() -> None:
    database = service(Endpoint(address="10.0.0.2", port=5432), requests=0, **lossy(0.05))
    given = replace(seen(LOST, ALONE), other_services=(database,))
    check(path_loss.assess, given, NOT_SEEN, ("against 1: the captures have 310 of other services",))


def test_other_findings_speak_against_clients_that_leave() -> None:
    given = seen(log(**LEFT), grown(ListenOverflows=50, ListenDrops=50))
    found = client_gone.assess(given, [accept_queue_overflow.assess(given)])
    assert found.verdict is POSSIBLE
    assert found.against[0].text.endswith("accept-queue overflow was found.")
    assert found.against[0].file == "counters 1"


def test_a_single_error_log_line_is_not_a_problem() -> None:
    """Nor does its silence show health: more may have been below its level."""
    given = seen(said_so(Event.TO_FILE, 1))
    assert not list(symptoms(given))
    assert all(one.verdict is NOT_SEEN for one in diagnose(given).assessments)


def test_servers_that_are_left_out_are_a_consequence_of_their_failures() -> None:
    """And no live upstream is a consequence of both."""
    both = replace(said_so(Event.NO_PORT, 20), events={Event.NO_PORT: 20, Event.NONE_LEFT: 20})
    diagnosis = diagnose(seen(both, ANSWERED_502))
    assert [each.cause for each in diagnosis.found] == [Cause.NO_PORT, Cause.NO_LIVE_UPSTREAM]
    assert [(each.cause, each.of) for each in diagnosis.consequences] == [(Cause.NO_LIVE_UPSTREAM, Cause.NO_PORT)]


def test_workers_that_exited_and_closed_nothing_are_healthy() -> None:
    assert diagnose(seen(LEFT_A_WORKER, legs())).healthy
