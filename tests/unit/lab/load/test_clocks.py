"""A program's clock compared with that of the machine that calls it."""

import pytest

from tuneproof.lab.load.clocks import COMMON, Clock


def test_a_clock_is_assumed_to_be_read_halfway_with_an_uncertainty_of_half_the_round_trip() -> None:
    """CLOCK_MONOTONIC counts from a machine's boot, so the offset may be large."""
    clock = Clock.from_response(1000.0, asked_s=50.0, answered_s=50.5)
    assert clock.ahead_s == pytest.approx(949.75)
    assert clock.doubt_s == pytest.approx(0.25)


@pytest.mark.parametrize("read_after_s", [2.0, 2.1, 2.3])
def test_the_programs_own_time_adds_no_uncertainty(read_after_s: float) -> None:
    ahead_s = 300.0
    clock = Clock.from_response(50.0 + read_after_s + ahead_s, asked_s=50.0, answered_s=52.3, took_s=2.0)
    assert clock.doubt_s == pytest.approx(0.15)
    assert abs(clock.ahead_s - ahead_s) <= clock.doubt_s + 1e-9


def test_a_moment_can_be_converted_in_both_directions() -> None:
    clock = Clock(ahead_s=-20.0)
    assert clock.own_s(100.0) == 80.0
    assert clock.asking_s(80.0) == 100.0
    assert COMMON.own_s(100.0) == COMMON.asking_s(100.0) == 100.0
