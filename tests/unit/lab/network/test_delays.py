"""How long packets should take, on a host that pauses."""

import pytest

from tuneproof.lab.network.delays import expected_ms, expected_rtt_ms, made_to_wait
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile


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


@pytest.mark.parametrize(("share", "delay_ms"), [(0, 15), (0.25, 17.5), (0.5, 20), (1, 25)])
def test_jitter_is_uniform(share: float, delay_ms: float) -> None:
    """As netem's is without a distribution table."""
    assert expected_ms(Impairment(delay_ms=20, jitter_ms=5), share, frame_bytes=106) == pytest.approx(delay_ms)


def test_a_host_that_is_always_late_is_late_twice() -> None:
    """When a packet is taken, and when it is let go."""
    late = expected_ms(Impairment(delay_ms=20), 0.5, frame_bytes=106, late_ms=[0.3] * 10)
    assert late == pytest.approx(20.6)


def test_a_host_that_is_rarely_late_does_not_move_a_low_quantile() -> None:
    """Three of four wake-ups are in time, so that more than half of the packets are."""
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
def test_packets_that_were_sent_at_once_tell_no_delay(way: Impairment, waited: list[float]) -> None:
    """Where nothing is sent at once, a short delay is a fault and stays."""
    assert made_to_wait(way, [0.1, 2.0, 5.1]) == waited
