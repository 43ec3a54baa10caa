"""A pytest run inside a test, with the project's own conftest and plugins, and claims with given verdicts."""

import json
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from fixtures import labs, summary
from fixtures.options import RunState
from tests.support.fake_bench import arm, claim
from tests.support.places import CHECKOUT
from tests.support.written_results import a_cell
from tuneproof.catalogue import declared
from tuneproof.catalogue.advice import Advice
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.keys import Key


def prepare(pytester: pytest.Pytester, source: str, *, pages: bool = False, conftest: str = "") -> None:
    """Write the project's conftest and one test module to pytester's folder.

    Args:
        pytester: Runs pytest in this process, in its own folder.
        source: The module's text.
        pages: Whether the run writes its pages, as a user's run does. They need several MB, and a drawing library that
            takes seconds to load; only tests of the pages need them.
        conftest: Further text of the conftest.
    """
    # On a CI server, invented results must not go into the outer run's summary.
    pytester._monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    if not pages:
        pytester._monkeypatch.setattr(summary, "_write_pages", lambda _path: "not in this test")
    pytester.makeconftest((CHECKOUT / "conftest.py").read_text(encoding="utf-8") + textwrap.dedent(conftest))
    pytester.makeini("[pytest]\nmarkers =\n" + "".join(f"    {name}\n" for name in _MARKERS))
    pytester.makepyfile(source)


_MARKERS: Final = ("claim(declared)", "engine", "timing", "headline", "full_depth")


def advice(name: str, *claims: Claim[Any] | str, **changes: Any) -> Advice:
    """Return a piece of advice; a claim that is only a name is about the arm "a"."""
    own = tuple(claim(each, "a") if isinstance(each, str) else each for each in claims)
    arms = tuple(map(arm, sorted({name for each in own for name in each.arms})))
    scenario = Scenario(name=name, arms=arms, claims=own)
    return Advice(**{"scenario": lambda _run: scenario, **changes})


# An ordinary claim, one that needs two CPUs, and one that needs a later nginx.
DECLARED: Final = Scenario(
    name="stall",
    arms=(arm("loaded"), arm("unused")),
    claims=(
        claim("loaded_stalls", "loaded"),
        replace(claim("many_cpus_stall", "unused"), subject_cpus=2),
        replace(claim("new_stall", "unused"), since="1.23.0"),
    ),
)


def prepare_catalogue(
    pytester: pytest.Pytester, *every: Advice, then: str = "", pages: bool = False, conftest: str = ""
) -> None:
    """Write the test of claims, for a catalogue with this advice, and further tests to pytester's folder."""
    module = (CHECKOUT / "tests" / "scenarios" / "test_claims.py").read_text(encoding="utf-8")
    prepare(pytester, "", pages=pages, conftest=conftest)
    for test in pytester.path.glob("test_*.py"):
        test.unlink()
    (pytester.path / "test_claims.py").write_text(module + textwrap.dedent(then), encoding="utf-8")
    for user in (declared, labs):
        pytester._monkeypatch.setattr(user, "every_advice", lambda: every)


def cell(**changes: Any) -> Cell:
    """Return a decided cell; by default, its claim is about a stall and holds as expected."""
    evidence = ("evidence/stall/access.log", "evidence/stall/samples.jsonl")
    stall: dict[str, Any] = {"claim": "A loaded worker stalls", "void_blocks": 1, "evidence": evidence}
    return replace(a_cell("loaded"), **{**stall, **changes})


class DecidedLabs:
    """Stands in for :class:`fixtures.labs.Labs`: writes a given result for each claim without measuring."""

    def __init__(self, run: RunState, **changes: Any) -> None:
        self._run = run
        self._changes = changes

    def enter(self, _lab: Key) -> Callable[[Key], Cell]:
        return self._decide

    def _decide(self, key: Key) -> Cell:
        writer = self._run.writer or self._run.write_results({})
        parts = {"scenario": key.scenario, "name": key.claim, "nginx": key.nginx, "network": key.network}
        decided = cell(**{"id": key.id, **parts, **self._changes})
        writer.append(decided)
        return decided


DECIDED: Final = """
    from tests.support.inner_pytest import DecidedLabs

    @pytest.fixture(scope="session")
    def labs(run_state):
        return DecidedLabs(run_state, **{changes})
"""


def prepare_claim(pytester: pytest.Pytester, *, then: str = "", pages: bool = False, **changes: Any) -> None:
    """Prepare a run of one claim that has a given verdict, and of further tests."""
    decided = DECIDED.format(changes=repr(changes))
    prepare_catalogue(pytester, advice("stall", claim("loaded", "loaded")), then=then, pages=pages, conftest=decided)


def document(pytester: pytest.Pytester) -> dict[str, Any]:
    """Return results.json of the latest inner run."""
    found: dict[str, Any] = json.loads((pytester.path / "results/latest/results.json").read_text(encoding="utf-8"))
    return found
