"""What every claim declares before anything is measured: margins that mean something, and enough trials to decide."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.support.canned_observations import Block, by_arm, takes
from tests.support.claim_effects import TABLE
from tests.support.every_scenario import DIAGNOSIS, EVERY_SCENARIO, QUALITY, STREET
from tests.unit.proof.scenario.test_differential_diagnosis import CLAIM_OF, told
from tests.unit.proof.scenario.test_differential_diagnosis import TABLE as DIAGNOSIS_TABLE
from tuneproof.catalogue import every_advice
from tuneproof.catalogue.network_quality import WHOLE, NetworkQuality
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.network.profiles import BARE
from tuneproof.proof.depths import FULL, LOOKS, QUICK
from tuneproof.proof.inference.intervals import Scale
from tuneproof.proof.inference.looks import Looks
from tuneproof.proof.inference.tallies import Share, Tally, exact_limits
from tuneproof.proof.inference.verdicts import Form, Verdict
from tuneproof.proof.scenario.claims import Claim

CLAIMS: Final[Mapping[str, Claim[Any]]] = {
    f"{scenario.name}-{claim.name}": claim for scenario in EVERY_SCENARIO for claim in scenario.claims
}
SAME: Final = [name for name, claim in CLAIMS.items() if claim.form is Form.SAME]
SHARES: Final = [name for name, claim in CLAIMS.items() if claim.scale is Scale.SHARE]
OWN_LOOKS: Final = [name for name, claim in CLAIMS.items() if claim.own_looks]
# One block of each claim that counts, for how many units it counts on.
BLOCKS: Final[Mapping[str, Block]] = {
    **{f"{scenario.name}-{name}": holds[0] for scenario, name, holds, _ in TABLE},
    **{f"{DIAGNOSIS.name}-{name}": holds[0] for name, holds, _ in DIAGNOSIS_TABLE},
    **{f"{DIAGNOSIS.name}-{claim.name}": [told()] for claim in CLAIM_OF.values()},
    **{f"{STREET.name}-{claim.name}": [told()] for claim in STREET.claims},
}


def answers(effect: Share, *, right: bool) -> Share:
    """Return the effect of a block whose every unit speaks for its claim, or against it."""
    of, less = effect.of.of, effect.less.of if effect.less else None
    return Share(
        of=Tally(count=of if right else 0, of=of),
        less=None if less is None else Tally(count=0 if right else less, of=less),
    )


def limits_at_first_look(claim: Claim[Any], looks: Looks, effect: Share) -> tuple[float, float]:
    """Return the exact limits of blocks of one effect at the first look that a claim takes in a run of these looks."""
    own = claim.question(looks).looks
    return exact_limits([effect] * own.blocks[0], tail=own.tail(0))


def test_every_scenario_is_looked_at() -> None:
    """The catalogue has no other."""
    assert {scenario.name for scenario in EVERY_SCENARIO} == {advice.name for advice in every_advice()}


@pytest.mark.parametrize("name", SAME)
def test_a_margin_is_a_ratio_above_1_and_wider_than_what_can_be_measured(name: str) -> None:
    """A figure that cannot be told from another by less than the margin could never be called the same."""
    claim = CLAIMS[name]
    assert claim.scale is Scale.RATIO
    assert claim.threshold > 1
    assert claim.threshold > (1 + claim.resolution) ** 0.5


def test_there_are_claims_of_all_three_forms() -> None:
    """So that none of these tests runs over nothing."""
    assert {claim.form for claim in CLAIMS.values()} == set(Form)
    assert len(SAME) >= 8
    assert len(SHARES) >= 25
    assert len(OWN_LOOKS) >= 9


@pytest.mark.parametrize("name", SHARES)
def test_a_share_is_told_with_its_units(name: str) -> None:
    """A bare number has no exact limits."""
    assert isinstance(CLAIMS[name].effect(by_arm(CLAIMS[name], BLOCKS[name])), Share)


@pytest.mark.parametrize("depth", [QUICK, FULL])
@pytest.mark.parametrize("name", SHARES)
def test_the_declared_number_of_trials_can_decide_either_way_at_the_first_look(name: str, depth: str) -> None:
    """All units for it put the exact lower limit above the threshold, and all against it the upper one below."""
    claim = CLAIMS[name]
    effect = claim.effect(by_arm(claim, BLOCKS[name]))
    assert isinstance(effect, Share)
    low, _ = limits_at_first_look(claim, LOOKS[depth], answers(effect, right=True))
    assert low > claim.threshold
    _, high = limits_at_first_look(claim, LOOKS[depth], answers(effect, right=False))
    assert high < claim.threshold


@pytest.mark.parametrize("depth", [QUICK, FULL])
@pytest.mark.parametrize("name", [name for name in SHARES if CLAIMS[name].expected is Verdict.REFUTED])
def test_a_claim_that_is_expected_to_fall_falls_where_nothing_is_counted(name: str, depth: str) -> None:
    """No unit in either arm: no effect, and yet not every number of units could show that."""
    claim = CLAIMS[name]
    effect = claim.effect(by_arm(claim, BLOCKS[name]))
    assert isinstance(effect, Share)
    nothing = replace(answers(effect, right=False), less=effect.less and Tally(count=0, of=effect.less.of))
    _, high = limits_at_first_look(claim, LOOKS[depth], nothing)
    assert high < claim.threshold


@pytest.mark.parametrize("name", OWN_LOOKS)
def test_the_looks_of_a_quick_run_would_come_too_soon_for_a_claim_that_declares_its_own(name: str) -> None:
    """Otherwise it had no need of them; and this shows that too few trials are found out."""
    claim = CLAIMS[name]
    effect = claim.effect(by_arm(claim, BLOCKS[name]))
    assert isinstance(effect, Share)
    low, _ = limits_at_first_look(replace(claim, own_looks=()), LOOKS[QUICK], answers(effect, right=True))
    assert low < claim.threshold


def test_the_whole_grid_of_a_full_run_has_more_units_per_block_than_the_corners() -> None:
    """Nine limited cells instead of two, so that what is enough for those is enough for these."""
    whole = NetworkQuality(network=BARE, grid=WHOLE).scenario().claim("slow_upstream_spares_every_client")
    corners = QUALITY.claim(whole.name)
    units = []
    claims: tuple[Claim[Any], ...] = (whole, corners)
    for claim in claims:
        effect = claim.effect(by_arm(claim, takes(*[10.0] * len(claim.arms))))
        assert isinstance(effect, Share)
        units.append(effect.of.of)
    assert units == [9, 2]


def test_either_all_subjects_of_a_comparison_record_their_turns_or_none_does() -> None:
    """The record makes calls cost a little more: it would be a part of the effect."""
    for scenario in EVERY_SCENARIO:
        records = {arm.name: arm.subject.records_turns for arm in scenario.arms}
        for claim in scenario.claims:
            assert len({records[arm] for arm in claim.arms}) == 1, f"{scenario.name}-{claim.name}"


def test_turns_are_counted_where_they_are_recorded() -> None:
    """Nothing could be read from a subject without the record."""
    counting = [
        arm
        for scenario in EVERY_SCENARIO
        for arm in scenario.arms
        if isinstance(arm.plan, StallLoad) and arm.plan.counts_turns
    ]
    assert len(counting) >= 3 * 5
    assert all(arm.subject.records_turns for arm in counting)


def test_doses_of_a_scenario_are_of_the_same_things() -> None:
    """A chart has one axis for each."""
    dosed = {
        scenario.name: {tuple((dose.of, dose.unit) for dose in arm.doses) for arm in scenario.arms if arm.doses}
        for scenario in EVERY_SCENARIO
    }
    assert all(len(kinds) <= 1 for kinds in dosed.values()), dosed
    assert sum(bool(kinds) for kinds in dosed.values()) >= 6
