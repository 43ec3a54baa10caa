"""The rate of a link from what had arrived when, on a host that pauses: simulated links, whose rates are known."""

import numpy as np
import pytest

from tests.support.simulated_links import Gaps, loaded
from tuneproof.lab.network.rates import CarriedRate

NOISE = {"quiet": (0.0, 1.3), "a-fifth-lost": (0.2, 1.3), "a-third-lost-in-long-gaps": (0.33, 4.0)}
over_noise = pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)


def carried(rate_mbit: float, *, noise: tuple[float, float], seed: int = 7450, **load: float) -> CarriedRate:
    """Return what is told of a link with this rate."""
    share, median_ms = noise
    gaps = Gaps(np.random.default_rng(seed), share=share, median_ms=median_ms)
    return CarriedRate.from_arrivals(loaded(rate_mbit, gaps, **load))


@over_noise
@pytest.mark.parametrize("rate_mbit", [2, 10, 100, 400])
def test_a_loaded_link_shows_its_rate_however_busy_the_host_is(rate_mbit: float, noise: tuple[float, float]) -> None:
    """What was held up comes at once afterwards, and counts not too much; a pause may be longer than a fast queue."""
    longest_queue = rate_mbit <= 100 or noise[0] < 0.3
    least = 0.9 if longest_queue else 0.7
    for seed in range(10):
        told = carried(rate_mbit, noise=noise, seed=seed)
        assert least * rate_mbit < told.mbit < 1.01 * rate_mbit
        assert least * rate_mbit < told.fastest_mbit < 1.01 * rate_mbit


def test_on_a_quiet_host_both_figures_are_the_rate() -> None:
    """To a hundredth."""
    told = carried(100, noise=NOISE["quiet"])
    assert [told.mbit, told.fastest_mbit] == pytest.approx([100, 100], rel=0.01)


def test_a_window_that_begins_in_a_pause_would_not() -> None:
    """So the first and the last point do not do: this is what the highest points are for."""
    points = [[at_us, at_us * 10] for at_us in range(0, 400_000, 1000) if not 0 < at_us < 40_000]
    # 40 ms of pause at the beginning, made up for at once.
    points[0] = [38_000, 0]
    assert 8 * (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0]) > 88
    told = CarriedRate.from_arrivals(points)
    assert [told.mbit, told.fastest_mbit] == pytest.approx([80, 80])


@over_noise
def test_a_host_that_carries_less_lowers_the_rate(noise: tuple[float, float]) -> None:
    """Both figures: the link was never full."""
    told = carried(500, noise=noise, host_mbit=300)
    assert told.mbit < 320
    assert told.fastest_mbit < 330


@over_noise
def test_a_sender_that_is_too_slow_lowers_the_rate_and_raises_none(noise: tuple[float, float]) -> None:
    """What the timetable misses is not made up for."""
    told = carried(100, noise=noise, offered=0.7)
    assert told.mbit < 75
    assert told.fastest_mbit < 105


@pytest.mark.parametrize("points", [[], [[0, 0]], [[0, 0], [900, 1514]]], ids=len)
def test_a_load_that_hardly_arrives_has_no_rate(points: list[list[int]]) -> None:
    """Whatever kept it away, the link did not carry it; that is measured again, and then told."""
    assert CarriedRate.from_arrivals(points) == CarriedRate(mbit=0.0, fastest_mbit=0.0)
