"""From the arrivals of probes to figures."""

from collections.abc import Sequence

import pytest

from tuneproof.lab.network.path import DirectionFigures, LinkFigures
from tuneproof.lab.network.rates import CarriedRate
from tuneproof.lab.protocol.links import PathSeen

# 12.5 bytes per microsecond.
LOAD_OF_100_MBIT = tuple((at_us, at_us * 25 // 2) for at_us in range(0, 100_000, 1000))


def told(
    *, there: Sequence[int], back: Sequence[int], sent: int = 4, **loads: tuple[tuple[int, int], ...]
) -> LinkFigures:
    """Return the figures for probes that arrived in this order, 1 ms after their sending each way."""
    seen = PathSeen(
        sent=sent,
        late=(),
        there=tuple((number, 1000) for number in there),
        back=tuple((number, 1000, 2000) for number in back),
        loads=loads,
    )
    return LinkFigures.from_probes(seen, payload_bytes=64)


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


def test_times_are_quantiles_in_milliseconds() -> None:
    """One slow probe does not move a median; how late the sender was is told in the same unit."""
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
    assert figures.egress.rate == CarriedRate(mbit=100, fastest_mbit=100)
    assert figures.ingress.rate is None
    assert figures.frame_bytes == 106, "64 bytes, and the headers of Ethernet, IPv4 and UDP"


def test_without_arrivals_there_is_no_delay() -> None:
    """Nothing to take a quantile of."""
    assert DirectionFigures(packets=4, lost=4, duplicated=0, overtaking=0).delay_ms(0.5) is None
    assert told(there=[0], back=[0]).late_at_ms(0.5) is None


@pytest.mark.parametrize("there", [[], [0, 1]], ids=["nothing-there", "nothing-back"])
def test_a_link_that_lets_nothing_come_back_has_no_figures(there: Sequence[int]) -> None:
    """There is no round trip to give."""
    with pytest.raises(ValueError, match="none of 4 probes came back"):
        told(there=there, back=[])


def test_results_have_shares_in_percent() -> None:
    """Two of four probes are 50 %."""
    figures = told(there=[1, 0, 2, 2], back=[0, 1, 2, 2], egress=LOAD_OF_100_MBIT)
    assert figures.egress.to_json() == {
        "delay_ms": 1.0,
        "loss_pct": 25,
        "duplicate_pct": 25,
        "reorder_pct": 25,
        "rate_mbit": pytest.approx(100),
        "packets": 4,
    }
