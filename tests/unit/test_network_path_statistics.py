"""How often a link that is as it should be is blamed, and whether one that is not is found: by simulation."""

import numpy as np
import pytest

from fixtures.network.impairments import Impairment
from fixtures.network.links import LinkProfile
from fixtures.network.path import SELF_CHECK, LinkFigures, faults
from fixtures.network.profiles import PROFILES
from tests.unit.simulated_links import PAYLOAD_BYTES, measured


def share_blamed(real: LinkProfile, *, profile: LinkProfile, packets: int, links: int) -> float:
    """Return the share of links with faults, among many that are ``real`` and should be ``profile``."""
    rng = np.random.default_rng(7450)
    simulated = (measured(real, rng, packets=packets) for _ in range(links))
    blamed = [faults(profile, LinkFigures.from_json(raw, payload_bytes=PAYLOAD_BYTES), SELF_CHECK) for raw in simulated]
    return sum(map(bool, blamed)) / links


@pytest.mark.parametrize("name", ["lossy", "unruly", "jittery"])
def test_a_link_that_is_as_it_should_be_is_hardly_ever_blamed(name: str) -> None:
    """The self-check allows itself one error in a hundred; three leave room for chance."""
    profile = PROFILES[name].client
    assert share_blamed(profile, profile=profile, packets=600, links=200) <= 0.03


@pytest.mark.parametrize(
    ("wanted", "real"),
    [
        ({"loss_pct": 2}, {"loss_pct": 5}),
        ({"loss_pct": 2}, {"loss_pct": 0.5}),
        ({"duplicate_pct": 2}, {"duplicate_pct": 5}),
        ({"reorder_pct": 10}, {"reorder_pct": 5}),
        ({"jitter_ms": 1}, {"jitter_ms": 1, "delay_ms": 7}),
    ],
    ids=["more-loss", "less-loss", "more-duplicates", "less-reordering", "longer"],
)
def test_a_link_that_does_something_else_is_always_found(wanted: dict[str, float], real: dict[str, float]) -> None:
    """2000 probes tell 2 % from 5 % in every single case."""
    ingress = Impairment(delay_ms=5)
    profile, other = (
        LinkProfile(egress=Impairment(**{"delay_ms": 5, **fields}), ingress=ingress)  # type: ignore[arg-type] # no limit
        for fields in (wanted, real)
    )
    assert share_blamed(other, profile=profile, packets=2000, links=50) == 1
