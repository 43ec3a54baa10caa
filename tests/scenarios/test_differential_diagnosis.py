"""Which cause is it? One is built in the lab, and the diagnosis gets the files alone."""

import pytest

from fixtures.measurements import Prove
from fixtures.run_state import RunState
from tuneproof.catalogue.differential_diagnosis import NINE_IN_TEN, THREE_IN_FOUR, diagnosis_scenario
from tuneproof.catalogue.recorded import RecordedObservation
from tuneproof.proof.depths import QUICK
from tuneproof.proof.scenario.scenarios import Scenario

pytestmark = [pytest.mark.engine]


@pytest.fixture(scope="module")
def scenario(run_state: RunState) -> Scenario[RecordedObservation]:
    """The scenario, with as many trials as the run's depth has time for."""
    return diagnosis_scenario(THREE_IN_FOUR if run_state.options.depth == QUICK else NINE_IN_TEN)


@pytest.mark.headline
@pytest.mark.claim("healthy_is_healthy")
def test_healthy_traffic_gives_no_finding(prove: Prove) -> None:
    """A tool that always finds something finds nothing."""
    prove()


@pytest.mark.claim("stall_is_told")
def test_a_stalled_event_loop_is_told_by_files_alone(prove: Prove) -> None:
    """The cause that no single file shows."""
    prove()


@pytest.mark.claim("slow_reader_is_told")
def test_a_slow_reader_is_told_by_files_alone(prove: Prove) -> None:
    """Its window is closed, and nginx's send queue is full."""
    prove()


@pytest.mark.claim("overflow_is_told")
def test_a_full_accept_queue_is_told_by_files_alone(prove: Prove) -> None:
    """The kernel counts it, and the capture shows whom it meets."""
    prove()


@pytest.mark.claim("syn_drop_is_told")
def test_a_full_syn_queue_is_told_by_files_alone(prove: Prove) -> None:
    """Drops without overflows."""
    prove()


@pytest.mark.claim("slow_backend_is_told")
def test_a_slow_backend_is_told_by_files_alone(prove: Prove) -> None:
    """What people suspect first is sometimes true."""
    prove()


@pytest.mark.claim("loss_is_told")
def test_loss_on_the_path_is_told_by_files_alone(prove: Prove) -> None:
    """Loss hits data and SYNs alike; a full queue hits SYNs only."""
    prove()


@pytest.mark.claim("log_lies_in_stall")
def test_the_log_takes_the_loops_lag_for_the_networks(prove: Prove) -> None:
    """The kernel answers at once; nginx looks late."""
    prove()


@pytest.mark.claim("stalled_nginx_sends_to_nobody")
def test_a_stalled_nginx_sends_to_clients_that_left(prove: Prove) -> None:
    """It learns of a FIN when it gets round to the connection."""
    prove()


@pytest.mark.claim("overflow_repeats_syns")
def test_behind_a_full_accept_queue_syns_come_again(prove: Prove) -> None:
    """After the second that RFC 6298 has them wait."""
    prove()


@pytest.mark.claim("syn_pressure_is_unfinished")
def test_a_full_syn_queue_goes_with_handshakes_that_nobody_completes(prove: Prove) -> None:
    """The signature that the counters' names do not tell."""
    prove()


@pytest.mark.claim("slow_reader_closes_window")
def test_a_slow_reader_closes_its_window(prove: Prove) -> None:
    """All of nginx's buffers stand behind that window."""
    prove()
