"""Claims about the network that the reuseport stall needs, over a grid of rates."""

from collections.abc import Callable, Iterator

import pytest

from fixtures.network.links import NetworkProfile
from fixtures.pytest_plugin.measurements import Measure, Measures, selected_claims
from fixtures.pytest_plugin.run_state import RunState
from fixtures.report.cells import Cell
from fixtures.scenario.claims import Claim
from fixtures.scenario.measurement import CellPlace
from tests.scenarios.network_quality_claims import SCENARIO, NetworkQuality, grid_lines

pytestmark = [pytest.mark.engine, pytest.mark.timing]

Prove = Callable[[Measures, Claim], Cell]


@pytest.fixture(scope="module")
def scenario(network: NetworkProfile) -> NetworkQuality:
    """The scenario over one network."""
    return NetworkQuality(network=network)


@pytest.fixture(scope="module")
def claims(scenario: NetworkQuality) -> dict[str, Claim]:
    """The scenario's claims by name."""
    return scenario.claims()


@pytest.fixture(scope="module")
def measures(
    nginx: str,
    network: NetworkProfile,
    scenario: NetworkQuality,
    claims: dict[str, Claim],
    measure: Measure,
    request: pytest.FixtureRequest,
) -> Iterator[Measures]:
    """The scenario's lab on one nginx version and network; the selected claims share its blocks."""
    place = CellPlace(scenario=SCENARIO, nginx=nginx, network=network)
    with measure(place, scenario.arms(), selected_claims(request, claims, nginx, network)) as running:
        yield running


@pytest.mark.claim("slow_upstream_ends_stall")
def test_the_stall_vanishes_over_an_upstream_that_is_slower_than_nginx(
    measures: Measures, claims: dict[str, Claim], prove: Prove
) -> None:
    """A receive buffer that runs dry at every visit lets the loop go on."""
    prove(measures, claims["slow_upstream_ends_stall"])


@pytest.mark.claim("slow_client_worsens_stall")
def test_a_slow_client_does_not_make_the_stall_worse(
    measures: Measures, claims: dict[str, Claim], prove: Prove
) -> None:
    """What seems to show it is a probe that waits behind the downloads in the slow link's queue."""
    prove(measures, claims["slow_client_worsens_stall"])


@pytest.mark.claim("distant_client_still_stalls")
def test_distance_does_not_end_the_stall(measures: Measures, claims: dict[str, Claim], prove: Prove) -> None:
    """The receive buffer that never runs dry is the upstream's; the client may be far away."""
    prove(measures, claims["distant_client_still_stalls"])


@pytest.mark.claim("slow_upstream_spares_every_client")
def test_a_slow_upstream_ends_the_stall_whatever_the_client(
    measures: Measures, claims: dict[str, Claim], prove: Prove, run_state: RunState
) -> None:
    """Twelve cells: four upstream rates, three client rates."""
    try:
        prove(measures, claims["slow_upstream_spares_every_client"])
    finally:
        cell = run_state.cells[-1] if run_state.cells else None
        if cell is not None and cell.claim == claims["slow_upstream_spares_every_client"].sentence and cell.arms:
            for line in grid_lines(cell.arms):
                run_state.progress.line(line)


@pytest.mark.claim("first_twin_lags_more")
def test_of_two_identical_arms_the_first_does_not_lag_more(
    measures: Measures, claims: dict[str, Claim], prove: Prove
) -> None:
    """The A/A control: a method that finds an effect here finds one everywhere."""
    prove(measures, claims["first_twin_lags_more"])


@pytest.mark.claim("second_twin_lags_more")
def test_of_two_identical_arms_the_second_does_not_lag_more(
    measures: Measures, claims: dict[str, Claim], prove: Prove
) -> None:
    """The same in the other direction: an effect has two sides."""
    prove(measures, claims["second_twin_lags_more"])
