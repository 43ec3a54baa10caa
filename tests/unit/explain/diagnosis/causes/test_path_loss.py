"""Packets that are lost."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.canned_evidence import (
    capture,
    evidence,
    grown,
    listening,
    lossy,
    repeated_syns,
    service,
    softnet,
    spread,
    table,
)
from tuneproof.explain.diagnosis.causes.path_loss import assess
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.parse.capture.records import Endpoint, Side
from tuneproof.explain.parse.sockets.table import SocketAddress


def test_data_sent_again_to_receivers_with_holes_proves_it() -> None:
    """Nothing else loses data."""
    found = assess(evidence(captures=[capture(service(**lossy(0.02)))]))
    assert found.verdict is CauseVerdict.FOUND
    assert "124 data segments of 10.0.0.2:8000 were sent again (2 %)" in found.for_[0].text


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (0.014, CauseVerdict.FOUND),
        (0.01, CauseVerdict.POSSIBLE),
        (0.005, CauseVerdict.POSSIBLE),
        (0.004, CauseVerdict.NOT_SEEN),
        (0.0005, CauseVerdict.RULED_OUT),
    ],
    ids=str,
)
def test_half_a_per_cent_matters_and_one_explains(share: float, verdict: CauseVerdict) -> None:
    """One in a hundred by its lower limit; less slows long transfers, and less than one in a thousand rules it out."""
    assert assess(evidence(captures=[capture(service(**lossy(share)))])).verdict is verdict


def test_loss_of_syns_and_data_alike_belongs_together() -> None:
    """The SYNs are told with it."""
    found = assess(evidence(captures=[capture(service(**lossy(), **repeated_syns()))]))
    assert found.verdict is CauseVerdict.FOUND
    assert "SYN again" in found.for_[1].text


def test_segments_sent_again_without_a_hole_prove_nothing() -> None:
    """They may have been late, or sent again for nothing."""
    silent = lossy(from_client=Side(packets=4000, data_segments=200))
    found = assess(evidence(captures=[capture(service(**silent))]))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert "noticed few holes (0)" in found.for_[0].text


def test_segments_sent_again_to_a_closed_window_are_probes() -> None:
    """A reader that does not read loses nothing."""
    closed = lossy(from_client=Side(packets=4000, data_segments=200, duplicate_acks=400, zero_windows=124))
    assert assess(evidence(captures=[capture(service(**closed))])).verdict is CauseVerdict.RULED_OUT


def test_a_capture_with_every_packet_twice_is_not_judged() -> None:
    """Half of its packets seem to be sent again, and within a millisecond."""
    twice = Side(packets=8000, data_segments=6000, retransmitted_segments=3000, suspected_copies=2990)
    given = capture(service(from_server=twice))
    found = assess(evidence(captures=[given]))
    assert found.verdict is CauseVerdict.NOT_SEEN
    assert "twice in the capture" in found.against[0].text


LOST = grown(RetransSegs=397, TCPSynRetrans=100, TCPSackRecovery=50)
ALONE = table(listening())


def test_retransmissions_without_the_syns_among_them_prove_it_where_nothing_else_is_served() -> None:
    """RetransSegs less TCPSynRetrans is data."""
    found = assess(evidence(counters=[LOST], sockets=[ALONE]))
    assert found.verdict is CauseVerdict.FOUND
    assert "300 segments of 20000 were sent again, SYNs aside (1.5 %" in found.for_[0].text


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ({}, "whether it serves anything else, ss -ltn would tell"),
        ({"sockets": [table(listening(), listening(5432))]}, "ports 5432 and 8000 are served on it"),
        ({"sockets": [ALONE], "captures": [capture(service())]}, "nothing that was captured of this service is lost"),
    ],
    ids=["not-known", "a-database", "a-capture-without-loss"],
)
def test_counters_of_a_host_prove_nothing_of_one_service_of_several(others: dict[str, Any], why: str) -> None:
    """Somebody loses something there."""
    found = assess(evidence(counters=[LOST], **others))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert why in " ".join(reason.text for reason in found.against)


def test_what_other_services_of_a_capture_lost_is_not_nginxs() -> None:
    """The counters have no more than that."""
    database = service(Endpoint(address="10.0.0.2", port=5432), requests=0, **lossy(0.05))
    given = replace(evidence(counters=[LOST], sockets=[ALONE]), other_services=(database,))
    found = assess(given)
    assert found.verdict is CauseVerdict.NOT_SEEN
    assert "the captures have 310 of other services" in found.against[0].text


def test_a_resolver_of_the_engine_is_nobody_elses_service() -> None:
    """It listens on a loopback address, in every container."""
    resolver = replace(listening(40_841), local=SocketAddress(host="127.0.0.11", port=40_841))
    found = assess(evidence(counters=[LOST], sockets=[table(listening(), resolver)]))
    assert found.verdict is CauseVerdict.FOUND


def test_retransmitted_syns_are_no_lost_data() -> None:
    """A full queue makes clients repeat SYNs, and nothing else."""
    assert assess(evidence(counters=[grown(RetransSegs=400, TCPSynRetrans=400)])).verdict is CauseVerdict.RULED_OUT


def test_segments_that_came_twice_were_late() -> None:
    """The receivers said so (RFC 2883)."""
    found = assess(evidence(counters=[grown(RetransSegs=300, TCPSackRecovery=9, TCPDSACKRecv=200)]))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert "late, not lost" in found.against[0].text


def test_retransmissions_without_any_reported_hole_prove_nothing() -> None:
    """Where receivers report nothing, a timer may have been too short."""
    assert assess(evidence(counters=[grown(RetransSegs=300)])).verdict is CauseVerdict.POSSIBLE


def test_packets_dropped_by_a_cpu_s_backlog_are_lost_in_this_host() -> None:
    """Two readings prove it, one only fits; a few are a bad moment."""
    proved = assess(evidence(softnet=[softnet(5, 505)]))
    assert (proved.verdict, proved.for_[0].file) == (CauseVerdict.FOUND, "softnet 1")
    assert "This host itself dropped 500 packets" in proved.for_[0].text
    assert assess(evidence(softnet=[softnet(500)])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(softnet=[softnet(0, 9)])).verdict is CauseVerdict.NOT_SEEN
    assert assess(evidence(softnet=[softnet(500), softnet(500)])).verdict is CauseVerdict.NOT_SEEN


def test_syns_that_reached_the_server_were_not_lost() -> None:
    """A capture at the server has them."""
    server = service(**repeated_syns(), synack_to_ack_s=spread(0.02))
    found = assess(evidence(captures=[capture(server)]))
    assert "they had arrived at the server" in found.against[-1].text
    assert not found.for_


def test_drops_that_went_backwards_are_not_told_as_of_now() -> None:
    """The files may be in the wrong order: nobody saw them come."""
    assert assess(evidence(softnet=[softnet(905), softnet(900)])).verdict is CauseVerdict.NOT_SEEN
