"""A diagnosis of requests that fail immediately is right if its primary cause is the one that was provoked."""

import pytest

from tests.support.canned_diagnoses import RIGHT, WRONG, diagnosed
from tuneproof.catalogue.diagnosis_of_failures import DIAGNOSES, HEALTHY, SCENARIO
from tuneproof.explain.diagnosis.findings import Cause

BUILT = [arm.name for arm in SCENARIO.arms if arm is not HEALTHY]


@pytest.mark.parametrize("arm", BUILT)
def test_the_provoked_cause_is_right_and_any_other_diagnosis_is_wrong(arm: str) -> None:
    """Consequences of the cause may be named, too. A diagnosis without a cause is wrong."""
    claim, (cause,) = SCENARIO.claim(f"diagnoses_{arm.replace('-', '_')}"), DIAGNOSES[arm]
    assert [claim.effect({arm: each}) for each in (diagnosed(cause), diagnosed(cause, Cause.CLIENT_GONE))] == [
        RIGHT,
        RIGHT,
    ]
    others = [diagnosed(other) for other in Cause if other is not cause]
    assert {claim.effect({arm: each}) for each in (*others, diagnosed())} == {WRONG}


def test_each_claim_is_reversed_with_healthy_traffic() -> None:
    """The files of healthy traffic do not show the cause."""
    assert {claim.turned_by[claim.arms[0]] for claim in SCENARIO.claims} == {HEALTHY.name}
    assert [claim.arms[0] for claim in SCENARIO.claims] == BUILT
