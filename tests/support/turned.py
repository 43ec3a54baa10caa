"""Scenarios in which arms run as other arms, so that claims about them are reversed or no longer hold."""

from collections.abc import Mapping
from dataclasses import replace

from tuneproof.lab.load.base import Obs
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario


def turned(scenario: Scenario[Obs]) -> Scenario[Obs]:
    """Return a scenario with reversed claims (:func:`turned_claim`).

    An arm's replacement is a copy of another arm, with separate trials. Claims without an expectation or without
    ``turned_by`` are left out.
    """
    claims = [claim for claim in scenario.claims if claim.turned_by and claim.expected is not None]
    by_name = {arm.name: arm for arm in scenario.arms}
    pairs = dict.fromkeys(pair for claim in claims for pair in claim.turned_by.items())
    copies = [replace(by_name[other], name=_copy_name(name, other)) for name, other in pairs]
    return replace(scenario, arms=(*scenario.arms, *copies), claims=tuple(map(turned_claim, claims)))


def turned_claim(claim: Claim[Obs]) -> Claim[Obs]:
    """Return a claim with other arms in place of its own, according to ``turned_by``; its verdict must be reversed.

    The result has no expectations for certain versions of nginx: if the advice has expired, nothing can be reversed. It
    has no control either: without the cause, a control is reversed on every host.
    """
    places = {name: _copy_name(name, other) for name, other in claim.turned_by.items()}
    if claim.condition is not None:
        raise NotImplementedError(f"{claim.name} has a condition; its arms would have to be replaced as well")
    return replace(
        claim,
        name=f"{claim.name}_turned",
        arms=tuple(places.get(name, name) for name in claim.arms),
        effect=lambda block: claim.effect({name: block[places.get(name, name)] for name in claim.arms}),
        expected=Verdict.HOLDS if claim.expected is Verdict.REFUTED else Verdict.REFUTED,
        expired_since="",
        by_build="",
        control=None,
        turned_by={},
    )


def with_arms_like(scenario: Scenario[Obs], stand_ins: Mapping[str, str]) -> Scenario[Obs]:
    """Return a scenario with arms that keep their names, but run as other arms.

    Args:
        scenario: The scenario.
        stand_ins: For each replaced arm, the name of the arm that runs in its place.

    Raises ValueError: The scenario has no arm with one of these names.
    """
    by_name = {arm.name: arm for arm in scenario.arms}
    if missing := sorted({*stand_ins, *stand_ins.values()} - set(by_name)):
        raise ValueError(f"{scenario.name} has no arm {', '.join(map(repr, missing))}; it has {', '.join(by_name)}")
    return replace(scenario, arms=tuple(replace(by_name[stand_ins.get(name, name)], name=name) for name in by_name))


def _copy_name(name: str, other: str) -> str:
    return f"{name} as {other}"
