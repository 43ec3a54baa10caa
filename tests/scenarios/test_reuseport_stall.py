"""Claims of the reuseport stall: who stalls, what cures it, what does not, and what the cure costs."""

from collections.abc import Callable, Iterator

import pytest

from fixtures.network.links import NetworkProfile
from fixtures.pytest_plugin.measurements import Measure, Measures, selected_claims
from fixtures.report.cells import Cell
from fixtures.scenario.claims import Claim
from fixtures.scenario.measurement import CellPlace
from fixtures.subject.snapshot import Snapshot
from tests.scenarios.reuseport_stall_claims import SCENARIO, TCP_RMEM, ReuseportStall

pytestmark = [pytest.mark.engine, pytest.mark.timing]

Prove = Callable[[Measures, Claim], Cell]


@pytest.fixture(scope="module")
def scenario(host_snapshot: Snapshot) -> ReuseportStall:
    """The scenario for this host's default receive buffer."""
    return ReuseportStall(default_rmem=host_snapshot.triple(TCP_RMEM))


@pytest.fixture(scope="module")
def claims(scenario: ReuseportStall) -> dict[str, Claim]:
    """The scenario's claims by name."""
    return scenario.claims()


@pytest.fixture(scope="module")
def measures(
    nginx: str,
    network: NetworkProfile,
    scenario: ReuseportStall,
    claims: dict[str, Claim],
    measure: Measure,
    request: pytest.FixtureRequest,
) -> Iterator[Measures]:
    """The scenario's lab on one nginx version and network; the selected claims share its blocks."""
    place = CellPlace(scenario=SCENARIO, nginx=nginx, network=network)
    with measure(place, scenario.arms(), selected_claims(request, claims, nginx, network)) as running:
        yield running


@pytest.mark.claim("loaded_worker_stalls")
def test_a_worker_with_bulk_downloads_stalls_and_the_idle_one_does_not(
    measures: Measures, claims: dict[str, Claim], prove: Prove
) -> None:
    """The idle worker shares CPU and network with the loaded one: what differs is the event loop's work."""
    prove(measures, claims["loaded_worker_stalls"])


@pytest.mark.claim("small_rmem_restores_loop")
def test_a_small_tcp_rmem_restores_the_loop(measures: Measures, claims: dict[str, Claim], prove: Prove) -> None:
    """A small receive buffer bounds how much one visit to a connection can read."""
    prove(measures, claims["small_rmem_restores_loop"])


@pytest.mark.claim("lag_follows_rmem")
def test_the_loop_lag_follows_the_receive_buffer(measures: Measures, claims: dict[str, Claim], prove: Prove) -> None:
    """Five maxima from the host's default down to 40960: a cause shows a dose-response."""
    prove(measures, claims["lag_follows_rmem"])


@pytest.mark.claim("reuseport_feeds_loaded_worker")
def test_reuseport_keeps_feeding_a_loaded_worker(measures: Measures, claims: dict[str, Claim], prove: Prove) -> None:
    """The kernel's hash does not know which worker is busy; a shared queue is emptied by whoever has time."""
    prove(measures, claims["reuseport_feeds_loaded_worker"])


@pytest.mark.claim("reuseport_off_cures_loaded_workers")
def test_switching_reuseport_off_is_no_cure_when_every_worker_is_loaded(
    measures: Measures, claims: dict[str, Claim], prove: Prove
) -> None:
    """The article's own experiment: its bulk downloads sat on both workers."""
    prove(measures, claims["reuseport_off_cures_loaded_workers"])


@pytest.mark.claim("small_rmem_slows_bulk")
def test_a_small_tcp_rmem_does_not_halve_bulk_downloads(
    measures: Measures, claims: dict[str, Claim], prove: Prove
) -> None:
    """Bytes per second, where the article compared the durations of truncated downloads."""
    prove(measures, claims["small_rmem_slows_bulk"])


@pytest.mark.claim("small_rmem_slows_fast")
def test_a_small_tcp_rmem_makes_unloaded_fast_requests_longer(
    measures: Measures, claims: dict[str, Claim], prove: Prove
) -> None:
    """The price that everybody pays, stall or not."""
    prove(measures, claims["small_rmem_slows_fast"])


@pytest.mark.claim("first_twin_lags_more")
def test_of_two_identical_subjects_the_first_does_not_lag_more(
    measures: Measures, claims: dict[str, Claim], prove: Prove
) -> None:
    """The A/A control: a method that finds an effect here finds one everywhere."""
    prove(measures, claims["first_twin_lags_more"])


@pytest.mark.claim("second_twin_lags_more")
def test_of_two_identical_subjects_the_second_does_not_lag_more(
    measures: Measures, claims: dict[str, Claim], prove: Prove
) -> None:
    """The same in the other direction: an effect has two sides."""
    prove(measures, claims["second_twin_lags_more"])
