"""The report in a real browser: Chromium of the system, pages from the disk, and no network."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.canned_results import write_large_run, write_small_run
from tuneproof.report.html import write_report
from tuneproof.report.html.matrix import matrix
from tuneproof.report.results.run_file import Results

# One browser serves all of them.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_LARGE_CELLS = 500
# The table is too high for the window: scroll bars come, and places are computed anew.
_MORE_LAYOUTS = 2
_OWN_FILES_BYTES = 15_000_000
_NARROW = {"width": 390, "height": 844}


@pytest.fixture(name="browser", scope="module")
def browser_fixture() -> Iterator[Browser]:
    """Start the system's Chromium; skip the tests where there is none."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        pytest.skip(f"needs one of {', '.join(_PROGRAMS)}; on Debian and Ubuntu: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@pytest.fixture(name="small", scope="module")
def small_fixture(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Write a small run with its pages."""
    results = write_small_run(tmp_path_factory.mktemp("small") / "run")
    write_report(results, results.path.parent)
    return results


@pytest.fixture(name="page")
def page_fixture(browser: Browser) -> Iterator[Page]:
    """Open an empty page; afterwards, nothing was complained about and nothing was asked of a network."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    yield page
    context.close()
    assert complaints == []
    assert [url for url in requests if urlsplit(url).scheme not in {"file", "data", "blob"}] == []


def first_page(results: Results, fragment: str = "") -> str:
    """Return the address of a report's first page."""
    return f"{(results.path.parent / 'index.html').as_uri()}{fragment}"


def cell_page(results: Results, name: str) -> str:
    """Return the address of the first cell's page whose name has ``name`` in it."""
    slug = next(entry.slug for entry in matrix(results.cells).entries if name in entry.slug)
    return (results.path.parent / "cells" / f"{slug}.html").as_uri()


def open_cell(page: Page, results: Results, name: str = "restores_loop") -> None:
    """Open a cell's page, and wait until its charts are drawn."""
    page.goto(cell_page(results, name))
    page.wait_for_selector("html[data-charts]", state="attached")


def shown(page: Page) -> list[str]:
    """Return the claims that are visible, from top to bottom."""
    return [row.inner_text() for row in page.locator("tr.claim:visible .sentence").all()]


def focused(page: Page) -> str:
    """Return the id of the matrix cell that has the focus; empty when none has."""
    return str(page.evaluate("document.activeElement.closest('.v')?.id ?? ''"))


def test_the_matrix_has_every_cell(page: Page, small: Results) -> None:
    """Each with its verdict, as word and as sign, under its version and network."""
    page.goto(first_page(small))
    table = matrix(small.cells)
    assert page.locator("tr.claim").count() == len(table.rows)
    assert page.locator(".matrix thead th").count() == 1 + len(table.columns)
    for entry in table.entries:
        cell = page.locator(f"[id='{entry.slug}']")
        assert entry.cell.verdict in cell.locator(".word").inner_text()
        assert cell.locator(".sign").inner_text().strip()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_every_page_opens_from_the_disk_and_every_link_leads_to_a_file(page: Page, small: Results) -> None:
    """As the browser resolves them; the page's own fixture sees that no network is asked and nothing is complained."""
    folder = small.path.parent.resolve()
    for path in [folder / "index.html", *sorted((folder / "cells").iterdir())]:
        page.goto(path.as_uri())
        addresses = page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)")
        assert len(addresses) > 1
        for address in addresses:
            target = Path(unquote(urlsplit(address).path))
            assert target.is_file(), address
            assert target.is_relative_to(folder)


def test_a_cells_figures_are_those_of_results_json(page: Page, small: Results) -> None:
    """Effect, interval, threshold and every metric of every arm, read from the page as it is shown."""
    open_cell(page, small)
    cell = small.cells[0]
    assert cell.effect is not None
    figures = page.eval_on_selector_all(
        "data[data-figure]", "all => Object.fromEntries(all.map(one => [one.dataset.figure, Number(one.value)]))"
    )
    assert figures == {
        "effect.value": cell.effect.value,
        "effect.ci_low": cell.effect.ci_low,
        "effect.ci_high": cell.effect.ci_high,
        "threshold": cell.threshold,
        "blocks": cell.blocks,
        "void_blocks": cell.void_blocks,
        "seconds": cell.seconds,
        "measuring_seconds": cell.measuring_seconds,
    }
    head, *rows = page.locator("table.metrics tr").all()
    arms = head.locator("th").all_inner_texts()[1:]
    assert arms == list(cell.arms)
    measured = {row.locator("th").inner_text(): row.locator("data").all() for row in rows}
    assert {
        (arm, name): float(value.get_attribute("value") or "nan")
        for name, values in measured.items()
        for arm, value in zip(arms, values, strict=True)
    } == {
        (arm, name): value for arm, metrics in cell.arms.items() for name, value in metrics.items() if value is not None
    }


def test_charts_are_drawn_in_the_pages_colours(page: Page, small: Results) -> None:
    """Each plot has an axis, in dark as in light, and its text has the page's colour of text."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        open_cell(page, small)
        assert page.locator(".plot").count() >= 2
        assert page.locator(".plot").count() == page.locator(".plot:has(.main-svg .xaxislayer-above)").count()
        ink = page.locator("body").evaluate("one => getComputedStyle(one).color")
        assert page.locator(".plot .xtick text").first.evaluate("one => getComputedStyle(one).fill") == ink


def test_filters_narrow_the_matrix_and_stay_in_the_address(page: Page, small: Results) -> None:
    """What is typed and chosen is in the link, and the link alone brings it back."""
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


def test_rows_can_be_sorted_and_put_back(page: Page, small: Results) -> None:
    """The contradiction first; then by scenario again, in the order of the run."""
    page.goto(first_page(small))
    before = shown(page)
    page.select_option("[name=sort]", "attention")
    assert shown(page)[0] == "A loaded worker stalls (restores_loop)"
    assert shown(page) != before
    assert sorted(shown(page)) == sorted(before)
    page.select_option("[name=sort]", "")
    assert shown(page) == before


def test_a_link_to_a_cell_shows_it(page: Page, small: Results) -> None:
    """Also one far down the page."""
    entry = matrix(small.cells).entries[-1]
    page.set_viewport_size({"width": 1400, "height": 400})
    page.goto(first_page(small, f"#{entry.slug}"))
    expect(page.locator(f"[id='{entry.slug}']")).to_be_in_viewport()


def test_the_matrix_can_be_walked_with_the_keyboard(page: Page, small: Results) -> None:
    """Arrows go from cell to cell, past gaps; Enter opens, n goes on, m goes back to the cell's place."""
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


def test_single_keys_help_and_can_be_switched_off(page: Page, small: Results) -> None:
    """A slash finds, a question mark explains; whoever switched them off, or types, is left alone."""
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_needs_no_sideways_scrolling(page: Page, small: Results, scheme: str, tmp_path: Path) -> None:
    """Claims become cards, in both schemes; the pictures are kept beside the test's other files."""
    page.set_viewport_size(_NARROW)  # type: ignore[arg-type]
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for name, address in (("index", first_page(small)), ("cell", cell_page(small, "restores_loop"))):
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= _NARROW["width"]
        assert page.screenshot(path=tmp_path / f"{name}-{scheme}.png", full_page=True)
    page.goto(first_page(small))
    assert page.locator(".v .place").first.is_visible()
    red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (red + green + blue < 200) == (scheme == "dark")


def test_paper_gets_no_controls_and_light_colours(page: Page, small: Results) -> None:
    """Whatever the screen's scheme is."""
    page.emulate_media(color_scheme="dark", media="print")
    page.goto(first_page(small))
    assert not page.locator(".filters").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


def test_without_scripts_everything_is_said(browser: Browser, small: Results) -> None:
    """No control that does nothing, every verdict, and each chart's data as a table."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(first_page(small))
    assert not page.locator(".filters").is_visible()
    assert page.locator(".v .word:visible").count() == len(small.cells)
    page.goto(cell_page(small, "restores_loop"))
    assert not page.locator(".plot").first.is_visible()
    page.locator("figure summary").first.click()
    assert page.locator("figure table").first.is_visible()
    context.close()


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("", "light"),
        ("", "dark"),
        ("restores_loop", "light"),
        # The same parts in other colours, and on other pages.
        pytest.param("restores_loop", "dark", marks=pytest.mark.slow),
        *(
            pytest.param(name, scheme, marks=pytest.mark.slow)
            for name in ("herd", "over_a_link", "steering")
            for scheme in ("light", "dark")
        ),
    ],
)
def test_axe_finds_no_serious_violation(page: Page, small: Results, name: str, scheme: str) -> None:
    """Contrast, names, roles and keyboard reach, on the first page and on pages of every verdict."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(cell_page(small, name) if name else first_page(small))
    page.wait_for_load_state("networkidle")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.setAttribute('open', ''))")
    # Without the preload: axe would fetch the style sheet, which the page's own policy forbids, and say so.
    found = Axe().run(page, options={"preload": False}).response["violations"]
    assert [
        (one["id"], [node["target"] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in {"serious", "critical"}
    ] == []


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What it takes a browser to show a page: what decides how long, and is the same on every machine.

    Attributes:
        requests: Files that it read.
        layouts: How often it computed the places of everything.
        nodes: Parts that the page has then.
    """

    requests: int
    layouts: int
    nodes: int


def opening(page: Page, results: Results) -> Opening:
    """Open the first page anew and use its matrix by a key."""
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
@pytest.mark.slow
def test_a_report_of_500_cells_is_small_and_no_harder_to_open(page: Page, small: Results, tmp_path: Path) -> None:
    """Its own files, without evidence, are at most 15 MB. Its first page has as many parts as its cells make."""
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
