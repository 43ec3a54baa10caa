"""The articles' signatures as figures, from prepared evidence."""

import pytest

from tests.support.canned_evidence import BACK, FRONT, capture, log, readings, seen, service, spread
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.signatures import Signatures, signatures


def of(given: EvidenceSet) -> Signatures:
    return signatures(given, address=FRONT.address, port=FRONT.port)


def test_empty_files_show_nothing() -> None:
    """An unknown figure is not shown as zero."""
    assert of(EvidenceSet()) == Signatures()


def test_connects_are_compared_between_log_and_capture() -> None:
    """The log's clock stops in a stall; the capture's does not."""
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
    told = of(seen(capture(back, front)))
    assert (told.syn_repeated_share, told.unfinished_share, told.zero_window_share) == (0.25, 0.1, 0.05)
    assert told.syn_repeated_after_ms == pytest.approx(1020)
    assert told.clients_answered_with_reset == 7


@pytest.mark.parametrize("in_one_file", [True, False])
def test_counters_are_shown_by_their_increase(in_one_file: bool) -> None:  # noqa: FBT001 - a parameter
    before, after = readings({"TcpExt.ListenOverflows": 5, "TcpExt.ListenDrops": 5}, {"TcpExt.ListenDrops": 308})
    told = of(seen((before, after)) if in_one_file else seen((before,), (after,)))
    assert (told.listen_overflows, told.listen_drops) == (0, 303)
