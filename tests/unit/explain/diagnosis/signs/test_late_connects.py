"""Upstream connect times near the thresholds."""

import pytest

from tests.support.canned_evidence import both_legs, connects, log, repeated_syns, spread
from tuneproof.explain.diagnosis.signs.late_connects import (
    captured_connects_s,
    late_connects,
    lost_syns,
    uneven_workers,
)


@pytest.mark.parametrize(
    ("slow_s", "is_timer"),
    [
        *((0.94, False), (0.96, True), (1.14, True), (1.16, False), (1.5, False)),
        *((2.05, True), (3.05, True), (5.05, True), (7.1, True)),
    ],
    ids=str,
)
def test_a_timer_fires_a_little_late(slow_s: float, is_timer: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """The delay is a round trip and jitter; the log's clock may be early. The timer takes 1 s, then 2 s (RFC 6298)."""
    assert (lost_syns(log(connect_time_s=spread(0.001, slow_s))) is not None) is is_timer


def test_late_connects_are_far_from_the_fastest() -> None:
    """Late connects take at least five times as long; twenty of them are enough."""
    assert late_connects(log(connect_time_s=spread(0.02, 0.1, count=20)))
    assert late_connects(log(connect_time_s=spread(0.02, 0.1, count=19))) is None
    assert late_connects(log(connect_time_s=spread(0.021, 0.1))) is None
    assert late_connects(log(connect_time_s=None)) is None


def test_half_of_the_connects_need_not_be_as_late_as_a_tenth() -> None:
    """Gaps between a worker's turns on a CPU delay only few connects."""
    assert late_connects(log(connect_time_s=spread(0.001, 0.01, slow_share=0.51)))
    assert late_connects(log(connect_time_s=spread(0.001, 0.009, slow_share=0.51))) is None
    assert late_connects(log(connect_time_s=spread(0.001, 0.01, slow_share=0.49))) is None


def test_workers_with_few_connects_are_not_compared() -> None:
    assert len(list(uneven_workers((connects(1, spread(0.001, count=20)), connects(2, spread(0.3, count=20)))))) == 1
    assert list(uneven_workers((connects(1, spread(0.001, count=19)), connects(2, spread(0.3))))) == []
    assert list(uneven_workers((connects(1, spread(0.001)), connects(2, spread(0.3, count=19))))) == []


def test_workers_are_compared_on_the_same_server() -> None:
    near, far = connects(1, spread(0.001), "near"), connects(2, spread(0.08), "far")
    assert list(uneven_workers((near, far))) == []
    late = connects(2, spread(0.08), "near")
    assert list(uneven_workers((near, far, late))) == [(late, near)]


def test_a_distant_server_next_to_a_near_one_is_not_a_late_connect() -> None:
    both = spread(0.001, 0.08)
    near, far = connects(1, spread(0.001), "near"), connects(1, spread(0.08), "far")
    assert late_connects(log(connect_time_s=both, server_connects=(near, far))) is None
    assert late_connects(log(connect_time_s=both, server_connects=(connects(1, both),))) == both


def test_the_path_is_judged_by_enough_handshakes_at_the_first_attempt() -> None:
    told = captured_connects_s(both_legs())
    assert told is not None
    assert told.p90_s == 0.02
    for back in (
        {"handshake_s": None},
        {"handshake_s": spread(0.001, count=19)},
        {"syn_retransmission_delay_s": spread(0.0001)},
        repeated_syns(),
    ):
        assert captured_connects_s(both_legs(back=back)) is None
