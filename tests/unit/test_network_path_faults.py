"""From figures to what is wrong with a link, at the edges of each tolerance, and to a cell's records."""

from typing import Any

import pytest

from fixtures.network.impairments import Impairment
from fixtures.network.links import LinkProfile
from fixtures.network.path import (
    PRECONDITION,
    SELF_CHECK,
    DirectionFigures,
    LinkFigures,
    Tolerance,
    faults,
    link_records,
    rtt_allowance_ms,
)
from fixtures.network.profiles import PROFILES
from fixtures.report.cells import Cell
from tests.unit.inner_pytest import cell

EXACT = Tolerance(rtt_above_ms=1.0, spread_ms=0.5, rate_pct=5.0, error_probability=0.06)
"""With six counts per link, each of them gets one percent."""


def figures(
    *, rtt_ms: float = 10.0, spread_ms: float = 0.1, packets: int = 1000, **egress: float | None
) -> LinkFigures:
    """Return a link whose ways are as they were sent, but for what a test says of the way there."""
    clean: dict[str, Any] = {"lost": 0, "duplicated": 0, "overtaking": 0, "delay_ms": 5.0, "rate_mbit": None}
    return LinkFigures(
        egress=DirectionFigures(packets=packets, **{**clean, **egress}),
        ingress=DirectionFigures(packets=packets, **clean),
        frame_bytes=106,
        rtt_p10_ms=rtt_ms - spread_ms / 2,
        rtt_p50_ms=rtt_ms,
        rtt_p90_ms=rtt_ms + spread_ms / 2,
    )


def egress(**fields: Any) -> LinkProfile:
    """Return a link with 5 ms each way, whose way there does something more."""
    return LinkProfile(egress=Impairment(**{"delay_ms": 5, **fields}), ingress=Impairment(delay_ms=5))


@pytest.mark.parametrize(
    ("profile", "measured"),
    [
        (egress(), figures(rtt_ms=10.0)),
        (egress(), figures(rtt_ms=11.0)),
        (egress(), figures(spread_ms=0.5)),
        # The median of 1000 delays that vary by 3 ms may be off by 0.2746 ms.
        (egress(jitter_ms=3), figures(rtt_ms=9.726, spread_ms=3.0)),
        (egress(jitter_ms=3), figures(rtt_ms=11.274, spread_ms=3.0)),
        (egress(delay_ms=4.992, rate_mbit=106), figures(rate_mbit=106 * 1.0499)),
        (egress(delay_ms=4.992, rate_mbit=106), figures(rate_mbit=106 * 0.9501)),
        (egress(delay_ms=4.992, rate_mbit=106), figures(rate_mbit=None)),
        # 20 of 1000 are expected; 99 % of all links have between 10 and 32.
        (egress(loss_pct=2), figures(lost=10)),
        (egress(loss_pct=2), figures(lost=32)),
        (egress(duplicate_pct=2), figures(duplicated=10)),
        (egress(duplicate_pct=2), figures(duplicated=32)),
        (egress(reorder_pct=2), figures(overtaking=10)),
        (egress(reorder_pct=2), figures(overtaking=32)),
        (egress(jitter_ms=3), figures(overtaking=400)),
        # A receiver drops a packet with a wrong bit, if it looks.
        (egress(corrupt_pct=2), figures(lost=0)),
        (egress(corrupt_pct=2), figures(lost=32)),
    ],
    ids=lambda value: "" if isinstance(value, LinkFigures) else None,
)
def test_what_is_just_within_its_tolerance_is_no_fault(profile: LinkProfile, measured: LinkFigures) -> None:
    """The ends of an interval belong to it."""
    assert faults(profile, measured, EXACT) == []


@pytest.mark.parametrize(
    ("profile", "measured", "fault"),
    [
        (egress(), figures(rtt_ms=9.99), "median round trip 9.99 ms, wanted 10.00 to 11.00 ms for 10.00 ms"),
        (egress(), figures(rtt_ms=11.01), "median round trip 11.01 ms, wanted 10.00 to 11.00 ms for 10.00 ms"),
        (
            egress(jitter_ms=3),
            figures(rtt_ms=9.72),
            "median round trip 9.72 ms, wanted 9.73 to 11.27 ms for 10.00 ms",
        ),
        (
            egress(jitter_ms=3),
            figures(rtt_ms=11.28),
            "median round trip 11.28 ms, wanted 9.73 to 11.27 ms for 10.00 ms",
        ),
        (egress(), figures(spread_ms=0.51), "the round trip spreads over 0.51 ms, wanted 0.5 at most"),
        (
            egress(delay_ms=4.992, rate_mbit=106),
            figures(rate_mbit=111.4),
            "egress rate 111.4 Mbit/s, wanted 106 within 5 %",
        ),
        (
            egress(delay_ms=4.992, rate_mbit=106),
            figures(rate_mbit=100.6),
            "egress rate 100.6 Mbit/s, wanted 106 within 5 %",
        ),
        (egress(loss_pct=2), figures(lost=9), "egress: 9 of 1000 probes lost, wanted 10 to 32"),
        (egress(loss_pct=2), figures(lost=33), "egress: 33 of 1000 probes lost, wanted 10 to 32"),
        (egress(), figures(lost=1), "egress: 1 of 1000 probes lost, wanted 0 to 0"),
        (egress(corrupt_pct=2), figures(lost=33), "egress: 33 of 1000 probes lost, wanted 0 to 32"),
        (egress(duplicate_pct=2), figures(duplicated=9), "egress: 9 of 1000 probes duplicated, wanted 10 to 32"),
        (egress(duplicate_pct=2), figures(duplicated=33), "egress: 33 of 1000 probes duplicated, wanted 10 to 32"),
        (egress(), figures(duplicated=1), "egress: 1 of 1000 probes duplicated, wanted 0 to 0"),
        (egress(reorder_pct=2), figures(overtaking=9), "egress: 9 of 1000 probes overtaking, wanted 10 to 32"),
        (egress(reorder_pct=2), figures(overtaking=33), "egress: 33 of 1000 probes overtaking, wanted 10 to 32"),
        (egress(), figures(overtaking=1), "egress: 1 of 1000 probes overtaking, wanted 0 to 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_just_beyond_its_tolerance_is_the_only_fault(
    profile: LinkProfile, measured: LinkFigures, fault: str
) -> None:
    """One sentence with both figures; nothing else is blamed for it."""
    assert faults(profile, measured, EXACT) == [fault]


def test_all_faults_of_both_directions_are_named() -> None:
    """A link that was not shaped at all differs in everything."""
    found = faults(PROFILES["lossy"].client, figures(rtt_ms=0.1, spread_ms=6.0, rate_mbit=900.0), PRECONDITION)
    assert [fault.partition(",")[0] for fault in found] == [
        "median round trip 0.10 ms",
        "the round trip spreads over 6.00 ms",
        "egress: 0 of 1000 probes lost",
        "egress rate 900 Mbit/s",
        "ingress: 0 of 1000 probes lost",
    ]


def test_the_records_of_a_link_are_what_a_cell_takes() -> None:
    """One for each direction, with the limits that they were judged by, and back from JSON as they were."""
    profile = PROFILES["wan"].client
    measured = figures(rtt_ms=40.5, rate_mbit=101.0)
    records = link_records(profile, measured, PRECONDITION, network="wan", link="client", shaper="wire")
    made = cell(links=tuple(records))
    assert Cell.from_json(made.to_json()) == made
    out, into = made.to_json()["links"]
    assert [out[name] for name in ("network", "link", "direction", "shaper")] == ["wan", "client", "egress", "wire"]
    assert into["direction"] == "ingress"
    assert out["set"] == {
        **profile.egress.to_json(),
        "rtt_p50_ms": pytest.approx(40.01696),
    }
    assert (out["measured"]["rate_mbit"], into["measured"]["rate_mbit"]) == (101, None)
    assert out["measured"]["rtt_p50_ms"] == into["measured"]["rtt_p50_ms"] == 40.5
    assert out["tolerance"] == into["tolerance"] == {"rtt_p50_ms": 2, "rate_pct": 10}


def test_the_limit_in_a_record_leaves_room_for_varying_delays() -> None:
    """It is the one that the link was judged by."""
    profile = PROFILES["jittery"].client
    (out, _) = link_records(profile, figures(), PRECONDITION, network="jittery", link="client", shaper="wire")
    assert out["tolerance"]["rtt_p50_ms"] == pytest.approx(2 + rtt_allowance_ms(profile, packets=1000))


def test_the_self_check_is_the_stricter_one() -> None:
    """What passes it is good enough for a claim as well."""
    assert SELF_CHECK.rtt_above_ms < PRECONDITION.rtt_above_ms
    assert SELF_CHECK.spread_ms < PRECONDITION.spread_ms
    assert SELF_CHECK.rate_pct < PRECONDITION.rate_pct
    assert SELF_CHECK.error_probability > PRECONDITION.error_probability
