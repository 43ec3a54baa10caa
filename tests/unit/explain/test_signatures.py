"""The signatures that the articles describe are computed from captures, logs and counters."""

import pytest

from tests.support.canned_evidence import BACK, FRONT, capture, log, readings, seen, service, spread
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.signatures import Signatures, signatures


def of(given: EvidenceSet) -> Signatures:
    return signatures(given, address=FRONT.address, port=FRONT.port)


def test_missing_evidence_gives_no_figures() -> None:
    """An unknown figure is None, not zero."""
    assert of(EvidenceSet()) == Signatures()


def test_connect_times_come_from_both_log_and_capture() -> None:
    """In a stall, nginx notices the SYN/ACK late; the capture shows when it arrived."""
    back = service(BACK, syn_to_synack_s=spread(0.00004))
    given = seen(capture(service(), back), log(connect_time_s=spread(0.05)))
    assert of(given).log_connect_p90_ms == pytest.approx(50)
    assert of(given).wire_connect_p90_ms == pytest.approx(0.04)


def test_shares_refer_only_to_connections_to_nginx() -> None:
    front = service(
        flows=200,
        syn_retransmitted_flows=50,
        syn_retransmission_delay_s=spread(1.02, count=50),
        half_open=12,
        unanswered=8,
        zero_window_flows=10,
        reset_after_own_fin_flows=7,
    )
    back = service(BACK, flows=10, half_open=10, zero_window_flows=10, reset_after_own_fin_flows=10)
    shown = of(seen(capture(back, front)))
    assert (shown.syn_repeated_share, shown.unfinished_share, shown.zero_window_share) == (0.25, 0.1, 0.05)
    assert shown.syn_repeated_after_ms == pytest.approx(1020)
    assert shown.clients_answered_with_reset == 7


@pytest.mark.parametrize("in_one_file", [True, False])
def test_counters_are_shown_as_increments(in_one_file: bool) -> None:  # noqa: FBT001 - a parameter
    before, after = readings({"TcpExt.ListenOverflows": 5, "TcpExt.ListenDrops": 5}, {"TcpExt.ListenDrops": 308})
    shown = of(seen((before, after)) if in_one_file else seen((before,), (after,)))
    assert (shown.listen_overflows, shown.listen_drops) == (0, 303)
