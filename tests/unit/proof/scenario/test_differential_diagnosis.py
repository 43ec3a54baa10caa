"""The claims of the differential diagnosis can hold and can fail: canned observations with and without the effect."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.support.canned_diagnoses import CLAIM_OF, RIGHT, TABLE, WRONG, Block, diagnosed
from tuneproof.catalogue.diagnosis_of_failures import DIAGNOSES as FAILURES
from tuneproof.catalogue.diagnosis_of_failures import HEALTHY
from tuneproof.catalogue.diagnosis_of_failures import SCENARIO as SCENARIO_OF_FAILURES
from tuneproof.catalogue.differential_diagnosis import (
    DIAGNOSES,
    NINE_IN_TEN,
    SCENARIO,
    THREE_IN_FOUR,
    Demand,
    diagnosis_scenario,
)
from tuneproof.catalogue.recorded import RecordedObservation
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.proof.depths import LOOKS, QUICK
from tuneproof.proof.inference.plan import side
from tuneproof.proof.scenario.claims import Claim

Causes = tuple[Cause, ...]


OF_FAILURES: Final = [(claim, FAILURES[claim.arms[0]]) for claim in SCENARIO_OF_FAILURES.claims]
# Each claim about a diagnosis, with the provoked cause; none for healthy traffic.
DIAGNOSED: Final = [*((CLAIM_OF[arm], causes) for arm, causes in DIAGNOSES.items()), *OF_FAILURES]
each_diagnosis = pytest.mark.parametrize(("declared", "causes"), DIAGNOSED, ids=[claim.name for claim, _ in DIAGNOSED])


@each_diagnosis
def test_a_diagnosis_is_right_if_its_primary_cause_is_the_provoked_one(declared: Claim[Any], causes: Causes) -> None:
    """A consequence may follow the primary cause."""
    right = [diagnosed(*causes), diagnosed(*causes, Cause.CLIENT_GONE)] if causes else [diagnosed()]
    assert [declared.effect({declared.arms[0]: observation}) for observation in right] == [RIGHT] * len(right)


@each_diagnosis
def test_any_other_diagnosis_is_wrong_and_so_is_no_diagnosis(declared: Claim[Any], causes: Causes) -> None:
    others = [cause for cause in Cause if (cause,) != causes]
    wrong = [diagnosed(cause) for cause in others] + ([diagnosed(), diagnosed(others[0], *causes)] if causes else [])
    assert {declared.effect({declared.arms[0]: observation}) for observation in wrong} == {WRONG}


def test_each_claim_about_a_failure_is_reversed_with_healthy_traffic() -> None:
    """The files of healthy traffic do not show the cause."""
    arms = [arm.name for arm in SCENARIO_OF_FAILURES.arms if arm is not HEALTHY]
    assert [claim.turned_by for claim, _ in OF_FAILURES] == [{name: HEALTHY.name} for name in arms]


@pytest.mark.parametrize(
    ("demand", "right"),
    [(THREE_IN_FOUR, [(13, 13), (24, 26)]), (NINE_IN_TEN, [(33, 33), (59, 60)])],
    ids=["quick", "full"],
)
def test_a_wrong_diagnosis_costs_a_second_look(demand: Demand, right: list[tuple[int, int]]) -> None:
    """At each look, the plan fixes how many trials must be right."""
    claim = diagnosis_scenario(demand).claim("stall_is_told")
    looks = side(claim.looks(LOOKS[QUICK]), claim.threshold).looks
    assert [(look.needed, look.units) for look in looks] == right


def test_every_arm_is_diagnosed() -> None:
    assert set(CLAIM_OF) == set(DIAGNOSES) == {arm.name for arm in SCENARIO.arms}


@pytest.mark.parametrize(("name", "holds", "falls"), TABLE, ids=[row[0] for row in TABLE])
def test_a_signature_decides_its_claim(name: str, holds: Sequence[Block], falls: Sequence[Block]) -> None:
    """Without the signature, or if healthy traffic shows it too, the effect is below the threshold."""
    claim = SCENARIO.claim(name)
    effects = [[claim.effect(dict(zip(claim.arms, block, strict=True))) for block in rows] for rows in (holds, falls)]
    assert min(map(float, effects[0])) > claim.threshold
    assert max(map(float, effects[1])) < claim.threshold


BLANK: Final = RecordedObservation(measuring_s=1.0, found=(), possible=())


@pytest.mark.parametrize(
    ("name", "blank"),
    [
        ("log_lies_in_stall", BLANK),
        ("overflow_repeats_syns", BLANK),
        ("overflow_repeats_syns", replace(BLANK, flows=9)),
        ("overflow_repeats_syns", replace(BLANK, syn_repeated_share=0.0, flows=0)),
        ("overflow_repeats_syns", replace(BLANK, syn_repeated_share=0.0)),
    ],
    ids=["no-log", "nothing", "no-share", "no-connection", "no-number-of-connections"],
)
def test_files_without_the_figure_have_no_effect(name: str, blank: RecordedObservation) -> None:
    """Any number for the figure would be invented."""
    claim = SCENARIO.claim(name)
    with pytest.raises(ValueError, match=r"does not show|no connect"):
        claim.effect(dict.fromkeys(claim.arms, blank))


def test_every_claim_is_tried_with_and_without_its_effect() -> None:
    assert {claim.name for claim in SCENARIO.claims} == {
        *(row[0] for row in TABLE),
        *(claim.name for claim in CLAIM_OF.values()),
    }
