"""The texts, pages and charts of a small but complete report equal the approved ones.

After an intended change, ``pytest -n 0 --snapshot-update`` with this file writes the approved texts again
(https://syrupy-project.github.io/syrupy/). Read the difference before you commit it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.canned_results import cell, effect, write_small_run
from tests.support.report_text import Page
from tests.support.written_results import written
from tuneproof.report.charts import charts
from tuneproof.report.html import write_report
from tuneproof.report.html.evidence import texts
from tuneproof.report.results.comparing import Comparison, compare
from tuneproof.report.results.documents import Results
from tuneproof.report.terminal.comparison_text import comparison_markdown, render_comparison
from tuneproof.report.terminal.markdown import render_markdown
from tuneproof.report.terminal.table import render_table


@pytest.fixture(name="small", scope="module")
def small_fixture(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return a small run with each verdict, gaps, a shaped link, lost and oddly named evidence, and hostile texts."""
    return write_small_run(tmp_path_factory.mktemp("small") / "run")


@pytest.fixture(name="changed")
def changed_fixture(small: Results, tmp_path: Path) -> Comparison:
    """Return the small run and a later one with a changed verdict, a new cell, missing cells, and another machine."""
    cells = [
        cell("restores_loop", effect=effect(81.0, 50.0, 120.0)),
        cell("restores_loop", nginx="1.30", effect=effect(40.0, 30.0, 50.0)),
        cell("added"),
    ]
    return compare(small, written(tmp_path, *cells, host={"kernel": "6.9", "cpu_count": 2}, seed=8))


def test_the_list_of_verdicts_equals_the_approved_one(small: Results, snapshot: SnapshotAssertion) -> None:
    """Claims are below their scenario and version; contradicted and undecided ones are repeated with an explanation."""
    assert render_table(small.cells, color=False, seconds=small.seconds) == snapshot


def test_the_step_summary_equals_the_approved_one(small: Results, snapshot: SnapshotAssertion) -> None:
    assert render_markdown(small, where="here") == snapshot


def test_a_comparison_equals_the_approved_one(changed: Comparison, snapshot: SnapshotAssertion) -> None:
    assert render_comparison(changed, width=100, color=False) == snapshot
    assert comparison_markdown(changed) == snapshot


def test_the_text_of_the_pages_equals_the_approved_one(small: Results, snapshot: SnapshotAssertion) -> None:
    write_report(small, small.path.parent)
    index = Page(small.path.parent / "index.html")
    assert index.text == snapshot
    for name in ("restores_loop-nginx-1.22", "herd", "steering"):
        (path,) = (small.path.parent / "cells").glob(f"*{name}*")
        assert Page(path).text == snapshot(name=name)


def test_the_charts_of_a_cell_equal_the_approved_ones(small: Results, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(_charts(small)) + "\n" == snapshot


def _charts(results: Results) -> Iterator[str]:
    for chart in charts(results.cells[0], texts(results.path.parent, results.cells[0])):
        yield f"== {chart.name}: {chart.title}"
        yield chart.caption
        yield from (" | ".join(map(_rounded, row)) for row in (chart.columns, *chart.rows))
        for trace in chart.figure["data"]:
            drawn = {key: trace[key] for key in ("name", "mode", "x", "y", "xaxis", "line", "marker") if key in trace}
            yield re.sub(r"\s+", " ", str(drawn))


def _rounded(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
