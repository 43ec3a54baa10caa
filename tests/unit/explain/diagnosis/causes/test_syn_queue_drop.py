"""SYNs that the kernel drops."""

from tests.support.canned_evidence import capture, evidence, grown, half_open, listening, repeated_syns, service, table
from tuneproof.explain.diagnosis.causes.syn_queue_drop import assess
from tuneproof.explain.diagnosis.findings import CauseVerdict


def test_drops_for_a_full_queue_prove_it() -> None:
    """Nothing else counts in TCPReqQFullDrop."""
    found = assess(evidence(counters=[grown(TCPReqQFullDrop=703, ListenDrops=703)]))
    assert found.verdict is CauseVerdict.FOUND
    assert "703 SYNs" in found.for_[0].text


def test_drops_without_overflows_while_cookies_had_to_do_prove_it() -> None:
    """The cookies say why."""
    found = assess(evidence(counters=[grown(ListenDrops=30, ListenOverflows=10, SyncookiesSent=5)]))
    assert found.verdict is CauseVerdict.FOUND
    assert "dropped 20 SYNs" in found.for_[0].text


def test_drops_without_overflows_alone_may_be_memory() -> None:
    """The kernel's log tells a failed allocation."""
    found = assess(evidence(counters=[grown(ListenDrops=703)]))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert "without memory" in found.for_[0].text
    assert any("page allocation failure" in each for each in found.would_decide)


def test_cookies_alone_drop_nothing() -> None:
    """The queue was full, and the cookies did."""
    found = assess(evidence(counters=[grown(TCPReqQFullDoCookies=50, SyncookiesSent=50)]))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert "no SYN was dropped" in found.against[0].text


def test_overflows_alone_rule_it_out() -> None:
    """Each drop was for a full accept queue."""
    assert assess(evidence(counters=[grown(ListenDrops=10, ListenOverflows=10)])).verdict is CauseVerdict.RULED_OUT


def test_counters_rule_out_what_merely_fits() -> None:
    """Half-open connections without a drop filled no queue."""
    many = capture(service(half_open=100, handshakes={"complete": 100, "half-open": 100}))
    assert assess(evidence(captures=[many])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(captures=[many], counters=[grown()])).verdict is CauseVerdict.RULED_OUT


def test_a_few_half_open_connections_are_no_sign() -> None:
    """Clients vanish: nineteen of many are no flood."""
    few = capture(service(half_open=19, handshakes={"complete": 10}))
    assert assess(evidence(captures=[few])).verdict is CauseVerdict.NOT_SEEN


def test_half_open_sockets_up_to_the_backlog_fit_it() -> None:
    """That is what the kernel compares them with."""
    full, not_full = (table(listening(backlog=128), *half_open(count)) for count in (128, 127))
    assert assess(evidence(sockets=[full])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(sockets=[not_full])).verdict is CauseVerdict.NOT_SEEN


def test_a_locked_socket_s_backlog_is_named() -> None:
    """An old kernel's listener drops so; a new one's does not."""
    found = assess(evidence(counters=[grown(TCPBacklogDrop=7, ListenDrops=7)]))
    assert "7 packets met a locked socket" in found.for_[1].text


def test_a_syn_ack_sent_again_speaks_against_it() -> None:
    """Whoever gets a SYN/ACK was in the queue."""
    given = evidence(captures=[capture(service(**repeated_syns(synack_retransmitted_flows=5)))])
    assert "sent its SYN/ACK again in 5" in assess(given).against[0].text


def test_drops_beside_many_half_open_connections_prove_it() -> None:
    """A connection that found no memory leaves nothing behind; nineteen that vanished are no flood."""
    flood, few = (table(listening(backlog=4096), *half_open(count)) for count in (20, 19))
    found = assess(evidence(counters=[grown(ListenDrops=303)], sockets=[flood]))
    assert found.verdict is CauseVerdict.FOUND
    assert "20 connections were half-open" in found.for_[0].text
    assert assess(evidence(counters=[grown(ListenDrops=303)], sockets=[few])).verdict is CauseVerdict.POSSIBLE
    captured = capture(service(half_open=100, handshakes={"complete": 100, "half-open": 100}))
    assert assess(evidence(counters=[grown(ListenDrops=303)], captures=[captured])).verdict is CauseVerdict.FOUND


def test_each_socket_of_a_reuseport_listener_has_its_own_backlog() -> None:
    """The kernel compares with one socket's, not with their sum."""
    two = table(listening(backlog=128), listening(backlog=128), *half_open(128))
    assert assess(evidence(sockets=[two])).verdict is CauseVerdict.POSSIBLE


def test_many_syns_without_an_answer_fit_it() -> None:
    """A flood from addresses that never ask again: nothing is repeated, and nothing is answered."""
    many, few = (capture(service(flows=200, unanswered=count, handshakes={"unanswered": count})) for count in (20, 19))
    found = assess(evidence(captures=[many]))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert "20 of 200 connections" in found.for_[0].text
    assert assess(evidence(captures=[few])).verdict is CauseVerdict.NOT_SEEN
