"""Claims about counts: arms that share containers, effects, and reversed claims."""

import json
from typing import Any

import pytest

from tests.support.canned_observations import counted
from tests.support.every_scenario import EVERY_SCENARIO
from tests.support.turned import turned, turned_claim
from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import CountedClaim, Setting, arms_of, claims_from, times
from tuneproof.catalogue.registration import code_of
from tuneproof.lab.load.counted import Counted, CountedObservation
from tuneproof.lab.network.profiles import BARE
from tuneproof.lines import Line
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.arms import Arm
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.placement import CpuShare
from tuneproof.proof.scenario.scenarios import Scenario


def setting(name: str, **fields: object) -> Setting:
    return Setting(name=name, config=f"# {name}", script=lambda _rig: {}, **fields)  # type: ignore[arg-type]


def ratio(figure: str = "x") -> CountedClaim:
    """Return the claim that one arm has more than twice the figure of the other."""
    return next(claims_from(Line(scenario="s", claim="n", arms=("a", "b"), figure=figure, threshold=2.0)))


def share(*, turned_by: str = "b", **row: Any) -> tuple[CountedClaim, ...]:
    """Return the claim that a share in one arm is above one half, and its control if the row has one."""
    return tuple(claims_from(Line(scenario="s", claim="n", arms=("a",), figure="x", turned_by={"a": turned_by}, **row)))


def test_arms_that_need_the_same_container_share_it() -> None:
    sysctl = {"net.ipv4.tcp_fin_timeout": "1"}
    arms = arms_of([setting("a"), setting("b", sysctls=sysctl), setting("c"), setting("d", every_cpu=True)])
    assert [arm.name for arm in arms] == ["a", "b", "c", "d"]
    assert [arm.subject.name for arm in arms] == [
        "subject",
        "subject-tcp_fin_timeout-1",
        "subject",
        "subject-every-cpu",
    ]
    assert arms[0].subject.configurations == {"a": "# a", "c": "# c"}
    assert arms[1].subject.sysctls == sysctl
    assert [arm.subject.cpus for arm in arms[2:]] == [CpuShare.FIRST, CpuShare.EVERY]
    assert [arm.plan.configurations for arm in arms] == [("a",), ("b",), ("c",), ("d",)]


def test_a_count_of_zero_counts_as_one() -> None:
    """A claim may set another minimum. If both arms count zero, there is no ratio."""
    block = dict(zip("abc", counted(20, 0, 0), strict=True))
    observed = {name: item for name, item in block.items() if isinstance(item, CountedObservation)}
    assert times("x", ("a", "b"))(observed) == 20
    assert times("x", ("b", "a"))(observed) == 1 / 20
    assert times("x", ("a", "b"), at_least=0.5)(observed) == 40
    with pytest.raises(ValueError, match="no x was counted in either arm"):
        times("x", ("b", "c"))(observed)


def test_a_claim_is_reversed_by_replacing_its_arm_with_another_one() -> None:
    claim = ratio()
    scenario = Scenario(name="s", arms=arms_of([setting("a"), setting("b")]), claims=(claim,))
    other_way = turned(scenario)
    (reverse,) = other_way.claims
    assert (reverse.arms, reverse.expected, reverse.name) == (("a", "b as a"), Verdict.REFUTED, "n_turned")
    block = dict(zip(reverse.arms, counted(5, 4), strict=True))
    observed = {name: item for name, item in block.items() if isinstance(item, CountedObservation)}
    assert float(reverse.effect(observed)) == 1.25
    assert [arm.name for arm in other_way.arms] == ["a", "b", "b as a"]
    assert other_way.arms[2].plan == scenario.arms[0].plan


def test_a_claim_expected_to_be_refuted_is_reversed_into_one_that_holds() -> None:
    """The version in which a claim expired does not matter."""
    (claim,) = share(expected="refuted")
    reverse = turned_claim(claim)
    assert (reverse.arms, reverse.expected_on("1.30", BARE)) == (("a as b",), "holds")
    (old,) = share(expired_since="1.20")
    assert turned_claim(old).expected_on("1.30", BARE) == "refuted"


@pytest.mark.parametrize(("expected", "other"), [(Verdict.HOLDS, Verdict.REFUTED), (Verdict.REFUTED, Verdict.HOLDS)])
def test_a_control_is_about_the_reversing_arm_and_expects_the_other_verdict(expected: Verdict, other: Verdict) -> None:
    claim, control = share(what="w", control={"claim": "c", "sentence": "t"}, expected=expected.value)
    assert (claim.name, claim.arms, claim.turned_by, claim.expected) == ("n", ("a",), {"a": "b"}, expected)
    assert (control.name, control.arms, control.turned_by, control.expected) == ("c", ("b",), {"b": "a"}, other)
    assert (claim.effect_name, control.effect_name, control.form) == ("w", "w", claim.form)
    one, none = (item for item in counted(20, 0) if isinstance(item, CountedObservation))
    assert claim.effect({"a": one}) == control.effect({"b": one}) != control.effect({"b": none})


def test_the_sentence_and_the_reason_for_the_threshold_show_the_scripts_numbers() -> None:
    row = Line(scenario="s", claim="n", arms=("a",), figure="x", turned_by={"a": "b"}, sentence="{N}", why="of {N}")
    (claim,) = claims_from(row, N=20)
    assert (claim.sentence, claim.why) == ("20", "of 20")


class Asked(dict[str, float]):
    """Figures with a value for any requested key; they record the keys."""

    def __missing__(self, name: str) -> float:
        self[name] = 1.0
        return 1.0


def not_returned(claim: Claim[Any], arms: dict[str, Arm[Any]]) -> list[str]:
    """Return the figures that a claim's effect uses but that its arms' scripts do not return."""
    asked = {name: Asked() for name in claim.arms}
    claim.effect({name: CountedObservation(measuring_s=1.0, figures=figures) for name, figures in asked.items()})
    missing = []
    for name, figures in asked.items():
        plan = arms[name].plan
        assert isinstance(plan, Counted)
        code = json.dumps(code_of(plan.script)).replace('"', "'")
        missing += [
            f"{claim.name} compares {figure!r}, which the script of {name} never returns"
            for figure in figures
            if f"'{figure}'" not in code
        ]
    return missing


def test_a_claim_compares_figures_that_its_scripts_return() -> None:
    """Without this test, only a run would find a mistyped figure."""
    compared = {}
    for scenario in EVERY_SCENARIO:
        arms = {arm.name: arm for arm in scenario.arms}
        for claim in scenario.claims:
            if all(isinstance(arms[name].plan, Counted) for name in claim.arms):
                compared[scenario.name, claim.name] = not_returned(claim, arms)
    assert compared
    assert {claim: missing for claim, missing in compared.items() if missing} == {}


def test_a_mistyped_reversing_arm_is_named() -> None:
    """The error appears as soon as the catalogue is read."""
    scenario = Scenario(name="scenario", arms=arms_of([setting("a"), setting("b")]), claims=share(turned_by="typo"))
    with pytest.raises(
        ValueError, match="scenario/n: turned_by names typo; the claim compares a, and the scenario has"
    ):
        Advice(scenario=lambda _: scenario)
