"""Segments that were sent again, and the reasons, near the thresholds."""

from typing import Any

import pytest

from tests.support.canned_evidence import capture, service, spread
from tuneproof.explain.diagnosis.signs.handshakes import Viewpoint
from tuneproof.explain.diagnosis.signs.legs import CapturedService, Leg, captured_twice
from tuneproof.explain.diagnosis.signs.loss import data_loss, loses_data
from tuneproof.explain.parse.capture.records import Side
from tuneproof.explain.parse.capture.services import ServiceSummary


def _again(client: int = 0, server: int = 0, *, segments: int = 1000, **values: Any) -> Any:
    return service(
        from_client=Side(data_segments=segments, retransmitted_segments=client),
        from_server=Side(data_segments=segments, retransmitted_segments=server),
        **values,
    )


def _where(again: ServiceSummary) -> CapturedService:
    return CapturedService(file="a", capture=capture(again), service=again, leg=Leg.UNKNOWN, label="a")


@pytest.mark.parametrize(("taken_at", "lost"), [(Viewpoint.CLIENT, 2), (Viewpoint.SERVER, 30), (Viewpoint.UNKNOWN, 30)])
def test_segments_seen_at_the_capture_were_not_lost_before_it(taken_at: Viewpoint, lost: int) -> None:
    """At the receiver, such segments were overtaken or found no room; at the sender, the reason is unknown."""
    resent = service(
        from_client=Side(data_segments=100),
        from_server=Side(data_segments=3000, retransmitted_segments=30, resent_arrived_segments=28),
    )
    assert data_loss(resent, taken_at).segments == lost


def test_ten_segments_matter_and_nine_do_not() -> None:
    assert loses_data(_where(_again(server=10)))
    assert not loses_data(_where(_again(server=9, segments=100)))


@pytest.mark.parametrize(
    ("server", "unheard", "lost"), [(9, 3, 9), (9, 2, 49), (10, 3, 50)], ids=["unheard", "heard", "lost as well"]
)
def test_segments_that_clients_repeat_to_a_full_server_are_not_lost(server: int, unheard: int, lost: int) -> None:
    """Three repeated SYN/ACKs show a full server, unless the server's data is lost, too."""
    assert data_loss(_again(40, server, synack_retransmitted_flows=unheard)).segments == lost


def test_only_copies_faster_than_any_timer_are_the_same_packet() -> None:
    assert captured_twice(service(syn_retransmission_delay_s=spread(0.009)))
    assert not captured_twice(service(syn_retransmission_delay_s=spread(0.011)))
    for copies, is_twice in ((5, True), (4, False)):
        side = Side(data_segments=100, retransmitted_segments=10, suspected_copies=copies)
        assert captured_twice(service(from_server=side)) is is_twice
