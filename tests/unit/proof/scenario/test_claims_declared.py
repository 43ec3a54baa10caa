"""Every claim is declared before it is measured: with enough trials for a decision, and a known error."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from tests.support.canned_diagnoses import CLAIM_OF, diagnosed
from tests.support.canned_diagnoses import TABLE as DIAGNOSIS_TABLE
from tests.support.canned_observations import Block, by_arm
from tests.support.claim_effects import TABLE
from tests.support.every_scenario import DIAGNOSIS, EVERY_SCENARIO, FAILURES, STREET
from tuneproof.catalogue import every_advice
from tuneproof.catalogue.advice import RunConditions
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.proof.depths import FULL, LOOKS, QUICK
from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.inference.plan import COIN, ERROR_RATE, Side, side
from tuneproof.proof.inference.verdicts import Form
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

# The claims of a run at each depth, by depth, scenario and name.
CLAIMS: Final[Mapping[tuple[str, str, str], Claim[Any]]] = {
    (depth, advice.name, claim.name): claim
    for depth in (QUICK, FULL)
    for advice in every_advice()
    for claim in advice.scenario(RunConditions(depth=depth)).claims
}
OWN_LOOKS: Final = [key for key, claim in CLAIMS.items() if claim.own_looks]
# One block for each claim that may count independent units, to find the number of units in a block.
BLOCKS: Final[Mapping[tuple[str, str], Block]] = {
    **{(name.partition("/")[0], name.partition("/")[2]): holds[0] for name, (holds, _) in TABLE.items()},
    **{(DIAGNOSIS.name, name): holds[0] for name, holds, _ in DIAGNOSIS_TABLE},
    **{(DIAGNOSIS.name, claim.name): [diagnosed()] for claim in CLAIM_OF.values()},
    **{(scenario.name, claim.name): [diagnosed()] for scenario in (STREET, FAILURES) for claim in scenario.claims},
}


def sides(key: tuple[str, str, str], looks: tuple[int, ...]) -> tuple[Side, Side]:
    """Return the plans for holding and refuting a claim, with looks at these numbers of blocks."""
    _, scenario, name = key
    claim = CLAIMS[key]
    if claim.scale is Scale.SHARE and claim.form is Form.MORE:
        quick = CLAIMS[QUICK, scenario, name]
        effect = quick.effect(by_arm(quick, BLOCKS[scenario, name]))
        if isinstance(effect, Tally):
            units = tuple(blocks * effect.of for blocks in looks)
            return side(units, claim.threshold), side(units, 1 - claim.threshold)
    return side(looks, COIN), side(looks, COIN)


def test_there_are_claims_of_all_forms_and_plans() -> None:
    """Otherwise, some of these tests would run without cases."""
    assert {claim.form for claim in CLAIMS.values()} == set(Form)
    assert len(OWN_LOOKS) >= 2 * 9
    assert sum(bool(claim.further_looks) for claim in CLAIMS.values()) >= 2 * 3


def test_every_look_can_decide_either_way_and_errs_as_rarely_as_declared() -> None:
    """A look that cannot decide would waste its blocks."""
    for key, claim in CLAIMS.items():
        for plan in sides(key, claim.looks(LOOKS[key[0]])):
            assert 0 < plan.error <= ERROR_RATE, key
            assert all(look.needed <= look.units for look in plan.looks), key


@pytest.mark.parametrize("key", OWN_LOOKS, ids="-".join)
def test_a_claim_has_its_own_looks_only_if_the_first_one_of_a_quick_run_cannot_decide_it(
    key: tuple[str, str, str],
) -> None:
    holds, _ = sides(key, LOOKS[QUICK])
    assert holds.looks[0].needed > holds.looks[0].units


@pytest.mark.parametrize("scenario", EVERY_SCENARIO, ids=lambda scenario: scenario.name)
def test_a_controls_margin_is_half_as_wide_as_the_nearest_threshold_on_its_metric(scenario: Scenario[Any]) -> None:
    """Half is meant on a logarithmic scale; the nearest threshold is the one nearest to 1, but not 1 itself."""
    for control in scenario.claims:
        if control.is_aa_control:
            decided = [
                max(claim.threshold, 1 / claim.threshold)
                for claim in scenario.claims
                if control.checks(claim) and claim.scale is Scale.RATIO and claim.threshold != 1
            ]
            assert control.threshold == pytest.approx(min(decided) ** 0.5)


def test_only_a_run_at_full_depth_spends_time_on_controls() -> None:
    for advice in every_advice():
        controls = {claim.name for claim in advice.scenario(RunConditions()).claims if claim.is_aa_control}
        assert not controls & set(advice.claims_at(QUICK))
        assert controls <= set(advice.claims_at(FULL))


def test_all_arms_of_a_claim_record_loop_iterations_or_none_do() -> None:
    """Recording makes system calls slightly more expensive, which would become part of the effect."""
    for scenario in EVERY_SCENARIO:
        records = {arm.name: arm.subject.records_turns for arm in scenario.arms}
        for claim in scenario.claims:
            assert len({records[arm] for arm in claim.arms}) == 1, f"{scenario.name}-{claim.name}"


def test_arms_that_count_loop_iterations_record_them() -> None:
    counting = [
        arm
        for scenario in EVERY_SCENARIO
        for arm in scenario.arms
        if isinstance(arm.plan, StallLoad) and arm.plan.counts_turns
    ]
    assert len(counting) >= 3 * 5
    assert all(arm.subject.records_turns for arm in counting)


def test_a_scenarios_doses_vary_the_same_setting() -> None:
    dosed = {
        scenario.name: {tuple((dose.of, dose.unit) for dose in arm.doses) for arm in scenario.arms if arm.doses}
        for scenario in EVERY_SCENARIO
    }
    assert all(len(kinds) <= 1 for kinds in dosed.values()), dosed
    assert sum(bool(kinds) for kinds in dosed.values()) >= 6
