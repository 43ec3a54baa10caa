"""Claims can hold and can be refuted: a claim about an impossible effect would test nothing.

Each claim in TABLE gets canned observations with its effect, slightly beyond its threshold or within its margin, and
observations without it, slightly on the other side: for a margin, both above and below.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.canned_observations import HTTP, STALL, STORM, Block, by_arm, per_arm, reads, takes, verdict_on
from tests.support.claim_effects import TABLE
from tests.support.every_scenario import DIAGNOSIS, EVERY_SCENARIO, FAILURES, STREET, claim_of
from tuneproof.lab.load.base import Observation
from tuneproof.lab.network.profiles import BARE
from tuneproof.lab.subject.versions import SUITES
from tuneproof.proof.inference.effects import Effect, Ordered, Scale, Tally, number
from tuneproof.proof.inference.verdicts import Form, Verdict
from tuneproof.proof.scenario.claims import Claim


def effect_of(claim: Claim[Any], block: Block) -> Effect:
    """Check that a block's effect has the claim's scale and form, and return it."""
    effect = claim.effect(by_arm(claim, block))
    number(effect, claim.scale)
    assert isinstance(effect, Ordered) is (claim.form is Form.ORDER)
    assert not isinstance(effect, Tally) or claim.scale is Scale.SHARE
    return effect


@pytest.mark.parametrize("name", TABLE)
def test_a_claim_holds_with_its_effect_and_is_refuted_without_it(name: str) -> None:
    claim = claim_of(name)
    for verdict, blocks in zip((Verdict.HOLDS, Verdict.REFUTED), TABLE[name], strict=True):
        found = [effect_of(claim, block) for block in blocks]
        assert [verdict_on(claim, effect) for effect in found] == [verdict] * len(found), found
        if claim.form is Form.SAME:
            assert min(map(float, found)) < 1 < max(map(float, found))


def test_claims_about_shares_equality_or_order_and_those_expected_to_be_refuted_are_covered() -> None:
    claims = {f"{scenario.name}/{claim.name}": claim for scenario in EVERY_SCENARIO for claim in scenario.claims}
    diagnosed = {
        f"{scenario.name}/{claim.name}" for scenario in (DIAGNOSIS, FAILURES, STREET) for claim in scenario.claims
    }
    counted = {
        name for name, claim in claims.items() if claim.form is not Form.MORE or claim.scale is Scale.SHARE
    } - diagnosed
    refuted = {
        name
        for name, claim in claims.items()
        if {claim.expected_on(version, BARE) for version in SUITES} == {Verdict.REFUTED.value}
    }
    assert counted
    assert refuted
    assert (counted | refuted) <= TABLE.keys(), "fix: turned_by, or a row of TABLE in tests/support/claim_effects.py"


WITHOUT_EFFECT = {
    "nothing-dropped": (
        "listen_queue/overflows_and_drops_rise_together",
        per_arm(STORM, listen_overflows=(0,), listen_drops=(0,)),
        "nothing was counted in either variant",
    ),
    "a-generator-without-connect-times": (
        "tuned_nginx/recipe_ends_slow_connects",
        per_arm(HTTP, slow_connect_share=(0.1, None)),
        "how long its connects",
    ),
    "no-recorded-iterations": (
        "reuseport_stall/loaded_worker_stalls",
        [STALL],
        "the loop iterations of worker 12 were not recorded",
    ),
    "no-iteration-with-reads": ("reuseport_stall/small_rmem_bounds_a_turn", reads(0), "worker 1 has read nothing"),
    "nothing-read-by-one-arm": ("reuseport_stall/small_rmem_restores_loop", reads(100, 0), "worker 1 has read nothing"),
    "no-cpu-time": ("network_quality/distant_client_still_stalls", takes(0), "worker 1 had no CPU time"),
    "no-request": (
        "reuseport_stall/reuseport_feeds_loaded_worker",
        per_arm(STALL, fast=((), STALL.fast)),
        "no fast request",
    ),
}


@pytest.mark.parametrize(("name", "block", "reason"), WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT)
def test_observations_without_an_effect_are_rejected(name: str, block: Sequence[Observation], reason: str) -> None:
    """Any number would be invented."""
    claim = claim_of(name)
    with pytest.raises((ValueError, ZeroDivisionError), match=reason):
        effect_of(claim, block)
