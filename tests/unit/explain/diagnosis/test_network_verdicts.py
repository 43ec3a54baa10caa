"""Verdicts about path loss, and about a listener's two queues: the accept queue and the SYN queue."""

from dataclasses import replace
from typing import Any, Final

import pytest

from tests.support.canned_evidence import (
    FRONT,
    connects,
    established,
    grown,
    half_open,
    legs,
    listening,
    log,
    lossy,
    readings,
    repeated_syns,
    seen,
    service,
    softnet,
    spread,
    table,
)
from tests.support.verdict_rows import (
    ALIKE,
    ALONE,
    FOUND,
    NOT_SEEN,
    POSSIBLE,
    RARE,
    RULED_OUT,
    SYNS_AGAIN_AT_CLIENT,
    SYNS_AGAIN_AT_SERVER,
    UNHEARD,
    Assess,
    Rows,
    check,
    error_log_with,
    row,
    rows_of,
)
from tuneproof.explain.diagnosis.causes import accept_queue_overflow, path_loss, syn_queue_drop
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.parse.capture.records import Endpoint, Side
from tuneproof.explain.parse.capture.services import ServiceSummary
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot
from tuneproof.explain.parse.error_log import Event
from tuneproof.explain.parse.figures import distribution
from tuneproof.explain.parse.sockets.table import SocketAddress

LOST: Final = grown(RetransSegs=397, TCPSynRetrans=100, TCPSackRecovery=50)
SYNS_UNKNOWN: Final = tuple(
    replace(each, counters={name: value for name, value in each.counters.items() if name != "TcpExt.TCPSynRetrans"})
    for each in grown(RetransSegs=300, TCPSackRecovery=9)
)
SENT_AGAIN: Final = established(retransmits=(0, 12))
RSYNC: Final = replace(established(port=50_000, retransmits=(0, 300)), peer=SocketAddress(host="10.0.0.7", port=873))


def again(server: int, client: int = 0, *, segments: int = 1000, acks: int = 0, **values: Any) -> ServiceSummary:
    return service(
        from_client=Side(data_segments=segments, retransmitted_segments=client, duplicate_acks=acks),
        from_server=Side(data_segments=segments, retransmitted_segments=server),
        **values,
    )


def resent(segments: int = 100, *, again: int = 10, **values: int) -> dict[str, Any]:
    return {
        "from_client": Side(data_segments=100, duplicate_acks=400),
        "from_server": Side(data_segments=segments, retransmitted_segments=again, **values),
    }


def captured_at(behind_s: float, before_s: float) -> dict[str, Any]:
    """Return how long the server behind the capture and the client in front of it take to answer in a handshake."""
    return {"syn_to_synack_s": spread(behind_s), "synack_to_ack_s": spread(before_s)}


FAR_APART: Final = tuple(
    CounterSnapshot(
        source="softnet", counters={f"cpu0.{kind}": number for kind in ("processed", "dropped", "squeezed")}
    )
    for number in (10_000, 200_000)
)
MANY_HALF_OPEN: Final = service(half_open=100, handshakes={"complete": 100, "half-open": 100})


def accepting(connections: int, **counted: int) -> tuple[CounterSnapshot, ...]:
    after = {f"TcpExt.{name}": number for name, number in counted.items()}
    return readings({"Tcp.PassiveOpens": 0}, {"Tcp.PassiveOpens": connections, **after})


OVERFLOWS: Final = "TcpExt.ListenOverflows"
OPENED: Final = "Tcp.PassiveOpens"
RESENT: Final = established(retransmits=(0, 4), data_segments=100)
ELSEWHERE: Final = SocketAddress(host="10.0.0.2", port=40_001)
FIVE, NINE = readings({OVERFLOWS: 5}, {OVERFLOWS: 9})
# The counters restarted between the second and the third reading: only that increment is unknown.
RESTARTED: Final = readings(
    *({OVERFLOWS: number, "Tcp.OutSegs": segments} for number, segments in ((5, 50), (8, 60), (1, 10), (2, 20)))
)

CASES: Final[Rows] = {
    # Retransmissions and reported gaps show loss; a host's counters do so only if it has no other service.
    path_loss.assess: [
        *ALIKE,
        # ss shows how often each connection retransmitted, but not when: this alone does not prove loss.
        row(
            "sockets that retransmitted",
            POSSIBLE,
            "for 1: 40 of 2000 data segments were retransmitted (2 %), in 10 of 20 open connections (ss).",
            table(listening(), *[RESENT] * 10, *[replace(RESENT, retransmits=(0, 0))] * 10),
        ),
        row("two sockets that retransmitted", NOT_SEEN, table(*[replace(RESENT, retransmits=(0, 10))] * 2)),
        row("other sockets that retransmitted", NOT_SEEN, table(listening(), *[replace(RESENT, local=ELSEWHERE)] * 20)),
        # Loss explains a complaint if its lower confidence limit is at least 1 %; less loss slows only long transfers.
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
            "no gap",
            POSSIBLE,
            "for 1: reported few gaps (0)",
            service(**lossy(from_client=Side(packets=4000, data_segments=200))),
        ),
        row("one duplicate ACK per four resent segments", FOUND, again(40, acks=10)),
        row("fewer duplicate ACKs", POSSIBLE, again(40, acks=9)),
        row("ten segments", FOUND, again(10, segments=100, acks=100)),
        row("nine segments", NOT_SEEN, again(9, segments=100, acks=100)),
        # Three retransmitted SYN/ACKs show a full accept queue, unless the server also retransmits ten data segments.
        *(
            row(
                f"{server} segments, {synacks} SYN/ACKs",
                verdict,
                again(server, 40, acks=100, synack_retransmitted_flows=synacks),
            )
            for server, synacks, verdict in ((9, 3, NOT_SEEN), (9, 2, FOUND), (10, 3, FOUND))
        ),
        # Segments that arrive twice were not lost before the capture. An end is next to the capture if it answers
        # in at most a fifth of the other end's time.
        *(
            row(
                f"resent after {behind_s} s",
                verdict,
                service(**resent(3000, again=300, resent_arrived_segments=298), **captured_at(behind_s, 0.0001)),
            )
            for behind_s, verdict in ((0.0006, RULED_OUT), (0.0004, FOUND))
        ),
        *(
            row(f"SYNs again before {before_s} s", verdict, service(**repeated_syns(), **captured_at(0.0001, before_s)))
            for before_s, verdict in ((0.0006, RULED_OUT), (0.0004, POSSIBLE))
        ),
        row("one direction of handshakes", POSSIBLE, service(**repeated_syns(), synack_to_ack_s=None)),
        row("the other direction", POSSIBLE, service(**repeated_syns(), syn_to_synack_s=None)),
        # If half of the retransmissions arrive faster than any timer allows, the capture contains packets twice.
        *(
            row(f"{copies} copies", verdict, service(**resent(suspected_copies=copies)))
            for copies, verdict in ((5, NOT_SEEN), (4, FOUND))
        ),
        row("none of 1000", RULED_OUT, again(0, segments=500)),
        row("none of 998", NOT_SEEN, again(0, segments=499)),
        row("none of 999", NOT_SEEN, service(from_client=Side(data_segments=999), from_server=Side())),
        row("below 0.1 %", RULED_OUT, again(1, segments=501)),
        row("above 0.1 %", NOT_SEEN, again(2, segments=999)),
        # Probes of a closed window are not lost data.
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
            "for 1: 300 of 20000 segments were retransmitted, not counting SYNs (1.5 %",
            LOST,
            table(listening(), SENT_AGAIN),
        ),
        # This host may also send data as a client.
        row(
            "no socket shows it",
            POSSIBLE,
            "against 1: ss -tanmi would show which connections sent segments again",
            LOST,
            ALONE,
        ),
        row(
            "rsync to another host",
            POSSIBLE,
            "against 1: ss counts 312 retransmissions, 300 of them on connections other than those to listening",
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
        # In a container, Docker's resolver listens on a loopback address.
        row(
            "Docker's resolver",
            FOUND,
            LOST,
            table(
                listening(), replace(listening(40_841), local=SocketAddress(host="127.0.0.11", port=40_841)), SENT_AGAIN
            ),
        ),
        row("SYNs alone", RULED_OUT, grown(RetransSegs=400, TCPSynRetrans=400)),
        # Receivers report duplicates, which the kernel counts (RFC 2883).
        row(
            "arrived the first time",
            POSSIBLE,
            "against 1: 200 of them had arrived the first time (TCPDSACKRecv): they were late, not lost",
            grown(RetransSegs=300, TCPSackRecovery=9, TCPDSACKRecv=200),
        ),
        row("no reported gap", POSSIBLE, "touched: 0.015", grown(RetransSegs=300)),
        row("without a counter of SYNs", POSSIBLE, "for 1: possibly including SYNs", "touched: 0.0152", SYNS_UNKNOWN),
        row("ten segments by counters", POSSIBLE, grown(OutSegs=-19_000, RetransSegs=7, TCPSackRecovery=9)),
        row("below 0.5 % by counters", NOT_SEEN, grown(RetransSegs=50, TCPSackRecovery=9)),
        row(
            "0.765 % by counters",
            POSSIBLE,
            "for 1: (0.765 %, RetransSegs), enough to slow long transfers only",
            "touched: 0.00765",
            grown(RetransSegs=250, TCPSynRetrans=100, TCPSackRecovery=50),
            table(listening(), SENT_AGAIN),
        ),
        row(
            "as much on other connections",
            POSSIBLE,
            LOST,
            table(listening(), SENT_AGAIN, replace(RSYNC, retransmits=SENT_AGAIN.retransmits)),
        ),
        row(
            "a CPU's backlog, twice",
            FOUND,
            "for 1: This host itself dropped 500 packets",
            "for 1: [softnet 1]",
            softnet(5, 505),
        ),
        row("a CPU's backlog, once", POSSIBLE, softnet(500)),
        row("ten of many packets", RARE, softnet(5, 15)),
        row("nine packets dropped", NOT_SEEN, softnet(0, 9)),
        row("long ago", NOT_SEEN, softnet(500), softnet(500)),
        row("backwards", NOT_SEEN, softnet(905), softnet(900)),
        # If most counts in the second file are at least ten times as high, it may be from another host.
        row("far apart in one file", FOUND, "for 1: This host itself dropped 190000 packets", FAR_APART),
        row("far apart in two files", NOT_SEEN, *((each,) for each in FAR_APART)),
        row(
            "SYNs again at the server",
            RULED_OUT,
            "against 2: the first SYNs had arrived at the server",
            SYNS_AGAIN_AT_SERVER,
        ),
        row("requests to a server with full queues", POSSIBLE, UNHEARD),
    ],
    # Only the queue's counter or length shows this cause; in a capture, loss or a full SYN queue looks the same.
    accept_queue_overflow.assess: [
        *ALIKE,
        row("grown", FOUND, "for 1: 976 packets", grown(ListenOverflows=976, ListenDrops=976)),
        row(
            "two files with a reading each",
            FOUND,
            "for 1: [counters 1, counters 2]",
            *((each,) for each in readings({}, {OVERFLOWS: 12})),
        ),
        row("one reading", POSSIBLE, "decides 1: nstat", readings({OVERFLOWS: 12})),
        row("few since boot", RARE, readings({OVERFLOWS: 12, OPENED: 12_001})),
        row("few connections since boot", POSSIBLE, readings({OVERFLOWS: 12, OPENED: 12_000})),
        row("an incident since boot", POSSIBLE, readings({OVERFLOWS: 20, OPENED: 2_000_000})),
        # Files may be in the wrong order, and two tools may have read the counters at the same moment.
        row("backwards", POSSIBLE, "for 1: 5 packets met a full accept queue since boot", (NINE,), (FIVE,)),
        row(
            "another tool",
            POSSIBLE,
            "for 1: 9 packets met a full accept queue since boot",
            (FIVE,),
            (replace(NINE, source="nstat"),),
        ),
        row("a restart between readings", FOUND, "for 1: 4 packets met", RESTARTED),
        row("increments", FOUND, readings({OVERFLOWS: 12}, relative=True)),
        # Overflows explain a complaint only if there are at least three, and they affect 1 % of the connections.
        row("two connections", RARE, grown(ListenOverflows=2, ListenDrops=2)),
        row("12 of 10000", RARE, accepting(10_000, ListenOverflows=12)),
        row("300 of 10000", FOUND, accepting(10_000, ListenOverflows=300)),
        row("above its backlog", FOUND, table(listening(queued=129, backlog=128), listening(backlog=128))),
        row("at its backlog", NOT_SEEN, table(listening(queued=128, backlog=128), listening(backlog=128))),
        # Some kernels do not report the backlog.
        row("no backlog", NOT_SEEN, table(listening(queued=1, backlog=0))),
        row("SYNs again at the server", POSSIBLE, SYNS_AGAIN_AT_SERVER),
        row("in nginx's namespace", POSSIBLE, legs(repeated_syns())),
        # These counters may be another namespace's, and nginx's counters do not rule out an overflow at the backend.
        row("front", POSSIBLE, "against 2: namespace", legs(repeated_syns()), grown()),
        row("back", POSSIBLE, legs(back=repeated_syns()), grown()),
        row("connects after a SYN timer", POSSIBLE, grown(), log(connect_time_s=spread(0.001, 1.02))),
        row("SYNs again, but no overflows", RULED_OUT, SYNS_AGAIN_AT_CLIENT, grown()),
        row(
            "loss hits data and SYNs alike",
            NOT_SEEN,
            "against 1: data was lost as well",
            service(**lossy(), **repeated_syns()),
        ),
        row("SYN/ACKs again", POSSIBLE, "for 2: SYN/ACK again in 40 of 200", UNHEARD),
        row("three SYNs again", POSSIBLE, service(**repeated_syns(3))),
        row("two SYNs again", NOT_SEEN, service(**repeated_syns(2))),
        # No SYN timer is as short as 9 ms.
        *(
            row(f"again in {again_s} s", verdict, service(**repeated_syns(syn_retransmission_delay_s=spread(again_s))))
            for again_s, verdict in ((0.009, NOT_SEEN), (0.011, POSSIBLE))
        ),
        # SYNs are sent again after about 1, 3 and 7 s (RFC 6298), since Linux 6.5 also after 2, 4 and 5 s.
        *(
            row(f"connects of {slow_s} s", verdict, log(connect_time_s=spread(0.001, slow_s)))
            for verdict, times_s in ((POSSIBLE, (0.96, 1.14, 2.05, 3.05, 5.05, 7.1)), (NOT_SEEN, (0.94, 1.16, 1.5)))
            for slow_s in times_s
        ),
        # In a recorded stall, connects took 72 ms (p90) and 1.04 s (p99).
        row(
            "a second in a stall", NOT_SEEN, log(connect_time_s=distribution([0.0] * 170 + [0.072] * 20 + [1.04] * 10))
        ),
        row("handshakes at once", RULED_OUT, "against 1: 200 handshakes", service(FRONT)),
        row("20 handshakes", RULED_OUT, service(handshakes={"complete": 20})),
        row("19 handshakes", NOT_SEEN, service(handshakes={"complete": 19})),
        row("one SYN again", NOT_SEEN, service(syn_retransmitted_flows=1)),
        row("one unanswered SYN", NOT_SEEN, service(unanswered=1)),
        row("one SYN/ACK again", NOT_SEEN, service(synack_retransmitted_flows=1)),
        row("timeouts in the error log", POSSIBLE, error_log_with(Event.CONNECT_TIMED_OUT, 3)),
        row("few timeouts", NOT_SEEN, error_log_with(Event.CONNECT_TIMED_OUT, 2)),
    ],
    syn_queue_drop.assess: [
        *ALIKE,
        row("two SYNs", RARE, grown(TCPReqQFullDrop=2)),
        row("12 SYNs, 10000 connections", RARE, accepting(10_000, TCPReqQFullDrop=12)),
        row("full queue", FOUND, "for 1: 703 SYNs", grown(TCPReqQFullDrop=703, ListenDrops=703)),
        row(
            "SYNs dropped with cookies on",
            POSSIBLE,
            "for 1: dropped 20 SYNs",
            "against 1: With cookies, a full SYN queue drops no SYN",
            grown(ListenDrops=30, ListenOverflows=10, SyncookiesSent=5),
        ),
        row(
            "drops alone",
            POSSIBLE,
            "for 1: no memory for a connection",
            "decides 4: page allocation failure",
            grown(ListenDrops=703),
        ),
        row(
            "cookies instead of drops",
            POSSIBLE,
            "against 1: no SYN was dropped",
            grown(TCPReqQFullDoCookies=50, SyncookiesSent=50),
        ),
        row("overflows alone", RULED_OUT, grown(ListenDrops=10, ListenOverflows=10)),
        row("half-open", POSSIBLE, "for 1: half-open (50 %)", "touched: 0.5", MANY_HALF_OPEN),
        # If no SYN/ACK is retransmitted and no handshake is complete, the capture's filter left out the ACKs.
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
            "drops in a flood",
            FOUND,
            "for 1: 20 connections were half-open",
            grown(ListenDrops=303),
            table(listening(backlog=4096), *half_open(20)),
        ),
        row("drops, 19 half-open", POSSIBLE, grown(ListenDrops=303), table(listening(backlog=4096), *half_open(19))),
        row("drops in a captured flood", FOUND, grown(ListenDrops=303), MANY_HALF_OPEN),
        row(
            "unanswered SYNs",
            POSSIBLE,
            "for 1: 20 of 200 connections",
            service(unanswered=20, handshakes={"unanswered": 20}),
        ),
        # If no SYN is retransmitted and all are unanswered, the capture's filter left out the answers.
        row("a filter on SYNs", NOT_SEEN, service(unanswered=200, handshakes={"unanswered": 200})),
        row("all SYNs unanswered", POSSIBLE, service(unanswered=200, syn_retransmitted_flows=150)),
        row("504 without a connect time", POSSIBLE, "for 1: 3 connections to upstreams timed", log(connect_timeouts=3)),
        row("few 504s", NOT_SEEN, log(connect_timeouts=2)),
        row("few unanswered SYNs", NOT_SEEN, service(unanswered=19, handshakes={"unanswered": 19})),
        row("SYNs again at the server", POSSIBLE, SYNS_AGAIN_AT_SERVER),
        row("connects after a SYN timer", POSSIBLE, grown(), log(connect_time_s=spread(0.001, 1.02))),
        row("timeouts in the error log", POSSIBLE, error_log_with(Event.CONNECT_TIMED_OUT, 3)),
        row("few timeouts", NOT_SEEN, error_log_with(Event.CONNECT_TIMED_OUT, 2)),
    ],
}


@rows_of(CASES)
def test_network_evidence_has_the_expected_verdict(
    assess: Assess, given: EvidenceSet, verdict: CauseVerdict, said: tuple[str, ...]
) -> None:
    check(assess, given, verdict, said)


def test_loss_on_another_captured_service_explains_the_hosts_counters() -> None:
    database = service(Endpoint(address="10.0.0.2", port=5432), requests=0, **lossy(0.05))
    given = replace(seen(LOST, ALONE), other_services=(database,))
    check(path_loss.assess, given, NOT_SEEN, ("against 1: the captures show 310 on other services",))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (repeated_syns(synack_retransmitted_flows=5), 1),
        (repeated_syns(), 0),
        ({"synack_retransmitted_flows": 5}, 0),
        (repeated_syns(synack_retransmitted_flows=5, syn_retransmission_delay_s=spread(0.0001)), 0),
    ],
    ids=["both", "only SYNs", "only SYN/ACKs", "packets captured twice"],
)
def test_retransmitted_syn_acks_count_against_a_full_syn_queue(values: dict[str, Any], expected: int) -> None:
    reasons = syn_queue_drop.assess(seen(service(**values))).against
    assert sum("sent its SYN/ACK again" in reason.text for reason in reasons) == expected
