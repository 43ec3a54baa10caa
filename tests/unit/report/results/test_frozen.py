"""Results written by any earlier version still load, and everything that reads results accepts them.

``tests/frozen_results`` has a file of a few cells for each format that docs/results.json and docs/own-nginx.json had so
far. A change to the format adds a file; existing files never change.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.places import CHECKOUT
from tuneproof.report.html import write_report
from tuneproof.report.results.cells import Cell, Effect
from tuneproof.report.results.comparing import compare
from tuneproof.report.results.merging import merge
from tuneproof.report.results.run_file import load
from tuneproof.report.results.schema import document_violation
from tuneproof.report.terminal.comparison_text import comparison_markdown, render_comparison
from tuneproof.report.terminal.markdown import render_markdown
from tuneproof.report.terminal.table import render_table

FROZEN = sorted((CHECKOUT / "tests" / "frozen_results").glob("*.json"))


@pytest.mark.parametrize("path", FROZEN, ids=lambda path: path.stem)
def test_every_reader_accepts_results_of_every_earlier_version(path: Path, tmp_path: Path) -> None:
    results = load(path)
    assert results.cells
    assert document_violation(results.to_json()) is None
    table = render_table(results.cells, color=False)
    assert all(cell.name in table for cell in results.cells)
    others = tuple(replace(cell, verdict="unsupported", effect=None) for cell in results.cells)
    same, changed = compare(results, results), compare(results, replace(results, cells=others))
    assert (len(same.changed), len(changed.changed)) == (
        0,
        sum(cell.verdict != "unsupported" for cell in results.cells),
    )
    for comparison in (same, changed):
        assert render_comparison(comparison, width=100, color=False)
        assert comparison_markdown(comparison)
    assert render_markdown(results)
    text = write_report(results, tmp_path / "pages").read_text(encoding="utf-8")
    assert all(cell.name in text for cell in results.cells)


def _untestable(cell: Cell, effect: Effect) -> Cell:
    return replace(cell, effect=replace(effect, plan_level=0.9), verdict="unsupported", reason="a control is refuted")


@pytest.mark.parametrize("path", FROZEN, ids=lambda path: path.stem)
def test_results_of_every_earlier_version_can_be_compared_with_current_ones(path: Path) -> None:
    """Current results contain the plan's level, and the effect of a claim that a control made untestable."""
    old = load(path)
    now = tuple(_untestable(cell, cell.effect) if cell.effect else cell for cell in old.cells)
    new = replace(old, cells=now)
    assert document_violation(new.to_json()) is None
    for one, other in ((old, new), (new, old)):
        comparison = compare(one, other)
        assert len(comparison.pairs) == len(old.cells)
        assert all(pair.intervals == "overlap" for pair in comparison.pairs if pair.old.effect)
        assert render_comparison(comparison, width=100, color=False)


def test_results_of_different_versions_are_merged() -> None:
    """Two files can be merged if they have no cell in common."""
    first, *others = map(load, FROZEN)
    merged = [other for other in others if not {cell.id for cell in first.cells} & {cell.id for cell in other.cells}]
    assert merged
    for other in merged:
        assert len(merge([first, other], same_rules=False).cells) == len(first.cells) + len(other.cells)
