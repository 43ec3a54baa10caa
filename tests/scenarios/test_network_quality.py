"""Claims about the network that the reuseport stall needs, over a grid of rates."""

import pytest

from fixtures.measurements import Prove
from fixtures.run_state import RunState
from tuneproof.catalogue.network_quality import CORNERS, WHOLE, NetworkQuality
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.network.links import NetworkProfile
from tuneproof.proof.depths import QUICK
from tuneproof.proof.scenario.scenarios import Scenario

pytestmark = [pytest.mark.engine, pytest.mark.timing]


@pytest.fixture(scope="module")
def scenario(network: NetworkProfile, run_state: RunState) -> Scenario[StallObservation]:
    """The scenario over one network."""
    grid = CORNERS if run_state.options.depth == QUICK else WHOLE
    return NetworkQuality(network=network, grid=grid).scenario()


@pytest.mark.claim("slow_upstream_ends_stall")
def test_the_stall_vanishes_over_an_upstream_that_is_slower_than_nginx(prove: Prove) -> None:
    """A receive buffer that runs dry at every visit lets the loop go on."""
    prove()


@pytest.mark.claim("slow_client_worsens_stall")
def test_a_slow_client_does_not_make_the_stall_worse(prove: Prove) -> None:
    """What seems to show it is a probe that waits behind the downloads in the slow link's queue."""
    prove()


@pytest.mark.claim("distant_client_still_stalls")
def test_distance_does_not_end_the_stall(prove: Prove) -> None:
    """The receive buffer that never runs dry is the upstream's; the client may be far away."""
    prove()


@pytest.mark.claim("slow_upstream_spares_every_client")
def test_a_slow_upstream_ends_the_stall_whatever_the_client(prove: Prove) -> None:
    """Every cell of the grid: upstream rates by client rates."""
    prove()


@pytest.mark.claim("twins_are_alike")
def test_two_identical_arms_are_alike(prove: Prove) -> None:
    """The A/A control: a method that finds an effect here finds one everywhere."""
    prove()
