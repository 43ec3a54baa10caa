"""A link is measured until it is as requested, or has a rate that the host can carry."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.support.simulated_links import PAYLOAD_BYTES, measured
from tuneproof.lab.network import settling
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.link_faults import PRECONDITION
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.network.path import LinkFigures
from tuneproof.lab.network.settling import lowered, settle

FAST = LinkProfile.both(Impairment(rate_mbit=500))
FAR = LinkProfile.both(Impairment(delay_ms=5))
Measure = Callable[[LinkProfile], LinkFigures]


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "_PAUSE_S", 0.0)


def carrying(profile: LinkProfile, *, egress_mbit: float, ingress_mbit: float) -> LinkFigures:
    link = LinkProfile(**{name: Impairment(delay_ms=way.delay_ms) for name, way in profile.directions.items()})
    figures = LinkFigures.from_probes(
        measured(link, np.random.default_rng(7450), packets=200), payload_bytes=PAYLOAD_BYTES
    )
    return replace(
        figures,
        egress=replace(figures.egress, rate_mbit=egress_mbit),
        ingress=replace(figures.ingress, rate_mbit=ingress_mbit),
    )


def on_a_host(*carried_mbit: float) -> tuple[Measure, list[LinkProfile]]:
    """Return a function that measures links on a host with these egress rates, and the list of measured profiles."""
    profiles: list[LinkProfile] = []
    hosts: Iterator[float] = iter(carried_mbit)

    def measure(profile: LinkProfile) -> LinkFigures:
        profiles.append(profile)
        rates = {name: way.rate_mbit or 0.0 for name, way in profile.directions.items()}
        return carrying(profile, egress_mbit=min(rates["egress"], next(hosts)), ingress_mbit=rates["ingress"])

    return measure, profiles


@pytest.mark.parametrize("carried_mbit", [(800,), (300, 400, 500)], ids=["at-once", "after-retries"])
def test_a_link_is_measured_until_it_is_correct(carried_mbit: tuple[float, ...]) -> None:
    measure, profiles = on_a_host(*carried_mbit)
    settled = settle(FAST, measure, PRECONDITION)
    assert (settled.profile, settled.wrong, profiles) == (FAST, (), [FAST] * len(carried_mbit))


def test_a_rate_that_the_host_does_not_carry_is_lowered_only_in_that_direction() -> None:
    """The new rate is 70 % of the last measured one; the other direction keeps its rate."""
    measure, profiles = on_a_host(300, 420, 410, 410)
    settled = settle(FAST, measure, PRECONDITION)
    assert settled.wrong == ()
    assert settled.profile == LinkProfile(egress=Impairment(rate_mbit=280), ingress=Impairment(rate_mbit=500))
    assert profiles == [FAST, FAST, FAST, settled.profile]


@pytest.mark.parametrize("carried_mbit", [0, 130])
def test_a_rate_is_not_lowered_below_a_fifth_of_the_requested_one(carried_mbit: int) -> None:
    """That would be another network, so the fault is reported instead."""
    measure, profiles = on_a_host(*[carried_mbit] * 3)
    assert settle(FAST, measure, PRECONDITION).wrong == (
        f"egress rate {carried_mbit} Mbit/s, wanted 500 within 10 %",
        f"egress: the host carries {carried_mbit} of 500 Mbit/s now, too little to lower the rate",
    )
    assert profiles == [FAST] * 3


def test_a_rate_is_lowered_at_most_twice() -> None:
    """A host that becomes slower each time is not suitable for measuring."""
    measure, profiles = on_a_host(*[400] * 3, *[240] * 3, *[140] * 3)
    settled = settle(FAST, measure, PRECONDITION)
    assert settled.wrong == ("egress rate 140 Mbit/s, wanted 160 within 10 %",)
    assert len(profiles) == 9


def test_a_link_that_is_stuck_at_another_rate_is_found() -> None:
    """After its rate is lowered to 70 %, the link is faster than set, which a host cannot cause."""

    def measure(profile: LinkProfile) -> LinkFigures:
        return carrying(profile, egress_mbit=250, ingress_mbit=500)

    assert settle(FAST, measure, PRECONDITION).wrong == ("egress rate 250 Mbit/s, wanted 170 within 10 %",)


@pytest.mark.parametrize(
    ("real", "times", "wrong"),
    [
        ({"delay_ms": 5}, 1, 0),
        ({"delay_ms": 8}, 3, 2),
        ({"delay_ms": 2}, 1, 2),
        ({"delay_ms": 5, "loss_pct": 6}, 3, 2),
        ({"delay_ms": 5, "duplicate_pct": 10}, 1, 2),
    ],
    ids=["right", "late", "early", "lossy", "duplicating"],
)
def test_only_faults_that_a_host_can_cause_are_measured_again(real: dict[str, float], times: int, wrong: int) -> None:
    """A lower rate would not remove these faults. Both directions have them, and both are reported."""
    rng = np.random.default_rng(7450)
    profiles: list[LinkProfile] = []
    link = LinkProfile.both(Impairment(**real))  # type: ignore[arg-type] # no limit

    def measure(profile: LinkProfile) -> LinkFigures:
        profiles.append(profile)
        return LinkFigures.from_probes(measured(link, rng, packets=400), payload_bytes=PAYLOAD_BYTES)

    settled = settle(FAR, measure, PRECONDITION)
    assert profiles == [FAR] * times
    assert len({fault.partition(" ")[0].strip(":") for fault in settled.wrong}) == wrong


def test_lowering_the_rate_of_a_direction_without_a_measured_rate_is_an_error() -> None:
    figures = LinkFigures.from_probes(measured(FAR, np.random.default_rng(1), packets=20), payload_bytes=PAYLOAD_BYTES)
    with pytest.raises(ValueError, match="egress: a direction without a measured rate is not slow"):
        lowered(FAR, FAR, figures, ["egress"])


@pytest.mark.parametrize(("carried_mbit", "set_mbit"), [(410, 280), (999, 690), (29, 20), (14.4, 10), (1.31, 0.91)])
def test_lowered_rates_are_rounded_down(carried_mbit: float, set_mbit: float) -> None:
    """They have two significant digits, and are at most 70 % of the carried rate."""
    link = LinkProfile(egress=Impairment(rate_mbit=carried_mbit * 2))
    figures = carrying(link, egress_mbit=carried_mbit, ingress_mbit=1)
    assert lowered(link, link, figures, ["egress"]).egress.rate_mbit == pytest.approx(set_mbit)
