"""The containers of a scenario's lab."""

from dataclasses import replace

import pytest

from tests.support.every_scenario import EVERY_SCENARIO
from tuneproof.lab.protocol.cpus import Cpus
from tuneproof.proof.scenario.containers import BenchImages, container_specs
from tuneproof.proof.scenario.placement import CpuPlacement, CpuShare
from tuneproof.proof.scenario.scenarios import subjects_of

IMAGES = BenchImages(subject="s", backend="b", client="c", netadmin="n", http3="h")
HTTP3 = next(scenario for scenario in EVERY_SCENARIO if scenario.name == "http3")


@pytest.mark.parametrize("shaped", [(), ("client",)])
@pytest.mark.parametrize("needed", ["http3", "post_quantum", ""])
def test_a_scenario_that_needs_http3_clients_has_them(needed: str, shaped: tuple[str, ...]) -> None:
    """Other scenarios have none. These clients share the client's link if it is shaped."""
    scenario = replace(HTTP3, http3=needed == "http3", post_quantum=needed == "post_quantum")
    placement = CpuPlacement.on(Cpus(allowed="0-1"), shares=(CpuShare.FIRST,))
    specs = container_specs(
        scenario, subjects_of(scenario.arms), images=IMAGES, placement=placement, shaper="native", shaped=shaped
    )
    found = {spec.name: spec for spec in specs}
    assert [spec.image for spec in specs].count("h") == bool(needed)
    if needed:
        assert found["http3"].joins == found["client"].joins
        assert bool(found["http3"].joins) is bool(shaped)
