"""A link's figures are compared with its settings, and become the records in a result."""

from typing import Any

import pytest

from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.link_faults import (
    PRECONDITION,
    Tolerance,
    expected_ms,
    expected_rtt_ms,
    faults,
    link_records,
    made_to_wait,
)
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.network.path import DirectionFigures, LinkFigures
from tuneproof.lab.network.profiles import PROFILES

EXACT = Tolerance(delay_above_ms=1.0, spread_ms=0.5, rate_pct=5.0, error_probability=0.12)
"""Each comparison has a twelfth of the error probability: one percent."""


def figures(
    *,
    delay_ms: float = 5.0,
    quarter_ms: float = 0.1,
    packets: int = 1000,
    rate: float | None = None,
    late_ms: tuple[float, ...] = (),
    **egress: Any,
) -> LinkFigures:
    """Return the figures of a link without faults, except for the given ones of egress."""
    clean: dict[str, Any] = {"lost": 0, "duplicated": 0, "overtaking": 0}
    tenth = packets // 10
    delays_ms = (delay_ms,) * tenth + (delay_ms + quarter_ms,) * (packets - tenth)
    return LinkFigures(
        egress=DirectionFigures(packets=packets, **{**clean, "delays_ms": delays_ms, "rate_mbit": rate, **egress}),
        ingress=DirectionFigures(packets=packets, delays_ms=(5.0,) * packets, **clean),
        frame_bytes=106,
        rtt_p10_ms=9.9,
        rtt_p50_ms=10.0,
        rtt_p90_ms=10.1,
        late_ms=late_ms,
    )


def egress(**fields: Any) -> LinkProfile:
    """Return a link with 5 ms each way, and an additional effect on egress."""
    return LinkProfile(egress=Impairment(**{"delay_ms": 5, **fields}), ingress=Impairment(delay_ms=5))


RATED = {"delay_ms": 4.992, "rate_mbit": 106}
UNIFORM = tuple(2.0 + 6.0 * (number + 0.5) / 1000 for number in range(1000))
"""1000 delays from 2 to 8 ms, evenly spaced."""


# 20 of 1000 packets are expected to be lost; 99 % of such links lose between 10 and 32.
COUNTS = {
    "lost": ({"loss_pct": 2}, "lost", (10, 32), (False, True)),
    "none-lost": ({}, "lost", (0, 0), (False, True)),
    # A receiver drops a packet with a wrong bit unless no checksum covers that bit.
    "corrupt": ({"corrupt_pct": 2}, "lost", (0, 32), (False, True)),
    "twice": ({"duplicate_pct": 2}, "duplicated", (10, 32), (False, False)),
    "overtaking": ({"reorder_pct": 2}, "overtaking", (10, 32), (False, False)),
}


@pytest.mark.parametrize(("way", "what", "limits", "by_host"), COUNTS.values(), ids=COUNTS)
def test_a_count_is_right_within_its_limits_and_the_only_fault_beyond_them(
    way: dict[str, float], what: str, limits: tuple[int, int], by_host: tuple[bool, bool]
) -> None:
    """A busy host may lose packets, but does not cause the other faults."""
    seen: list[dict[str, Any]] = [{what: limits[0]}, {what: limits[1]}, {what: limits[0] - 1}, {what: limits[1] + 1}]
    for inside in seen[:2]:
        assert faults(egress(**way), figures(**inside), EXACT) == []
    for outside, host in zip(seen[2:], by_host, strict=True):
        if outside[what] >= 0:
            (found,) = faults(egress(**way), figures(**outside), EXACT)
            text = f"egress: {outside[what]} of 1000 probes {what}, wanted {limits[0]} to {limits[1]}"
            assert (found.text, found.by_host) == (text, host)


@pytest.mark.parametrize(
    ("profile", "measured"),
    [
        (egress(), figures(delay_ms=5.0)),
        (egress(), figures(delay_ms=6.0)),
        (egress(), figures(quarter_ms=1.5)),
        # Twice the host's lateness is tolerated in addition.
        (egress(), figures(delay_ms=6.8, late_ms=(0.4,) * 1000)),
        (egress(jitter_ms=3), figures(delays_ms=UNIFORM)),
        # The 5 % quantile is between the 30th and the 71st of 1000 delays, at 2.18 to 2.43 ms; the median is at 4.75 to
        # 5.25 ms. A millisecond more is tolerated.
        (egress(jitter_ms=3), figures(delays_ms=tuple(delay_ms - 0.1 for delay_ms in UNIFORM))),
        (egress(jitter_ms=3), figures(delays_ms=tuple(delay_ms + 1.1 for delay_ms in UNIFORM))),
        (egress(**RATED), figures(rate=100.8)),
        (egress(**RATED), figures(rate=111.2)),
        (egress(**RATED), figures(rate=None)),
        (egress(jitter_ms=3), figures(delays_ms=UNIFORM, overtaking=400)),
        # Packets that are sent at once show no delay.
        (egress(reorder_pct=2), figures(overtaking=20, delays_ms=(0.1,) * 100 + (5.1,) * 900)),
        (egress(reorder_pct=60), figures(overtaking=590, delays_ms=(0.1,) * 1000)),
        (egress(), figures(delays_ms=())),
    ],
    ids=lambda value: "" if isinstance(value, LinkFigures) else None,
)
def test_a_value_just_within_its_tolerance_is_not_a_fault(profile: LinkProfile, measured: LinkFigures) -> None:
    assert list(map(str, faults(profile, measured, EXACT))) == []


@pytest.mark.parametrize(
    ("profile", "measured", "share", "value", "wanted", "by_host"),
    [
        (egress(), figures(delay_ms=4.99), 5, "4.99", "5.00 to 6.00", False),
        (egress(), figures(delay_ms=6.01), 5, "6.01", "5.00 to 6.00", True),
        (egress(), figures(quarter_ms=1.51), 25, "6.51", "5.00 to 6.50", True),
        (egress(), figures(delay_ms=6.81, late_ms=(0.4,) * 1000), 5, "6.81", "5.00 to 6.80", True),
        (egress(jitter_ms=3), figures(delays_ms=(5.0,) * 1000), 5, "5.00", "2.19 to 3.42", True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_delay_just_beyond_its_tolerance_is_the_only_fault(
    profile: LinkProfile, measured: LinkFigures, share: int, value: str, wanted: str, *, by_host: bool
) -> None:
    text = f"egress: {share} % of the delays are below {value} ms, wanted {wanted} ms"
    assert [(found.text, found.by_host) for found in faults(profile, measured, EXACT)] == [(text, by_host)]


@pytest.mark.parametrize(("rate", "by_host"), [(111.4, False), (100.6, True)])
def test_a_rate_just_beyond_its_tolerance_is_the_only_fault(rate: float, *, by_host: bool) -> None:
    """No host makes a link faster; only a link that is too slow can get a lower rate."""
    text = f"egress rate {rate} Mbit/s, wanted 106 within 5 %"
    found = faults(egress(**RATED), figures(rate=rate), EXACT)
    slow = "egress" if by_host else None
    assert [(fault.text, fault.by_host, fault.slow) for fault in found] == [(text, by_host, slow)]


def test_all_faults_of_both_directions_are_named() -> None:
    found = faults(PROFILES["lossy"].client, figures(delay_ms=0.1, rate=900.0), PRECONDITION)
    assert [str(fault).partition(",")[0] for fault in found] == [
        "egress: 5 % of the delays are below 0.10 ms",
        "egress: 25 % of the delays are below 0.20 ms",
        "egress: 0 of 1000 probes lost",
        "egress rate 900 Mbit/s",
        "ingress: 5 % of the delays are below 5.00 ms",
        "ingress: 25 % of the delays are below 5.00 ms",
        "ingress: 0 of 1000 probes lost",
    ]


def test_a_links_records_become_part_of_a_result() -> None:
    profile = PROFILES["wan"].client
    measured = figures(delay_ms=20.1, rate=101.0, late_ms=(0.25,) * 1000)
    records = link_records(profile, measured, PRECONDITION, network="wan", link="client", shaper="wire")
    out, into = records
    assert [out[name] for name in ("network", "link", "direction", "shaper")] == ["wan", "client", "egress", "wire"]
    assert into["direction"] == "ingress"
    assert out["set"] == {
        **profile.egress.to_json(),
        "delay_p5_ms": pytest.approx(20.00848),
        "rtt_p50_ms": pytest.approx(40.01696),
    }
    assert out["measured"]["delay_p5_ms"] == pytest.approx(20.1)
    assert (out["measured"]["rate_mbit"], into["measured"]["rate_mbit"]) == (101, None)
    assert out["measured"]["rtt_p50_ms"] == into["measured"]["rtt_p50_ms"] == 10.0
    assert out["measured"]["host_late_p50_ms"] == into["measured"]["host_late_p95_ms"] == 0.25
    # The tolerance is twice the host's lateness plus a millisecond.
    assert out["tolerance"] == into["tolerance"] == {"delay_p5_ms": pytest.approx(1.5), "rate_pct": 10}
    assert "asked" not in out
    nothing_waits = LinkProfile.both(Impairment(delay_ms=5, reorder_pct=60))
    (out, _) = link_records(nothing_waits, figures(), PRECONDITION, network="n", link="client", shaper="wire")
    assert out["measured"]["delay_p5_ms"] is None


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
def test_the_round_trip_is_both_delays_and_the_transmission_time(profile: LinkProfile, rtt_ms: float) -> None:
    """106 bytes are 848 bits, which take 0.848 ms at 10^6 bit/s. Jitter does not change the mean."""
    assert expected_rtt_ms(profile, frame_bytes=106) == pytest.approx(rtt_ms)


def test_a_rarely_late_host_does_not_change_a_low_quantile() -> None:
    """Three of four wake-ups are on time, so for more than half of the packets, both wake-ups are."""
    late_ms = [0.0, 0.0, 0.0, 8.0]
    assert expected_ms(Impairment(delay_ms=20), 0.05, frame_bytes=106, late_ms=late_ms) == pytest.approx(20)
    assert expected_ms(Impairment(delay_ms=20), 0.95, frame_bytes=106, late_ms=late_ms) > 28


@pytest.mark.parametrize(
    ("way", "waited"),
    [
        (Impairment(delay_ms=5), [0.1, 2.0, 5.1]),
        (Impairment(delay_ms=5, reorder_pct=10), [5.1]),
        (Impairment(delay_ms=5, jitter_ms=2, reorder_pct=10), [2.0, 5.1]),
        (Impairment(delay_ms=5, reorder_pct=60), []),
    ],
    ids=["all", "some-at-once", "some-at-once-with-jitter", "most-at-once"],
)
def test_packets_that_were_sent_at_once_show_no_delay(way: Impairment, waited: list[float]) -> None:
    assert made_to_wait(way, [0.1, 2.0, 5.1]) == waited
