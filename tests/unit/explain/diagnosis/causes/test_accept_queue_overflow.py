"""Accept queues that are full."""

import pytest

from tests.support.canned_evidence import (
    FRONT,
    both_legs,
    capture,
    evidence,
    grown,
    listening,
    log,
    lossy,
    readings,
    repeated_syns,
    service,
    spread,
    table,
)
from tuneproof.explain.diagnosis.causes import path_loss, syn_queue_drop
from tuneproof.explain.diagnosis.causes.accept_queue_overflow import assess
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.parse.capture.records import Side
from tuneproof.explain.parse.figures import distribution


def test_overflows_between_two_readings_prove_it() -> None:
    """Nothing else counts in ListenOverflows."""
    found = assess(evidence(counters=[grown(ListenOverflows=976, ListenDrops=976)]))
    assert found.verdict is CauseVerdict.FOUND
    assert "976 connections" in found.for_[0].text


def test_two_files_with_a_reading_each_are_compared() -> None:
    """The order of the files is that of time."""
    before, after = readings({}, {"TcpExt.ListenOverflows": 12})
    found = assess(evidence(counters=[(before,), (after,)]))
    assert found.verdict is CauseVerdict.FOUND
    assert found.for_[0].file == "counters 1, counters 2"


def test_overflows_in_a_single_reading_are_only_possible() -> None:
    """They may be of last year; a second reading would tell."""
    found = assess(evidence(counters=[readings({"TcpExt.ListenOverflows": 12})]))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert "nstat" in found.would_decide[0]


def test_increments_of_nstat_need_no_second_reading() -> None:
    """What nstat prints without -a is what came since its last call."""
    found = assess(evidence(counters=[readings({"TcpExt.ListenOverflows": 12}, relative=True)]))
    assert found.verdict is CauseVerdict.FOUND


@pytest.mark.parametrize(
    ("queued", "verdict"),
    [(129, CauseVerdict.FOUND), (128, CauseVerdict.NOT_SEEN), (0, CauseVerdict.NOT_SEEN)],
    ids=str,
)
def test_a_listener_with_more_than_its_backlog_proves_it(queued: int, verdict: CauseVerdict) -> None:
    """A queue of backlog + 1 is full; one of several sockets is enough."""
    sockets = table(listening(queued=queued, backlog=128), listening(backlog=128))
    assert assess(evidence(sockets=[sockets])).verdict is verdict


def test_a_listener_without_a_backlog_tells_nothing() -> None:
    """Some kernels do not tell the backlog."""
    assert assess(evidence(sockets=[table(listening(queued=1, backlog=0))])).verdict is CauseVerdict.NOT_SEEN


def test_repeated_syns_at_the_client_fit_three_causes_and_prove_none() -> None:
    """A client cannot tell a full queue from a lost packet."""
    client = capture(service(**repeated_syns(), syn_to_synack_s=spread(0.0005), synack_to_ack_s=spread(0.00001)))
    given = evidence(captures=[client])
    for cause in (assess, syn_queue_drop.assess, path_loss.assess):
        found = cause(given)
        assert found.verdict is CauseVerdict.POSSIBLE
        assert "40 of 200 connections to 10.0.0.2:8000 had to send their SYN again after 1.0 s" in found.for_[0].text
        assert found.would_decide


def test_repeated_syns_at_the_server_rule_loss_out() -> None:
    """They arrived, so that no path lost them; which queue dropped them, counters tell."""
    server = service(**repeated_syns(), synack_to_ack_s=spread(0.02))
    given = evidence(captures=[capture(server)])
    assert assess(given).verdict is CauseVerdict.POSSIBLE
    assert syn_queue_drop.assess(given).verdict is CauseVerdict.POSSIBLE
    assert path_loss.assess(given).verdict is not CauseVerdict.POSSIBLE


def test_a_capture_inside_nginx_namespace_is_at_the_server_of_its_front() -> None:
    """Counters of another namespace then do not rule the overflow out."""
    given = both_legs(front=repeated_syns())
    own = evidence(counters=[grown()])
    assert assess(given).verdict is CauseVerdict.POSSIBLE
    with_counters = type(given)(captures=given.captures, counters=own.counters)
    assert assess(with_counters).verdict is CauseVerdict.POSSIBLE
    assert "namespace" in assess(with_counters).against[-1].text


def test_a_backend_that_drops_syns_has_counters_of_its_own() -> None:
    """Those of nginx's host do not rule it out."""
    given = both_legs(back=repeated_syns())
    own = evidence(counters=[grown()], access_logs=[log(connect_time_s=spread(0.001, 1.02))])
    assert assess(type(given)(captures=given.captures, counters=own.counters)).verdict is CauseVerdict.POSSIBLE
    assert syn_queue_drop.assess(own).verdict is CauseVerdict.POSSIBLE
    assert assess(own).verdict is CauseVerdict.POSSIBLE


def test_counters_without_overflows_outweigh_repeated_syns_elsewhere() -> None:
    """At the client they may be lost SYNs, and the server's counters know better."""
    client = capture(service(**repeated_syns(), syn_to_synack_s=spread(0.0005), synack_to_ack_s=spread(0.00001)))
    assert assess(evidence(captures=[client], counters=[grown()])).verdict is CauseVerdict.RULED_OUT


def test_repeated_syns_beside_lost_data_are_no_sign() -> None:
    """Loss hits data and SYNs alike."""
    found = assess(evidence(captures=[capture(service(**lossy(), **repeated_syns()))]))
    assert found.verdict is CauseVerdict.NOT_SEEN
    assert "data was lost as well" in found.against[0].text


def test_requests_sent_again_to_a_server_without_room_are_no_loss() -> None:
    """It drops the last ACK of the handshake with the request behind it, and sends its SYN/ACK again."""
    unheard = lossy(
        from_client=Side(packets=500, data_segments=240, retransmitted_segments=40),
        from_server=Side(packets=500, data_segments=300),
    )
    given = evidence(captures=[capture(service(**unheard, **repeated_syns(synack_retransmitted_flows=40)))])
    assert assess(given).verdict is CauseVerdict.POSSIBLE
    assert any("SYN/ACK again in 40 of 200" in reason.text for reason in assess(given).for_)
    assert path_loss.assess(given).verdict is not CauseVerdict.FOUND


def test_two_repeated_syns_are_no_pattern() -> None:
    """One or two lost packets in a capture are nothing that anybody noticed."""
    given = evidence(captures=[capture(service(**repeated_syns(2)))])
    assert assess(given).verdict is CauseVerdict.NOT_SEEN


def test_a_capture_with_every_packet_twice_has_no_repeated_syns() -> None:
    """No timer is that short: the second SYN is the first one, on another interface."""
    twice = repeated_syns(200, syn_retransmission_delay_s=spread(0.00001))
    assert assess(evidence(captures=[capture(service(**twice))])).verdict is CauseVerdict.NOT_SEEN


@pytest.mark.parametrize(
    ("slow_s", "verdict"),
    [
        (0.3, CauseVerdict.NOT_SEEN),
        (1.02, CauseVerdict.POSSIBLE),
        (3.05, CauseVerdict.POSSIBLE),
        (1.5, CauseVerdict.NOT_SEEN),
    ],
    ids=["300 ms", "1 s", "3 s", "1.5 s"],
)
def test_upstream_connect_times_near_a_syn_timer_fit_it(slow_s: float, verdict: CauseVerdict) -> None:
    """The timer of a SYN runs for 1 s, then for 2 s (RFC 6298); loss and a full SYN queue would look the same."""
    given = evidence(access_logs=[log(connect_time_s=spread(0.001, slow_s))])
    for cause in (assess, syn_queue_drop.assess, path_loss.assess):
        assert cause(given).verdict is verdict


def test_connect_times_that_reach_a_second_in_a_stall_are_no_timer() -> None:
    """A tenth of them is late by less, as in a recorded stall: 72 ms, and 1.04 s for one in a hundred."""
    times = distribution([0.0] * 170 + [0.072] * 20 + [1.04] * 10)
    assert assess(evidence(access_logs=[log(connect_time_s=times)])).verdict is CauseVerdict.NOT_SEEN


def test_handshakes_at_once_rule_it_out() -> None:
    """All of two hundred got an answer to their first SYN."""
    found = assess(evidence(captures=[capture(service(FRONT))]))
    assert found.verdict is CauseVerdict.RULED_OUT
    assert "200 handshakes" in found.against[0].text
