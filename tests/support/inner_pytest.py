"""A pytest run inside a test, with the project's own conftest and plugins, and claims that are decided beforehand."""

import json
from dataclasses import replace
from typing import Any, Final

import pytest
import scipy.stats  # type: ignore[import-untyped]  # scipy ships no type information

from fixtures import session
from fixtures.options import RunState
from tests.support.places import CHECKOUT
from tests.support.written_results import a_cell
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.run_file import ResultsWriter

# Loaded before any inner run: pytester forgets the modules that one loads, and compiled ones cannot be loaded twice.
_LOADED = scipy.stats


def prepare(pytester: pytest.Pytester, source: str, *, pages: bool = False) -> None:
    """Make a folder with the project's conftest and one test module.

    Args:
        pytester: Where the run will be; it runs in this process.
        source: The module's text.
        pages: Whether the run ends with its pages, as a user's does. They are several MB, with a drawing library that
            takes seconds to load, and only tests of the pages look at them.
    """
    # On a CI server the outer run's summary is not the place for what is only made up.
    pytester._monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    if not pages:
        pytester._monkeypatch.setattr(session, "_write_pages", lambda _path: "not in this test")
    pytester.makeconftest((CHECKOUT / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers =\n    claim(name): the claim that the test decides\n")
    pytester.makepyfile(source)


def cell(**changes: Any) -> Cell:
    """Return a decided cell; a stall that holds as expected, but for the changes."""
    evidence = ("evidence/stall/access.log", "evidence/stall/samples.jsonl")
    stall: dict[str, Any] = {"claim": "A loaded worker stalls", "void_blocks": 1, "evidence": evidence}
    return replace(a_cell("loaded"), **{**stall, **changes})


class Decided:
    """A measurement that is over: asked for a claim, it returns its cell, and writes it as a real one does."""

    def __init__(self, run: RunState, **changes: Any) -> None:
        self._cell = cell(**changes)
        if run.writer is None:
            run.writer = ResultsWriter.create(
                run.options.results, host={}, seed=run.options.seed, options=run.options_json()
            )
        self._writer = run.writer

    def decide(self, _claim: object) -> Cell:
        self._writer.append(self._cell)
        return self._cell


_DECIDES: Final = """
    import pytest

    from fixtures.measurements import decide
    from tests.support.fake_bench import claim
    from tests.support.inner_pytest import Decided

    @pytest.mark.claim("loaded")
    def test_claim(run_state, request, nginx, network):
        case = request.node.user_properties
        decide(claim("loaded", "loaded"), Decided(run_state, **{changes}), run_state, properties=case)
"""


def prepare_claim(pytester: pytest.Pytester, *, then: str = "", pages: bool = False, **changes: Any) -> None:
    """Make a folder whose only claim is decided beforehand; the text of further tests may follow."""
    prepare(pytester, _DECIDES.format(changes=repr(changes)) + then, pages=pages)


def document(pytester: pytest.Pytester) -> dict[str, Any]:
    """Return results.json of the latest inner run."""
    found: dict[str, Any] = json.loads((pytester.path / "results/latest/results.json").read_text(encoding="utf-8"))
    return found
