"""Claims can hold and can fall, whatever is expected of them: a claim whose effect cannot be there says nothing.

Each is shown canned observations with its effect, somewhat beyond its threshold or within its margin, and without it,
somewhat on the other side: of a margin that is above it as well as below.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.canned_observations import (
    HTTP,
    STALL,
    STORM,
    Block,
    by_arm,
    per_arm,
    reads,
    takes,
    verdict_on,
)
from tests.support.claim_effects import TABLE
from tests.support.every_scenario import (
    DIAGNOSIS,
    EVERY_SCENARIO,
    FAILURES,
    QUALITY,
    QUEUE,
    STALLING,
    STREET,
    TUNED,
)
from tuneproof.lab.load.base import Observation
from tuneproof.lab.network.profiles import BARE
from tuneproof.lab.subject.versions import SUITES
from tuneproof.proof.inference.effects import Effect, Ordered, Scale, Tally, number
from tuneproof.proof.inference.verdicts import Form, Verdict
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario


def names(table: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return what the rows of a table are called in a test's name."""
    return [f"{scenario.name}-{name}" for scenario, name, *_ in table]


def effect_of(claim: Claim[Any], block: Block) -> Effect:
    """Return a block's effect, after a look whether it is one of its claim's scale and form."""
    effect = claim.effect(by_arm(claim, block))
    number(effect, claim.scale)
    assert isinstance(effect, Ordered) is (claim.form is Form.ORDER)
    assert not isinstance(effect, Tally) or claim.scale is Scale.SHARE
    return effect


@pytest.mark.parametrize(("scenario", "name", "holds", "falls"), TABLE, ids=names(TABLE))
def test_an_effect_decides_for_its_claim_where_it_is_there_and_against_it_where_it_is_not(
    scenario: Scenario[Any], name: str, holds: Sequence[Block], falls: Sequence[Block]
) -> None:
    """So that the observations decide, and not the claim's own words."""
    claim = scenario.claim(name)
    effects = {
        Verdict.HOLDS: [effect_of(claim, block) for block in holds],
        Verdict.REFUTED: [effect_of(claim, block) for block in falls],
    }
    for verdict, found in effects.items():
        assert [verdict_on(claim, effect) for effect in found] == [verdict] * len(found), found


@pytest.mark.parametrize(
    ("scenario", "name", "holds", "falls"),
    [row for row in TABLE if row[0].claim(row[1]).form is Form.SAME],
    ids=names([row for row in TABLE if row[0].claim(row[1]).form is Form.SAME]),
)
def test_what_is_the_same_is_shown_within_its_margin_and_beyond_it_on_both_sides(
    scenario: Scenario[Any], name: str, holds: Sequence[Block], falls: Sequence[Block]
) -> None:
    """An effect has two sides, and a margin that was only tried on one of them may not be there on the other."""
    claim = scenario.claim(name)
    for blocks in (holds, falls):
        effects = [float(effect_of(claim, block)) for block in blocks]
        assert min(effects) < 1 < max(effects)


def test_no_claim_that_counts_or_says_the_same_is_left_out() -> None:
    wanted = {
        f"{scenario.name}-{claim.name}"
        for scenario in EVERY_SCENARIO
        if scenario not in (DIAGNOSIS, FAILURES, STREET)
        for claim in scenario.claims
        if claim.form is not Form.MORE or claim.scale is Scale.SHARE
    }
    assert wanted - set(names(TABLE)) == set(), "fix: turned_by, or a row of TABLE in tests/support/claim_effects.py"


def test_no_claim_that_is_expected_to_be_refuted_is_left_out() -> None:
    refuted = {
        f"{scenario.name}-{claim.name}"
        for scenario in EVERY_SCENARIO
        for claim in scenario.claims
        if {claim.expected_on(version, BARE) for version in SUITES} == {Verdict.REFUTED.value}
    }
    assert refuted
    assert refuted - set(names(TABLE)) == set(), "fix: turned_by, or a row of TABLE in tests/support/claim_effects.py"


@pytest.mark.parametrize(
    ("scenario", "name", "block", "reason"),
    [
        (
            QUEUE,
            "overflows_and_drops_rise_together",
            per_arm(STORM, listen_overflows=(0,), listen_drops=(0,)),
            "nothing was counted in either arm",
        ),
        (TUNED, "recipe_ends_slow_connects", per_arm(HTTP, slow_connect_share=(0.1, None)), "how long its connects"),
        (STALLING, "loaded_worker_stalls", [STALL], "the turns of worker 12 were not recorded"),
        (STALLING, "small_rmem_bounds_a_turn", reads(0), "worker 1 has read nothing"),
        (STALLING, "small_rmem_restores_loop", reads(100, 0), "worker 1 has read nothing"),
        (QUALITY, "distant_client_still_stalls", takes(0), "worker 1 had no CPU time"),
        (STALLING, "reuseport_feeds_loaded_worker", per_arm(STALL, fast=((), STALL.fast)), "no fast request"),
    ],
    ids=[
        "nothing-dropped",
        "a-generator-that-does-not-tell",
        "no-record-of-turns",
        "no-turn-that-read",
        "nothing-read-by-one-arm",
        "no-cpu-time",
        "no-request",
    ],
)
def test_observations_that_have_no_effect_to_tell_are_refused(
    scenario: Scenario[Any], name: str, block: Sequence[Observation], reason: str
) -> None:
    """ValueError and ZeroDivisionError say so; any number would be one that nobody has measured."""
    claim = scenario.claim(name)
    with pytest.raises((ValueError, ZeroDivisionError), match=reason):
        effect_of(claim, block)
