"""In simulations, correct links are rarely rejected, and wrong links are always found."""

import numpy as np
import pytest

from tests.support.path_lab import SELF_CHECK
from tests.support.simulated_links import PAYLOAD_BYTES, QUIET, measured, over_noise
from tuneproof.lab.network import settling
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.link_faults import PRECONDITION, Tolerance, faults
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.network.path import LinkFigures
from tuneproof.lab.network.profiles import PROFILES
from tuneproof.lab.network.settling import settle


def share_with_faults(
    real: LinkProfile,
    *,
    profile: LinkProfile,
    packets: int,
    links: int,
    noise: tuple[float, float],
    tolerance: Tolerance = SELF_CHECK,
) -> float:
    """Return the share of links with faults, among ``links`` that are ``real`` and should be ``profile``."""
    rng = np.random.default_rng(7450)
    simulated = (measured(real, rng, packets=packets, noise=noise) for _ in range(links))
    found = [
        faults(profile, LinkFigures.from_probes(seen, payload_bytes=PAYLOAD_BYTES), tolerance) for seen in simulated
    ]
    return sum(map(bool, found)) / links


@over_noise
@pytest.mark.parametrize("name", ["wan", "lossy", "unruly", "jittery", "slow-client", "fast-backend"])
def test_a_correct_link_is_rarely_rejected(
    name: str, noise: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rate is rarely lowered, either. Faults that a host can cause are measured again; 2 of 25 may be chance."""
    monkeypatch.setattr(settling, "_PAUSE_S", 0.0)
    profile = PROFILES[name].client
    rng = np.random.default_rng(7450)

    def measure(wanted: LinkProfile) -> LinkFigures:
        return LinkFigures.from_probes(measured(wanted, rng, packets=600, noise=noise), payload_bytes=PAYLOAD_BYTES)

    settled = [settle(profile, measure, SELF_CHECK) for _ in range(25)]
    assert sum(bool(each.wrong) or each.profile != profile for each in settled) <= 2
    # On a quiet host, one measurement is enough.
    if noise == QUIET:
        assert share_with_faults(profile, profile=profile, packets=600, links=25, noise=noise) <= 2 / 25


# Each row: the requested settings of egress, the real ones, and the number of probes; the delay is 5 ms unless given.
# Rows with 400 probes use the tolerance PRECONDITION, the others SELF_CHECK.
FOUND: dict[str, tuple[dict[str, float], dict[str, float], int]] = {
    "more-loss": ({"loss_pct": 2}, {"loss_pct": 5}, 5000),
    "less-loss": ({"loss_pct": 2}, {"loss_pct": 0.5}, 5000),
    "longer-with-jitter": ({"jitter_ms": 1}, {"jitter_ms": 1, "delay_ms": 7}, 5000),
    "longer": ({}, {"delay_ms": 7}, 5000),
    "shorter": ({}, {"delay_ms": 3}, 5000),
    "no-jitter": ({"jitter_ms": 3}, {"jitter_ms": 0}, 5000),
    "jitter-that-was-not-set": ({}, {"jitter_ms": 1}, 5000),
    "more-jitter": ({"jitter_ms": 1}, {"jitter_ms": 3}, 5000),
    "a-tenth-faster": ({"rate_mbit": 50}, {"rate_mbit": 55}, 5000),
    "half-as-fast": ({"rate_mbit": 100}, {"rate_mbit": 50}, 5000),
    "longer-with-few-probes": ({}, {"delay_ms": 8}, 400),
    "shorter-with-few-probes": ({}, {"delay_ms": 2}, 400),
    "jitter-with-few-probes": ({}, {"jitter_ms": 2}, 400),
}


@over_noise
@pytest.mark.parametrize(("wanted", "real", "packets"), FOUND.values(), ids=FOUND)
def test_a_link_with_a_wrong_effect_is_always_found(
    wanted: dict[str, float], real: dict[str, float], packets: int, noise: tuple[float, float]
) -> None:
    ingress = Impairment(delay_ms=5)
    profile, other = (
        LinkProfile(egress=Impairment(**{"delay_ms": 5, **fields}), ingress=ingress)  # type: ignore[arg-type] # no limit
        for fields in (wanted, real)
    )
    tolerance = SELF_CHECK if packets == 5000 else PRECONDITION
    assert share_with_faults(other, profile=profile, packets=packets, links=6, noise=noise, tolerance=tolerance) == 1
