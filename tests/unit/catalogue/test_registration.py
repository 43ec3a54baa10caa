"""A change to anything that decides a claim is noticed."""

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tools import register
from tuneproof.catalogue import config_rot, every_advice, proxy_buffering
from tuneproof.catalogue.advice import Advice, RunConditions
from tuneproof.catalogue.registration import Fingerprint, Registration, fingerprints, registered
from tuneproof.lab.load.http_load import HttpLoad
from tuneproof.proof.inference.verdicts import Form
from tuneproof.proof.scenario.backends import Backend
from tuneproof.proof.scenario.scenarios import Scenario

NAME = "proxy_buffering/buffering_off_is_bounded"
SCENARIO = proxy_buffering.SCENARIO
CODE = '''
LEAST = 5.0
"""Documented."""


def effect(block):
    """Return it."""
    figures = [least(value) for value in block]
    return max(figures) / LEAST


def least(value):
    return value
'''


@pytest.fixture(scope="module")
def found() -> Mapping[str, Fingerprint]:
    return {name: one for advice in every_advice() for name, one in fingerprints(advice).items()}


def test_the_data_of_every_claim_match_their_registration(found: Mapping[str, Fingerprint]) -> None:
    """Before a change is registered, a maintainer must look at it."""
    known = registered()
    moved = sorted(name for name in {*found, *known} if name not in found or name not in known)
    moved += sorted(name for name in {*found} & {*known} if found[name].hash != known[name].hash)
    assert moved == [], "these claims are new, gone or decided differently; fix: .venv/bin/python -m tools.register"


def test_the_code_of_every_claim_matches_its_registration(found: Mapping[str, Fingerprint]) -> None:
    """A digest shows that code has changed; the author raises the revision if the code now behaves differently."""
    known = registered()
    changed = sorted(name for name in {*found} & {*known} if found[name].code != known[name].code)
    assert changed == [], (
        "the code of these claims has changed. If it counts, provokes or decides something else, raise its revision in "
        "tuneproof/catalogue/revisions.toml and run .venv/bin/python -m tools.register; else add --same all"
    )


def test_every_claim_gives_the_reason_for_its_threshold() -> None:
    for advice in every_advice():
        for claim in advice.scenario(RunConditions()).claims:
            for each in (claim, claim.control):
                if each is not None:
                    assert len(each.why) > len("the article's"), f"{advice.name}/{each.name} lacks its why"


def fingerprint_of(scenario: Scenario[Any], raised: Mapping[str, int] | None = None) -> Fingerprint:
    return fingerprints(Advice(scenario=lambda _: scenario), raised)[NAME]


def with_claim(**changes: Any) -> Scenario[Any]:
    """Return the scenario with some fields of a claim changed."""
    claims = [replace(claim, **changes) if NAME.endswith(claim.name) else claim for claim in SCENARIO.claims]
    return replace(SCENARIO, claims=tuple(claims))


def with_arm(change: Callable[[Any], Any]) -> Scenario[Any]:
    """Return the scenario with one of the claim's arms changed."""
    (name, *_) = SCENARIO.claim(NAME.partition("/")[2]).arms
    return replace(SCENARIO, arms=tuple(change(arm) if arm.name == name else arm for arm in SCENARIO.arms))


@pytest.mark.parametrize(
    "changed",
    [
        with_claim(threshold=9.0),
        with_claim(form=Form.SAME),
        with_claim(further_looks=(6,)),
        with_claim(own_looks=(29,)),
        with_claim(arms=("articles-config", "defaults")),
        with_claim(condition=bool),
        with_claim(control=proxy_buffering.CLAIMS[0]),
        with_claim(metric="another"),
        with_claim(subject_cpus=4),
        with_arm(lambda arm: replace(arm, subject=replace(arm.subject, memory_bytes=1 << 30))),
        with_arm(lambda arm: replace(arm, subject=replace(arm.subject, sysctls={"net.core.somaxconn": "128"}))),
        with_arm(lambda arm: replace(arm, plan=replace(arm.plan, readers=arm.plan.readers + 1))),
        replace(SCENARIO, backends=(*SCENARIO.backends, Backend(name="other"))),
        replace(SCENARIO, backends=tuple(replace(each, cpus=0.5) for each in SCENARIO.backends)),
        replace(SCENARIO, warm_up=HttpLoad(concurrency=3, requests=30)),
        replace(SCENARIO, beside=("client",)),
        replace(SCENARIO, many_clients=True),
        replace(SCENARIO, backends_beside_subject=not SCENARIO.backends_beside_subject),
    ],
)
def test_declared_data_that_affect_a_claims_decision_are_in_its_hash(changed: Scenario[Any]) -> None:
    assert fingerprint_of(changed).hash != fingerprint_of(SCENARIO).hash


def test_a_claims_wording_and_expectation_are_not_in_its_hash() -> None:
    """Sentences may be corrected at any time."""
    worded = with_claim(sentence="other words", source="elsewhere", expected=None, line="sendfile on;", why="it is so")
    assert fingerprint_of(worded) == fingerprint_of(SCENARIO)


def test_an_additional_arm_does_not_change_other_claims() -> None:
    """All arms share one container, so a new arm's configuration also becomes part of the other arms' data."""
    scenario = config_rot.SCENARIO
    first = scenario.arms[0]
    shared = replace(first.subject, configurations={**first.subject.configurations, "new": "# another"})
    arms = [replace(arm, subject=shared) for arm in scenario.arms if arm.subject == first.subject]
    assert len(arms) == len(scenario.arms)
    grown = replace(scenario, arms=tuple(arms))
    assert fingerprints(Advice(scenario=lambda _: grown)) == fingerprints(config_rot.ADVICE)


@pytest.fixture
def fingerprint_with(tmp_path: Path) -> Iterator[Callable[..., Fingerprint]]:
    """Return a function that makes a module of some code, and fingerprints a claim with the module's ``effect``."""
    modules: list[str] = []

    def fingerprint_with(code: str, raised: Mapping[str, int] | None = None) -> Fingerprint:
        path = tmp_path / f"example_{len(modules)}.py"
        path.write_text(code, encoding="utf-8")
        # All modules have the same name: they represent one module of the catalogue before and after a change.
        spec = importlib.util.spec_from_file_location("tuneproof.catalogue.example", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        modules.append(spec.name)
        spec.loader.exec_module(module)
        return fingerprint_of(with_claim(effect=module.effect), raised or {})

    yield fingerprint_with
    sys.modules.pop("tuneproof.catalogue.example", None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("figures", "numbers"),
        ("value", "item"),
        ("block", "observed"),
        ('"""Return it."""', '"""Return something."""'),
        ('"""Documented."""', "# documented"),
        ("    return value", "    # as it is\n    return value"),
    ],
)
def test_local_names_and_comments_do_not_matter(
    fingerprint_with: Callable[..., Fingerprint], old: str, new: str
) -> None:
    assert old in CODE
    assert fingerprint_with(CODE.replace(old, new)) == fingerprint_with(CODE)


@pytest.mark.parametrize(
    ("old", "new"), [("max(", "min("), ("    return value", "    return value + 1"), ("(figures)", "(block)")]
)
def test_changed_code_changes_the_digest_and_a_raised_revision_changes_the_hash(
    fingerprint_with: Callable[..., Fingerprint], old: str, new: str
) -> None:
    """The same applies to functions that the effect calls."""
    before, after = fingerprint_with(CODE), fingerprint_with(CODE.replace(old, new))
    assert (after.hash, after.code != before.code) == (before.hash, True)
    for name in ("example.effect", "example.least", NAME, "SlowReaders"):
        raised = fingerprint_with(CODE.replace(old, new), {name: 2})
        assert (raised.hash != before.hash, raised.code) == (True, after.code)
        assert fingerprint_with(CODE, {name: 3}).hash != raised.hash
    assert fingerprint_with(CODE, {"example.other": 2}) == before


def test_a_constant_that_code_uses_is_data(fingerprint_with: Callable[..., Fingerprint]) -> None:
    before = fingerprint_with(CODE)
    assert fingerprint_with(CODE.replace("5.0", "6.0")).hash != before.hash
    assert fingerprint_with(CODE.replace("LEAST", "FEWEST")).hash == before.hash


def test_values_in_a_closure_are_data(fingerprint_with: Callable[..., Fingerprint]) -> None:
    """For example, the name of a figure in a row of the catalogue."""
    factory = "def of(figure):\n def effect(block):\n  return block[figure]\n return effect\n\neffect = of('{}')\n"
    first, second = fingerprint_with(factory.format("a")), fingerprint_with(factory.format("b"))
    assert first.hash != second.hash
    assert first.code == second.code
    assert fingerprint_with(factory.format("a").replace("figure", "name")) == first


def test_the_tool_keeps_a_date_only_if_nothing_changed_or_with_the_option_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without that option, the tool fails and changes nothing if only code has changed."""
    path = tmp_path / "registered.json"
    known = {"n": Registration(hash="data", code="code", since="2026-01-01")}
    now = Fingerprint(hash="data", code="code")

    def entries() -> Mapping[str, Registration]:
        return registered(path)

    def run(found: Fingerprint, *arguments: str) -> tuple[int, Registration]:
        monkeypatch.setattr(register, "registered", lambda: known)
        monkeypatch.setattr(register, "fingerprints", lambda _advice: {"n": found})
        monkeypatch.setattr(register, "every_advice", lambda: [None])
        monkeypatch.setattr(register, "REGISTERED", path)
        path.touch()
        return register.main(arguments), entries()["n"]

    assert run(now) == (0, known["n"])
    status, entry = run(replace(now, code="other"))
    assert (status, entry) == (1, known["n"])
    assert "n: its code has changed; raise its revision, or add --same n" in capsys.readouterr().out
    assert run(replace(now, code="other"), "--same", "n") == (0, replace(known["n"], code="other"))
    status, entry = run(replace(now, hash="other"))
    assert (status, entry.hash, entry.since > "2026-01-01") == (0, "other", True)
    assert run(replace(now, hash="other"), "--same", "all")[1].since == "2026-01-01"
