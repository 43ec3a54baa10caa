"""With background traffic, nginx's files must show only the cause; captures elsewhere must not show any other cause."""

import pytest

from tests.support.exchanged import answered
from tests.support.fake_stage import ADDRESS, PORT, FakeStage
from tuneproof.catalogue.diagnosis_in_a_street import DIAGNOSES_IN_A_STREET, GONE, identified, street_scenario
from tuneproof.catalogue.differential_diagnosis import NINE_IN_TEN
from tuneproof.catalogue.recorded import Recorded, RecordedObservation
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.protocol.exchanges import Connection
from tuneproof.proof.inference.effects import Tally

RIGHT = Tally(count=1, of=1)
WRONG = Tally(count=0, of=1)


def seen(found: tuple[Cause, ...], outside: tuple[Cause, ...] = ()) -> RecordedObservation:
    """Return a trial in which nginx's files show ``found``, and captures elsewhere show ``outside``."""
    return RecordedObservation(
        measuring_s=1.0,
        found=tuple(cause.value for cause in found),
        possible=(),
        found_from_outside=tuple(cause.value for cause in outside),
    )


@pytest.mark.parametrize("arm", DIAGNOSES_IN_A_STREET)
def test_a_diagnosis_of_the_cause_alone_is_right_even_if_captures_outside_do_not_show_it(arm: str) -> None:
    """Each of these captures contains only the connections on one side of nginx."""
    causes = DIAGNOSES_IN_A_STREET[arm]
    claim = street_scenario().claim(f"{arm.replace('-', '_')}_is_told_in_a_street")
    assert [claim.effect({arm: seen(causes, outside)}) for outside in ((), causes)] == [RIGHT, RIGHT]


@pytest.mark.parametrize("arm", DIAGNOSES_IN_A_STREET)
def test_any_other_finding_is_wrong(arm: str) -> None:
    """The other finding may accompany or replace the cause, or come from other captures. A missed cause is wrong."""
    causes = DIAGNOSES_IN_A_STREET[arm]
    others = [cause for cause in Cause if (cause,) != causes]
    wrong = [seen((*causes, other)) for other in others]
    wrong += [seen((other,)) for other in others]
    wrong += [seen(causes, (other,)) for other in others]
    wrong += [seen(())] if causes else []
    assert {identified(observation, causes) for observation in wrong} == {WRONG}


def test_background_traffic_goes_to_the_subjects_backend_in_every_arm_that_has_one() -> None:
    """Thus, the capture at the backend contains nginx's connections, too."""
    scenario = street_scenario(NINE_IN_TEN)
    assert {arm.name for arm in scenario.arms} == set(DIAGNOSES_IN_A_STREET)
    for arm in scenario.arms:
        assert isinstance(arm.plan, Recorded)
        assert arm.subject.config.upstream.startswith(f"{arm.plan.street_to}:") or not arm.subject.config.upstream
        assert arm.plan.street_to in scenario.beside


def connection(*, complete: bool) -> Connection:
    answer = answered(200 if complete else 0, worker=7, body_bytes=612, complete=complete, total_s=0.04)
    return Connection(answers=(answer,), error="" if complete else "TIMEOUT", closed_by_server=False, open_s=0.04)


STAYED, LEFT = connection(complete=True), connection(complete=False)


def test_some_clients_wait_as_long_as_needed_and_some_leave_at_once() -> None:
    """Each kind uses its own connections; a client that got its response stayed, even if it meant to leave."""
    fake = FakeStage()
    fake.answers["flows"] = [((STAYED,) * 3, (LEFT, STAYED))]
    assert isinstance(GONE.plan, Recorded)
    recorded = GONE.plan.load.run(fake.stage, label="b1")
    assert recorded.record.figures == {"answered": 4, "left": 1}
    (asked,) = fake.asked
    assert (asked.arguments["address"], asked.arguments["port"]) == (ADDRESS, PORT)
    patient, impatient = asked.arguments["flows"]
    assert (patient.connections, impatient.connections) == (120, 30)
    assert patient.path == impatient.path == "/wait/40"
    assert impatient.timeout_s == 0.01 < patient.timeout_s


@pytest.mark.parametrize("seen", [(STAYED,), (LEFT,)], ids=["all-stayed", "all-left"])
def test_a_trial_with_only_one_kind_of_client_is_void(seen: tuple[Connection, ...]) -> None:
    fake = FakeStage()
    fake.answers["flows"] = [(seen, ())]
    assert isinstance(GONE.plan, Recorded)
    with pytest.raises(VoidTrialError, match=r"\d clients stayed, \d left"):
        GONE.plan.load.run(fake.stage, label="b1")
