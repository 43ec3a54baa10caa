"""Arrivals of probes and loads become figures, even on a host that pauses or between machines with two clocks."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.support.simulated_links import Gaps, loaded, over_noise
from tuneproof.lab.network.path import DirectionFigures, LinkFigures, carried_mbit, other_ahead_us
from tuneproof.lab.protocol.links import PathSeen

# 12.5 bytes per microsecond.
LOAD_OF_100_MBIT = tuple((at_us, at_us * 25 // 2) for at_us in range(0, 100_000, 1000))


def figures_of(
    *, there: Sequence[int], back: Sequence[int], sent: int = 4, **loads: tuple[tuple[int, int], ...]
) -> LinkFigures:
    """Return the figures for probes that arrived in these orders, 1 ms after they were sent."""
    seen = PathSeen(
        sent=sent,
        late=(),
        there=tuple((number, 1000) for number in there),
        back=tuple((number, 1000, 2000) for number in back),
        loads=loads,
    )
    return LinkFigures.from_probes(seen, payload_bytes=64)


def counts(figures: DirectionFigures) -> tuple[int, int, int, int]:
    return figures.packets, figures.lost, figures.duplicated, figures.overtaking


@pytest.mark.parametrize(
    ("there", "back", "egress", "ingress"),
    [
        pytest.param([0, 1, 2, 3], [0, 1, 2, 3], (4, 0, 0, 0), (4, 0, 0, 0), id="nothing"),
        pytest.param([0, 2, 3], [0, 3], (4, 1, 0, 0), (3, 1, 0, 0), id="lost-both-ways"),
        pytest.param([0, 1, 1, 2, 3], [0, 1, 1, 2, 3], (4, 0, 1, 0), (4, 0, 0, 0), id="twice-there"),
        pytest.param([0, 1, 1, 2, 3], [0, 1, 1, 2, 2, 3], (4, 0, 1, 0), (4, 0, 1, 0), id="twice-both-ways"),
        pytest.param([0, 1, 1, 2, 3], [0, 1, 2, 3], (4, 0, 1, 0), (4, 0, 0, 0), id="second-copy-lost-back"),
        pytest.param([1, 0, 2, 3], [1, 0, 2, 3], (4, 0, 0, 1), (4, 0, 0, 0), id="overtaken-there"),
        pytest.param([1, 0, 2, 3], [0, 1, 2, 3], (4, 0, 0, 1), (4, 0, 0, 1), id="overtaken-there-and-again-back"),
        pytest.param([2, 3, 0, 1], [2, 3, 0, 1], (4, 0, 0, 2), (4, 0, 0, 0), id="two-overtake-two"),
    ],
)
def test_faults_are_attributed_to_their_direction(
    there: Sequence[int], back: Sequence[int], egress: tuple[int, ...], ingress: tuple[int, ...]
) -> None:
    figures = figures_of(there=there, back=back)
    assert counts(figures.egress) == egress
    assert counts(figures.ingress) == ingress


def test_times_are_quantiles_in_milliseconds() -> None:
    """The sender's lateness is a quantile, too."""
    seen = PathSeen(
        sent=11,
        late=tuple(100 * number for number in range(11)),
        there=tuple((number, 100 * number) for number in range(11)),
        back=tuple((number, 200 * number, 1000 * number) for number in range(11)),
        loads={"egress": LOAD_OF_100_MBIT},
    )
    figures = LinkFigures.from_probes(seen, payload_bytes=64)
    assert (figures.egress.delay_ms(0.5), figures.ingress.delay_ms(0.5)) == (0.5, 1.0)
    assert figures.egress.delay_ms(0.1) == pytest.approx(0.1)
    assert (figures.rtt_p10_ms, figures.rtt_p50_ms, figures.rtt_p90_ms) == (1, 5, 9)
    assert (figures.late_at_ms(0.5), figures.late_at_ms(1.0)) == (0.5, 1.0)
    assert figures.egress.rate_mbit == pytest.approx(100)
    assert figures.ingress.rate_mbit is None
    assert figures.frame_bytes == 106, "64 bytes, and the headers of Ethernet, IPv4 and UDP"


def test_without_arrivals_there_is_no_delay() -> None:
    assert DirectionFigures(packets=4, lost=4, duplicated=0, overtaking=0).delay_ms(0.5) is None
    assert figures_of(there=[0], back=[0]).late_at_ms(0.5) is None


@pytest.mark.parametrize("there", [[], [0, 1]], ids=["nothing-there", "nothing-back"])
def test_a_link_that_returns_no_probe_is_an_error(there: Sequence[int]) -> None:
    with pytest.raises(ValueError, match="none of 4 probes came back"):
        figures_of(there=there, back=[])


def test_results_contain_shares_in_percent() -> None:
    figures = figures_of(there=[1, 0, 2, 2], back=[0, 1, 2, 2], egress=LOAD_OF_100_MBIT)
    assert figures.egress.to_json() == {
        "delay_ms": 1.0,
        "loss_pct": 25,
        "duplicate_pct": 25,
        "reorder_pct": 25,
        "rate_mbit": pytest.approx(100),
        "packets": 4,
    }


def carried(rate_mbit: float, *, noise: tuple[float, float], seed: int = 7450, **load: float) -> float:
    share, median_ms = noise
    gaps = Gaps(np.random.default_rng(seed), share=share, median_ms=median_ms)
    return carried_mbit(loaded(rate_mbit, gaps, **load))


@over_noise
@pytest.mark.parametrize("rate_mbit", [2, 10, 100, 400])
def test_a_loaded_link_shows_its_rate_however_busy_the_host_is(rate_mbit: float, noise: tuple[float, float]) -> None:
    """Data that was delayed by a pause arrives at once, which must not raise the rate."""
    # During a long pause of the sender, the queue of a fast link becomes empty, which lowers the rate.
    least = 0.9 if rate_mbit <= 100 or noise[0] < 0.3 else 0.7
    for seed in range(10):
        assert least * rate_mbit < carried(rate_mbit, noise=noise, seed=seed) < 1.01 * rate_mbit


def test_a_pause_at_the_beginning_does_not_raise_the_rate() -> None:
    """The rate from the first to the last point would be too high."""
    points = [[at_us, at_us * 10] for at_us in range(0, 400_000, 1000) if not 0 < at_us < 40_000]
    # After a pause of 40 ms, the delayed data arrives at once.
    points[0] = [38_000, 0]
    assert 8 * (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0]) > 88
    assert carried_mbit(points) == pytest.approx(80)


@over_noise
def test_a_host_that_carries_less_lowers_the_rate(noise: tuple[float, float]) -> None:
    assert carried(500, noise=noise, host_mbit=300) < 320


@over_noise
def test_a_sender_that_is_too_slow_lowers_the_rate(noise: tuple[float, float]) -> None:
    """The sender does not send later what it has missed."""
    assert carried(100, noise=noise, offered=0.7) < 75


@pytest.mark.parametrize("points", [[], [[0, 0]], [[0, 0], [900, 1514]]], ids=len)
def test_a_load_that_hardly_arrives_has_a_rate_of_zero(points: list[list[int]]) -> None:
    """The link then counts as too slow, and is measured again."""
    assert carried_mbit(points) == 0


def seen(*, ahead_us: int, there_us: tuple[int, ...], back_us: tuple[int, ...]) -> PathSeen:
    """Return a leading agent's result if the other agent's clock is ahead."""
    return PathSeen(
        sent=len(there_us),
        late=(),
        there=tuple((number, way_us + ahead_us) for number, way_us in enumerate(there_us)),
        back=tuple((number, way_us - ahead_us, there_us[number] + way_us) for number, way_us in enumerate(back_us)),
        loads={},
    )


@pytest.mark.parametrize("ahead_us", [0, 1_000, -5_000_000_000])
def test_the_fastest_probes_show_how_far_the_other_clock_is_ahead(ahead_us: int) -> None:
    """Slower probes waited in one direction. With asymmetric paths, the error is half of the difference."""
    assert other_ahead_us(seen(ahead_us=ahead_us, there_us=(900, 100, 300), back_us=(100, 4000, 200))) == ahead_us
    assert other_ahead_us(seen(ahead_us=ahead_us, there_us=(300,), back_us=(100,))) == ahead_us + 100


def test_clocks_cannot_be_compared_if_no_probe_came_back() -> None:
    with pytest.raises(ValueError, match="none of 1 probes came back"):
        other_ahead_us(PathSeen(sent=1, late=(), there=((0, 5),), back=(), loads={}))
