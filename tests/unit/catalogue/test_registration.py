"""Nothing that decides a claim moves unseen."""

from dataclasses import replace
from typing import Any

import pytest

from tuneproof.catalogue import config_rot, every_advice, proxy_buffering, reuseport_stall_league
from tuneproof.catalogue.advice import Advice, RunConditions
from tuneproof.catalogue.registration import fingerprints, registered
from tuneproof.proof.inference.verdicts import Form

NAME = "proxy_buffering/buffering_off_is_bounded"


def test_every_claim_stands_as_it_is_registered() -> None:
    """What moved, and why, is looked at before it is entered."""
    found = {name: hashed for advice in every_advice() for name, hashed in fingerprints(advice).items()}
    known = {name: entry.hash for name, entry in registered().items()}
    moved = sorted(name for name in {*found, *known} if found.get(name) != known.get(name))
    assert moved == [], "new, gone or decided otherwise; fix: .venv/bin/python -m tools.register"


def test_every_claim_says_where_its_threshold_comes_from() -> None:
    """In one sentence, the control's likewise; what is exploratory says why it is."""
    for advice in every_advice():
        for claim in advice.scenario(RunConditions()).claims:
            for each in (claim, claim.control):
                if each is not None:
                    assert len(each.why) > len("the article's"), f"{advice.name}/{each.name} lacks its why"


def hash_with(**changes: Any) -> str:
    """Return the hash of a claim with some of its fields changed."""
    scenario = proxy_buffering.SCENARIO
    claims = [replace(claim, **changes) if NAME.endswith(claim.name) else claim for claim in scenario.claims]
    moved = replace(scenario, claims=tuple(claims))
    return fingerprints(Advice(scenario=lambda _: moved))[NAME]


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": 9.0},
        {"form": Form.SAME},
        {"further_looks": (6,)},
        {"own_looks": (29,)},
        {"arms": ("articles-config", "defaults")},
        {"condition": bool},
        {"effect": lambda block: block["articles-config"].growth_bytes / block["buffering-off"].growth_bytes},
        {"control": proxy_buffering.CLAIMS[0]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_decides_a_claim_changes_its_hash(changes: dict[str, Any]) -> None:
    assert hash_with(**changes) != hash_with()


def test_what_only_words_a_claim_does_not() -> None:
    """Sentences may be mended at any time."""
    assert hash_with(sentence="other words", source="elsewhere", expected=None, line="sendfile on;") == hash_with()


def test_what_an_effect_calls_is_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "reuseport_stall_league/receive_buffer_is_the_larger_factor"
    before = fingerprints(reuseport_stall_league.ADVICE)[name]
    monkeypatch.setitem(reuseport_stall_league.factors.__globals__, "turn_cpu_ms", hash_with)
    assert fingerprints(reuseport_stall_league.ADVICE)[name] != before


def test_an_arm_more_moves_no_other_claim() -> None:
    """Though it shares a container, and so a subject, with the others."""
    scenario = config_rot.SCENARIO
    first = scenario.arms[0]
    shared = replace(first.subject, configurations={**first.subject.configurations, "new": "# another"})
    arms = [replace(arm, subject=shared) for arm in scenario.arms if arm.subject == first.subject]
    assert len(arms) == len(scenario.arms)
    grown = replace(scenario, arms=tuple(arms))
    assert fingerprints(Advice(scenario=lambda _: grown)) == fingerprints(config_rot.ADVICE)
