"""A scenario's names are unique, its claims name only its own arms, and only arms that claims need are used."""

import pytest

from tests.support.fake_bench import SUBJECT, arm, claim
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.scenario.arms import Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario, subjects_of

SMALL = Subject(name="small", config=SUBJECT.config, sysctls={"net.ipv4.tcp_rmem": "40960 40960 40960"})
ARMS = (arm("default"), arm("small", subject=SMALL), arm("loaded"), arm("spare"))
STALL = claim("stall", "loaded")
RELIEF = claim("relief", "small", control=claim("there", "default"))


def scenario() -> Scenario[StallObservation]:
    """Return a scenario with four arms and two claims; no claim uses the fourth arm."""
    return Scenario(name="pathology", arms=ARMS, claims=(STALL, RELIEF))


def test_a_repeated_name_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"pathology: an arm's name is used twice: \['a', 'b', 'a'\]"):
        Scenario(name="pathology", arms=(arm("a"), arm("b"), arm("a", subject=SMALL)), claims=())
    with pytest.raises(ValueError, match=r"pathology: a claim's name is used twice: \['stall', 'stall'\]"):
        Scenario(name="pathology", arms=ARMS, claims=(STALL, claim("stall", "small")))


@pytest.mark.parametrize(
    "wrong",
    [claim("wrong", "loaded", "lost"), claim("wrong", "loaded", control=claim("there", "lost"))],
    ids=["its-own", "its-controls"],
)
def test_a_claim_about_an_undeclared_arm_is_rejected(wrong: Claim[StallObservation]) -> None:
    """The error comes before a lab is started, and names the claim and the arm."""
    with pytest.raises(ValueError, match="pathology: claim wrong compares lost; the arms are "):
        Scenario(name="pathology", arms=ARMS, claims=(STALL, wrong))


def test_a_claim_is_found_by_its_name() -> None:
    """A control is not a claim of the scenario."""
    declared = scenario()
    assert (declared.claim("stall"), declared.claim("relief")) == (STALL, RELIEF)
    for unknown in ("there", "stal"):
        with pytest.raises(ValueError, match=f"pathology has no claim '{unknown}'; it has stall, relief"):
            declared.claim(unknown)


def test_only_arms_that_claims_and_their_controls_compare_are_used() -> None:
    """The arms are in the scenario's order, and each is used once, even if claims share it."""
    declared = scenario()
    assert [item.name for item in declared.used_arms([STALL])] == ["loaded"]
    assert [item.name for item in declared.used_arms([RELIEF])] == ["default", "small"]
    assert [item.name for item in declared.used_arms([RELIEF, STALL, RELIEF])] == ["default", "small", "loaded"]
    assert declared.used_arms([]) == ()


def test_claims_are_divided_among_labs_without_common_arms() -> None:
    """An arm in two labs would be counted twice."""
    claims = tuple(claim(name, name) for name in ("default", "small", "loaded"))
    shared = Scenario(name="pathology", arms=ARMS, claims=claims, labs=2)
    assert [[each.name for each in part] for part in shared.shared_out(claims)] == [["default", "loaded"], ["small"]]
    assert shared.shared_out(claims[:1]) == [claims[:1]]
    assert scenario().shared_out([STALL, RELIEF]) == [[STALL, RELIEF]]
    with pytest.raises(ValueError, match="pathology: claims that share an arm cannot be in different labs"):
        Scenario(name="pathology", arms=ARMS, claims=(*claims, claim("again", "small")), labs=2)


def test_arms_share_their_subjects() -> None:
    assert subjects_of(ARMS) == (SUBJECT, SMALL)
    assert subjects_of([ARMS[1], ARMS[0], ARMS[1]]) == (SMALL, SUBJECT)
    assert subjects_of([]) == ()


def test_two_different_subjects_with_one_name_are_rejected() -> None:
    """One of them would be measured in place of the other."""
    other = Subject(name="small", config=SubjectConfig(upstream="backend:8000", reuseport=False))
    with pytest.raises(ValueError, match="two different subjects are called small"):
        subjects_of([arm("a", subject=SMALL), arm("b", subject=other)])
    same = Subject(name="small", config=SMALL.config, sysctls=dict(SMALL.sysctls))
    assert subjects_of([arm("a", subject=SMALL), arm("b", subject=same)]) == (SMALL,)
