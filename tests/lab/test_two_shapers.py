"""The lab's own promise: a profile is one network, whether the host's kernel shapes it or the user-mode shaper."""

import itertools
from collections.abc import Mapping
from typing import Final

import pytest
from scipy.stats import fisher_exact  # type: ignore[import-untyped]  # scipy ships no type information

from fixtures.engine import BuiltImages, PlaceCpus
from tests.support.path_lab import PEER, path_lab_specs
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.link_faults import SELF_CHECK
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.lab.network.path import LinkFigures
from tuneproof.lab.network.shaped_links import ProbePlan, ShapedLinks
from tuneproof.lab.network.shaper import NATIVE, WIRE, why_impossible
from tuneproof.lab.topology.lab import Lab

# Slow: both shapers are on few hosts, and each is held against what was set by test_netem_accuracy.
pytestmark = [pytest.mark.engine, pytest.mark.timing, pytest.mark.slow]

PLAN: Final = ProbePlan(packets=1500, interval_s=0.004, payload_bytes=64, load_s=2.0)
WAYS: Final[Mapping[str, Impairment]] = {
    "delay-20-ms-jitter-5-ms": Impairment(delay_ms=20, jitter_ms=5),
    "delay-10-ms-loss-5-percent": Impairment(delay_ms=10, loss_pct=5),
    "rate-10-mbit": Impairment(rate_mbit=10),
}
SHARES: Final = (0.05, 0.25, 0.5)
ERROR_PROBABILITY: Final = 0.001
"""Of each comparison of two counts of lost probes."""

Measured = Mapping[str, Mapping[str, LinkFigures]]


@pytest.fixture(scope="module")
def measured(lab_session: Session, images: BuiltImages, place_cpus: PlaceCpus) -> Measured:
    """What each shaper makes of each profile, by shaper and profile."""
    for shaper, reason in why_impossible(lab_session, images.roles["netadmin"]).items():
        if reason:
            pytest.skip(f"this host has not both shapers: {shaper}: {reason}")
    placement = place_cpus(())
    figures: dict[str, dict[str, LinkFigures]] = {}
    for shaper in (NATIVE, WIRE):
        with Lab(lab_session) as lab:
            lab.start(
                path_lab_specs(
                    shaper=shaper,
                    netadmin_image=images.roles["netadmin"],
                    client_image=images.roles["client"],
                    peer_cpuset=placement.subject,
                    others_cpuset=placement.others,
                )
            )
            links = ShapedLinks(lab, shaper=shaper)
            figures[shaper] = {name: measure(links, LinkProfile.both(way)) for name, way in WAYS.items()}
    return figures


def measure(links: ShapedLinks, link: LinkProfile) -> LinkFigures:
    """Shape the client's link, and measure it."""
    links.apply(NetworkProfile(name="both", summary="Of both shapers.", client=link), subject=PEER)
    return links.measure("client", link, subject=PEER, plan=PLAN)


def differences(one: LinkFigures, other: LinkFigures) -> list[str]:
    """Return what tells two links apart: quantiles of delays, lost probes, rates.

    Delays may differ by what the lab allows a link, and by twice the lateness of the host at either measurement: a
    packet waits for the CPU when the shaper takes it, and when it lets it go.
    """
    found = []
    for name in ("egress", "ingress"):
        ways = (one.directions[name], other.directions[name])
        for share in SHARES:
            delays_ms = [way.delay_ms(share) or 0.0 for way in ways]
            late_ms = max(figures.late_at_ms(share) or 0.0 for figures in (one, other))
            if abs(delays_ms[0] - delays_ms[1]) > SELF_CHECK.delay_above_ms + 2 * late_ms:
                found.append(f"{name}: {share:.0%} of the delays below {delays_ms} ms, late by {late_ms:.2f} ms")
        lost = [[way.lost, way.packets - way.lost] for way in ways]
        if fisher_exact(lost).pvalue < ERROR_PROBABILITY:
            found.append(f"{name}: lost and arrived {lost}")
        rates_mbit = [way.rate_mbit for way in ways]
        low, high = sorted(rate or 0.0 for rate in rates_mbit)
        if high > low * (1 + SELF_CHECK.rate_pct / 100):
            found.append(f"{name}: {rates_mbit} Mbit/s")
    return found


@pytest.mark.parametrize("profile", WAYS)
def test_both_shapers_make_the_same_network(measured: Measured, profile: str) -> None:
    """Delays within half a millisecond and the host's lateness, rates within 5 %, losses as if by one dice."""
    assert differences(measured[NATIVE][profile], measured[WIRE][profile]) == []


@pytest.mark.parametrize(("one", "other"), itertools.permutations(WAYS, 2))
def test_another_profile_is_another_network(measured: Measured, one: str, other: str) -> None:
    """Whoever shapes it: the comparison above is able to fail."""
    assert differences(measured[NATIVE][one], measured[WIRE][other])
