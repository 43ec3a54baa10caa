"""From the arrivals of probes to figures, and what those of a link should be."""

from collections.abc import Sequence

import pytest

from fixtures.network.impairments import Impairment
from fixtures.network.links import LinkProfile
from fixtures.network.path import DirectionFigures, LinkFigures, expected_rtt_ms, rtt_allowance_ms


def told(*, there: Sequence[int], back: Sequence[int], sent: int = 4, **rates: float) -> LinkFigures:
    """Return the figures for probes that arrived in this order, 1 ms after their sending each way."""
    raw = {
        "sent": sent,
        "there": [[number, 1000] for number in there],
        "back": [[number, 1000, 2000] for number in back],
        "rates": rates,
    }
    return LinkFigures.from_json(raw, payload_bytes=64)


def counts(figures: DirectionFigures) -> tuple[int, int, int, int]:
    """Return packets, lost, duplicated, overtaking."""
    return figures.packets, figures.lost, figures.duplicated, figures.overtaking


@pytest.mark.parametrize(
    ("there", "back", "egress", "ingress"),
    [
        ([0, 1, 2, 3], [0, 1, 2, 3], (4, 0, 0, 0), (4, 0, 0, 0)),
        ([0, 2, 3], [0, 2, 3], (4, 1, 0, 0), (3, 0, 0, 0)),
        ([0, 1, 2, 3], [0, 3], (4, 0, 0, 0), (4, 2, 0, 0)),
        ([0, 2, 3], [0, 3], (4, 1, 0, 0), (3, 1, 0, 0)),
        ([0, 1, 1, 2, 3], [0, 1, 1, 2, 3], (4, 0, 1, 0), (4, 0, 0, 0)),
        ([0, 1, 2, 3], [0, 1, 1, 2, 2, 3], (4, 0, 0, 0), (4, 0, 2, 0)),
        ([0, 1, 1, 2, 3], [0, 1, 1, 2, 2, 3], (4, 0, 1, 0), (4, 0, 1, 0)),
        ([0, 1, 1, 2, 3], [0, 1, 2, 3], (4, 0, 1, 0), (4, 0, 0, 0)),
        ([1, 0, 2, 3], [1, 0, 2, 3], (4, 0, 0, 1), (4, 0, 0, 0)),
        ([0, 1, 2, 3], [3, 0, 1, 2], (4, 0, 0, 0), (4, 0, 0, 1)),
        ([1, 0, 2, 3], [0, 1, 2, 3], (4, 0, 0, 1), (4, 0, 0, 1)),
        ([2, 3, 0, 1], [2, 3, 0, 1], (4, 0, 0, 2), (4, 0, 0, 0)),
    ],
    ids=[
        "nothing",
        "lost-there",
        "lost-back",
        "lost-both-ways",
        "twice-there",
        "twice-back",
        "twice-both-ways",
        "second-copy-lost-back",
        "overtaken-there",
        "overtaken-back",
        "overtaken-there-and-again-back",
        "two-overtake-two",
    ],
)
def test_each_direction_is_told_apart(
    there: Sequence[int], back: Sequence[int], egress: tuple[int, ...], ingress: tuple[int, ...]
) -> None:
    """What the way there did to a probe is what the way back was given, and no fault of it."""
    figures = told(there=there, back=back)
    assert counts(figures.egress) == egress
    assert counts(figures.ingress) == ingress


def test_times_are_medians_and_percentiles_in_milliseconds() -> None:
    """One slow probe does not move a median; the round trip's spread leaves a tenth out at both ends."""
    raw = {
        "sent": 11,
        "there": [[number, 100 * number] for number in range(11)],
        "back": [[number, 200 * number, 1000 * number] for number in range(11)],
        "rates": {"egress": 12_500_000.0},
    }
    figures = LinkFigures.from_json(raw, payload_bytes=64)
    assert (figures.egress.delay_ms, figures.ingress.delay_ms) == (0.5, 1.0)
    assert (figures.rtt_p10_ms, figures.rtt_p50_ms, figures.rtt_p90_ms, figures.spread_ms) == (1, 5, 9, 8)
    assert (figures.egress.rate_mbit, figures.ingress.rate_mbit) == (100, None)
    assert figures.frame_bytes == 106, "64 bytes, and the headers of Ethernet, IPv4 and UDP"


@pytest.mark.parametrize("there", [[], [0, 1]], ids=["nothing-there", "nothing-back"])
def test_a_link_that_lets_nothing_come_back_has_no_figures(there: Sequence[int]) -> None:
    """There is no round trip to give."""
    with pytest.raises(ValueError, match="none of 4 probes came back"):
        told(there=there, back=[])


def test_results_have_shares_in_percent() -> None:
    """Two of four probes are 50 %."""
    figures = told(there=[1, 0, 2, 2], back=[0, 1, 2, 2], egress=12_500_000.0)
    assert figures.egress.to_json() == {
        "delay_ms": 1.0,
        "loss_pct": 25,
        "duplicate_pct": 25,
        "reorder_pct": 25,
        "rate_mbit": 100,
        "packets": 4,
    }


@pytest.mark.parametrize(
    ("profile", "rtt_ms"),
    [
        (LinkProfile(), 0),
        (LinkProfile(egress=Impairment(delay_ms=3), ingress=Impairment(delay_ms=4)), 7),
        (LinkProfile(egress=Impairment(rate_mbit=1)), 0.848),
        (LinkProfile.both(Impairment(delay_ms=10, rate_mbit=2)), 20.848),
        (LinkProfile.both(Impairment(delay_ms=10, jitter_ms=5)), 20),
    ],
    ids=["unshaped", "delays", "rate", "both", "jitter"],
)
def test_the_round_trip_is_both_delays_and_the_time_of_the_bits(profile: LinkProfile, rtt_ms: float) -> None:
    """106 bytes are 848 bits, which take 0.848 ms at 10^6 bit/s; jitter goes both ways."""
    assert expected_rtt_ms(profile, frame_bytes=106) == pytest.approx(rtt_ms)


@pytest.mark.parametrize(
    ("profile", "packets", "allowance_ms"),
    [
        (LinkProfile.both(Impairment(delay_ms=20, rate_mbit=5)), 100, 0),
        # Four standard errors: 4 * sqrt(pi / 2) * (6 / sqrt(3)) / sqrt(100).
        (LinkProfile(egress=Impairment(delay_ms=20, jitter_ms=6)), 100, 1.7366),
        (LinkProfile(egress=Impairment(delay_ms=20, jitter_ms=6)), 400, 1.7366 / 2),
        (LinkProfile.both(Impairment(delay_ms=20, jitter_ms=6)), 100, 1.7366 * 2**0.5),
        (LinkProfile(ingress=Impairment(delay_ms=5, reorder_pct=10)), 100, 0.5),
    ],
    ids=["steady", "jitter", "more-packets", "two-jitters", "reordering"],
)
def test_a_median_of_varying_delays_may_be_off(profile: LinkProfile, packets: int, allowance_ms: float) -> None:
    """By four of its standard errors, which shrink with the root of the packets."""
    assert rtt_allowance_ms(profile, packets=packets) == pytest.approx(allowance_ms, rel=1e-4)
