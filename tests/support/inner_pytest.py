"""A pytest run inside a test, with the project's own conftest and plugins, and claims that are decided beforehand."""

from typing import Any

import pytest
import scipy.stats  # type: ignore[import-untyped]  # scipy ships no type information

from fixtures import session
from fixtures.options import RunState
from tests.support.places import CHECKOUT
from tuneproof.report.results.cells import Cell, Effect
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
    fields: dict[str, Any] = {
        "id": "stall/loaded/nginx-1.22/bare",
        "name": "loaded",
        "scenario": "stall",
        "claim": "A loaded worker stalls",
        "source": "an article",
        "nginx": "1.22",
        "network": "bare",
        "verdict": "holds",
        "expected": "holds",
        "threshold": 10.0,
        "effect": Effect(name="median lag, loaded ÷ idle", unit="ratio", value=134.0, ci_low=98.0, ci_high=180.0),
        "arms": {"loaded": {"trials": 6}},
        "blocks": 6,
        "void_blocks": 1,
        "seconds": 12.0,
        "measuring_seconds": 9.0,
        "evidence": ("evidence/stall/access.log", "evidence/stall/samples.jsonl"),
        "reason": "",
    }
    return Cell(**{**fields, **changes})


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
