"""Cases of packets that the path loses."""

from dataclasses import replace
from typing import Final

from tests.support.canned_evidence import (
    connects,
    established,
    grown,
    listening,
    log,
    lossy,
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
    SYNS_AGAIN_AT_SERVER,
    UNHEARD,
    Assess,
    Rows,
    check,
    row,
    rows_of,
)
from tuneproof.explain.diagnosis.causes import (
    path_loss,
)
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.parse.capture.records import Endpoint, Side
from tuneproof.explain.parse.capture.services import ServiceSummary
from tuneproof.explain.parse.sockets.table import SocketAddress

LOST: Final = grown(RetransSegs=397, TCPSynRetrans=100, TCPSackRecovery=50)


SENT_AGAIN: Final = established(retransmits=(0, 12))


RSYNC: Final = replace(established(port=50_000, retransmits=(0, 300)), peer=SocketAddress(host="10.0.0.7", port=873))


def again(server: int, *, segments: int = 1000, acks: int = 0) -> ServiceSummary:
    """Return a service whose server sent this many of its segments again."""
    return service(
        from_client=Side(data_segments=segments, duplicate_acks=acks),
        from_server=Side(data_segments=segments, retransmitted_segments=server),
    )


CASES: Final[Rows] = {
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
}


@rows_of(CASES)
def test_each_cause_judges_evidence_as_expected(
    assess: Assess, given: EvidenceSet, verdict: CauseVerdict, said: tuple[str, ...]
) -> None:
    check(assess, given, verdict, said)


def test_losses_of_other_services_in_a_capture_are_not_nginxs() -> None:
    database = service(Endpoint(address="10.0.0.2", port=5432), requests=0, **lossy(0.05))
    given = replace(seen(LOST, ALONE), other_services=(database,))
    check(path_loss.assess, given, NOT_SEEN, ("against 1: the captures have 310 of other services",))
