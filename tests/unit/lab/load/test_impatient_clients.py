"""Clients of which some leave: the client's settings, and the results."""

from tests.support.exchanged import answered
from tests.support.fake_stage import ADDRESS, PORT, FakeStage
from tuneproof.lab.load.base import Outcome
from tuneproof.lab.load.impatient_clients import DepartureObservation, Exchanged, ImpatientClients
from tuneproof.lab.protocol.exchanges import Connection


def connection(*, complete: bool) -> Connection:
    answer = answered(200 if complete else 0, worker=7, body_bytes=612, complete=complete, total_s=0.04)
    return Connection(answers=(answer,), error="" if complete else "TIMEOUT", closed_by_server=False, open_s=0.04)


STAYED, LEFT = connection(complete=True), connection(complete=False)


def observed(*flows: tuple[Connection, ...]) -> DepartureObservation:
    return ImpatientClients().observe(Outcome(record=Exchanged(flows=flows), measuring_s=1.0))


def test_some_wait_as_long_as_needed_and_some_leave_at_once() -> None:
    """On connections of their own, for a fast response."""
    fake = FakeStage()
    fake.answers["flows"] = [((STAYED,) * 3, (LEFT,) * 2)]
    recorded = ImpatientClients(patient=3, impatient=2, answer_ms=40, patience_s=0.01).run(fake.stage, label="b1")
    (asked,) = fake.asked
    assert (asked.function, asked.arguments["address"], asked.arguments["port"]) == ("flows", ADDRESS, PORT)
    patient, impatient = asked.arguments["flows"]
    assert (patient.connections, impatient.connections) == (3, 2)
    assert patient.path == impatient.path == "/wait/40"
    assert impatient.timeout_s == 0.01 < patient.timeout_s
    assert recorded.record == Exchanged(flows=((STAYED,) * 3, (LEFT,) * 2))


def test_clients_that_got_a_response_stayed() -> None:
    """Whether or not they were meant to leave; a trial with only one kind shows nothing."""
    observation = observed((STAYED,) * 3, (LEFT, STAYED))
    assert (observation.answered, observation.left, observation.faults) == (4, 1, ())
    assert observed((STAYED,)).faults == ("1 clients stayed, 0 left",)
    assert observed((LEFT,)).faults == ("0 clients stayed, 1 left",)
