"""In a real browser, the matrix on a report's first page can be filtered, sorted and navigated."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.canned_results import cell, write_large_run
from tests.support.report_pages import first_page, focused
from tests.support.written_results import written
from tuneproof.report.html import write_report
from tuneproof.report.html.matrix import matrix
from tuneproof.report.results.run_file import Results
from tuneproof.report.words import word_of

pytestmark = pytest.mark.browser

_LARGE_CELLS = 500
# The large table is taller than the window: scroll bars appear, and the browser computes the layout again.
_MORE_LAYOUTS = 2
_OWN_FILES_BYTES = 15_000_000


def shown(page: Page) -> list[str]:
    """Return the visible claims, from top to bottom."""
    return [row.inner_text() for row in page.locator("tr.claim:visible .sentence").all()]


def test_the_matrix_contains_every_cell(page: Page, small: Results) -> None:
    page.goto(first_page(small))
    table = matrix(small.cells)
    assert page.locator("tr.claim").count() == len(table.rows)
    assert page.locator(".matrix thead th").count() == 1 + len(table.columns)
    for entry in table.entries:
        cell = page.locator(f"[id='{entry.slug}']")
        assert word_of(entry.cell.verdict) in cell.locator(".word").inner_text()
        assert cell.locator(".sign").inner_text().strip()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_filters_narrow_the_matrix_and_stay_in_the_address(page: Page, small: Results) -> None:
    page.goto(first_page(small))
    everything = shown(page)
    page.fill("[name=q]", "article TWINS")
    assert shown(page) == ["A loaded worker stalls (twins)"]
    page.fill("[name=q]", "")
    page.check("[name=contradictions]")
    assert shown(page) == ["A loaded worker stalls (restores_loop)"]
    assert page.url.endswith("#contradictions=1")
    page.goto("about:blank")
    page.goto(first_page(small, "#verdict=unsupported&scenario=softirq_steering"))
    assert shown(page) == ["A loaded worker stalls (steering)"]
    assert page.locator("[role=status]").inner_text() == f"1 of {len(everything)} claims"
    page.fill("[name=q]", "no such claim")
    assert page.locator(".none-shown").is_visible()
    page.click("button[type=reset]")
    page.wait_for_function("location.hash === ''")
    assert shown(page) == everything


def test_rows_can_be_sorted_and_restored(page: Page, small: Results) -> None:
    page.goto(first_page(small))
    before = shown(page)
    page.select_option("[name=sort]", "attention")
    assert shown(page)[0] == "A loaded worker stalls (restores_loop)"
    assert shown(page) != before
    assert sorted(shown(page)) == sorted(before)
    page.select_option("[name=sort]", "")
    assert shown(page) == before


def test_scenarios_can_be_folded_one_by_one_or_all_at_once(page: Page, small: Results) -> None:
    """A folded scenario still shows its claims' verdicts; sorted rows are not grouped, so all are visible."""
    page.goto(first_page(small))
    everything = shown(page)
    page.click("[aria-label='Fold reuseport_stall']")
    left = shown(page)
    assert 0 < len(left) < len(everything)
    assert page.locator("tr.scenario:visible .in-it").first.inner_text() == "1 holds, 2 refuted, 1 inconclusive"
    page.check("[name=folded]")
    assert shown(page) == []
    page.select_option("[name=sort]", "claim")
    assert sorted(shown(page)) == sorted(everything)
    page.click("button[type=reset]")
    page.wait_for_function("location.hash === ''")
    assert shown(page) == everything


def test_a_hundred_claims_fit_on_two_screens(page: Page, tmp_path: Path) -> None:
    """A screen is 1000 pixels high; the view is dense, and each claim has results on four versions."""
    cells = [
        cell(f"claim_{index}", scenario=f"scenario_{index // 6}", nginx=nginx, arms={})
        for index in range(100)
        for nginx in ("1.18", "1.22", "1.26", "1.30")
    ]
    results = written(tmp_path / "run", *cells)
    write_report(results, results.path.parent)
    page.goto(first_page(results, "#dense=1"))
    rows = page.locator("tr.claim:visible")
    assert rows.count() == 100
    table = page.locator("table.matrix").bounding_box()
    assert table is not None
    assert table["height"] <= 2000
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_a_link_to_a_cell_shows_it(page: Page, small: Results) -> None:
    entry = matrix(small.cells).entries[-1]
    page.set_viewport_size({"width": 1400, "height": 400})
    page.goto(first_page(small, f"#{entry.slug}"))
    expect(page.locator(f"[id='{entry.slug}']")).to_be_in_viewport()


def test_the_matrix_can_be_navigated_with_the_keyboard(page: Page, small: Results) -> None:
    page.goto(first_page(small))
    table = matrix(small.cells)
    first, right = (entry.slug for entry in table.rows[0].entries)
    page.keyboard.press("m")
    assert focused(page) == first
    page.keyboard.press("ArrowRight")
    assert focused(page) == right
    page.keyboard.press("ArrowRight")
    assert focused(page) == right
    page.keyboard.press("ArrowDown")
    assert focused(page) == table.rows[1].entries[0].slug
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    assert focused(page) == first
    page.keyboard.press("ArrowDown")
    assert focused(page) == table.rows[2].entries[0].slug  # the second row has a gap in this column
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/cells/{first}.html")
    page.keyboard.press("n")
    page.wait_for_url(f"**/cells/{right}.html")
    page.keyboard.press("m")
    page.wait_for_url(f"**/index.html#{right}")


def test_single_keys_work_and_can_be_turned_off(page: Page, small: Results) -> None:
    """A slash focuses the search field, and a question mark opens the help, but not while the user types."""
    page.goto(first_page(small))
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("a/?")
    assert page.input_value("[name=q]") == "a/?"
    page.locator("h1").click()
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.uncheck("#keys-on")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert not page.locator("dialog").is_visible()
    page.click("[data-open-keys]")
    page.check("#keys-on")


@dataclass(frozen=True, kw_only=True)
class Opening:
    """A browser's work to open a page. Unlike the time that it takes, this is the same on every machine."""

    requests: int  # files that it reads
    layouts: int  # how often it computes the whole layout
    nodes: int  # nodes of the page's DOM


def opening(page: Page, results: Results) -> Opening:
    """Open the first page, press a key in its matrix, and return the browser's work."""
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto("about:blank")
    requests.clear()
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")
    page.goto(first_page(results), wait_until="load")
    page.keyboard.press("m")
    assert focused(page)
    metrics = {item["name"]: item["value"] for item in devtools.send("Performance.getMetrics")["metrics"]}
    devtools.detach()
    return Opening(requests=len(requests), layouts=metrics["LayoutCount"], nodes=metrics["Nodes"])


@pytest.mark.slow
def test_a_report_of_500_cells_is_small_and_opens_like_a_small_one(page: Page, small: Results, tmp_path: Path) -> None:
    """The limit is 15 MB without evidence. The first page's DOM may grow in proportion to the cells."""
    few = opening(page, small)
    results = write_large_run(tmp_path / "run", cells=_LARGE_CELLS)
    write_report(results, results.path.parent)
    folder = results.path.parent
    own = [folder / "index.html", *(folder / "assets").iterdir(), *(folder / "cells").iterdir()]
    assert len(own) == 1 + 3 + _LARGE_CELLS
    assert sum(path.stat().st_size for path in own) <= _OWN_FILES_BYTES
    many = opening(page, results)
    assert many.requests == few.requests
    assert many.layouts <= few.layouts + _MORE_LAYOUTS
    assert many.nodes <= few.nodes * _LARGE_CELLS / len(small.cells)
