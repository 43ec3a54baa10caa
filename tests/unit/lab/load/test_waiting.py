"""Bounded waiting for something to be gone."""

import pytest

from tests.support.fake_stage import FakeClock
from tuneproof.lab.load import waiting
from tuneproof.lab.load.waiting import VoidTrialError, wait_until, wait_until_none


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    clock.replace_in(monkeypatch, waiting)
    return clock


def test_it_is_counted_until_nothing_is_left(clock: FakeClock) -> None:
    """It looks some twenty times a second, and no longer than it must."""
    began_s = clock.now_s
    left = [7, 3, 0, 9]
    wait_until_none(lambda: left.pop(0), "connections")
    assert left == [9]
    assert clock.now_s == pytest.approx(began_s + 0.1)


@pytest.mark.parametrize(("given", "within_s"), [({}, 60.0), ({"within_s": 1.5}, 1.5)])
def test_what_never_goes_away_is_an_error_that_counts_it(
    given: dict[str, float], within_s: float, clock: FakeClock
) -> None:
    """The next trial would find it; the message has the last count and the time."""
    began_s = clock.now_s
    with pytest.raises(VoidTrialError) as caught:
        wait_until_none(lambda: 7, "connections of the storm", **given)
    assert caught.value.what == f"7 connections of the storm are still there after {within_s:g} s"
    assert within_s < clock.now_s - began_s < within_s + 0.2


def test_an_end_that_never_comes_makes_a_trial_void(clock: FakeClock) -> None:
    looks = [False, False, True]
    wait_until(lambda: looks.pop(0), "nginx did not rest")
    assert looks == []
    began_s = clock.now_s
    with pytest.raises(VoidTrialError) as caught:
        wait_until(lambda: False, "nginx did not rest", within_s=2.0, pause_s=0.5)
    assert caught.value.what == "nginx did not rest within 2 s"
    assert clock.now_s - began_s == pytest.approx(2.5)
