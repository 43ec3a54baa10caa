"""Claims of the reuseport stall: who stalls, what cures it, what does not, and what the cure costs."""

import pytest

from fixtures.measurements import Prove
from tuneproof.catalogue.reuseport_stall import TCP_RMEM, ReuseportStall
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.subject.snapshot import Snapshot
from tuneproof.proof.scenario.scenarios import Scenario

pytestmark = [pytest.mark.engine, pytest.mark.timing]


@pytest.fixture(scope="module")
def scenario(host_snapshot: Snapshot) -> Scenario[StallObservation]:
    """The scenario for this host's default receive buffer."""
    return ReuseportStall(default_rmem=host_snapshot.triple(TCP_RMEM)).scenario()


@pytest.mark.headline
@pytest.mark.claim("loaded_worker_stalls")
def test_a_worker_with_bulk_downloads_stalls_and_the_idle_one_does_not(prove: Prove) -> None:
    """The idle worker shares CPU and network with the loaded one: what differs is the event loop's work."""
    prove()


@pytest.mark.headline
@pytest.mark.claim("small_rmem_restores_loop")
def test_a_small_tcp_rmem_restores_the_loop(prove: Prove) -> None:
    """A small receive buffer bounds how much one visit to a connection can read."""
    prove()


@pytest.mark.claim("small_rmem_bounds_a_turn")
def test_a_small_tcp_rmem_bounds_what_a_turn_reads(prove: Prove) -> None:
    """A law, and no comparison: what a turn can find is what the kernel may hold for it."""
    prove()


@pytest.mark.claim("lag_follows_rmem")
def test_what_a_turn_reads_follows_the_receive_buffer(prove: Prove) -> None:
    """Five maxima from the host's default down to 40960: a cause shows a dose-response."""
    prove()


@pytest.mark.claim("reuseport_feeds_loaded_worker")
def test_reuseport_keeps_feeding_a_loaded_worker(prove: Prove) -> None:
    """The kernel's hash does not know which worker is busy; a shared queue is emptied by whoever has time."""
    prove()


@pytest.mark.claim("reuseport_off_cures_loaded_workers")
def test_switching_reuseport_off_is_no_cure_when_every_worker_is_loaded(prove: Prove) -> None:
    """The article's own experiment: its bulk downloads sat on both workers."""
    prove()


@pytest.mark.claim("small_rmem_slows_bulk")
def test_a_small_tcp_rmem_does_not_halve_bulk_downloads(prove: Prove) -> None:
    """Bytes per second, where the article compared the durations of truncated downloads."""
    prove()


@pytest.mark.claim("small_rmem_slows_fast")
def test_a_small_tcp_rmem_makes_unloaded_fast_requests_longer(prove: Prove) -> None:
    """The price that everybody pays, stall or not."""
    prove()


@pytest.mark.claim("twins_are_alike")
def test_two_identical_subjects_are_alike(prove: Prove) -> None:
    """The A/A control: a method that finds an effect here finds one everywhere."""
    prove()
