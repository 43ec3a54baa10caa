"""A report's pages work in a real browser, opened from disk without a network."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.support.report_pages import cell_page, first_page
from tuneproof.report.results.run_file import Results

pytestmark = pytest.mark.browser

_NARROW = {"width": 390, "height": 844}


def test_every_page_opens_from_disk(page: Page, small: Results) -> None:
    """The fixture ``page`` checks that there are no network requests and no errors."""
    folder = small.path.parent
    for path in [folder / "index.html", *(folder / "cells").iterdir()]:
        page.goto(path.resolve().as_uri())
        assert page.locator("a[href]").count() > 1


def test_a_cells_figures_are_those_of_results_json(page: Page, small: Results) -> None:
    page.goto(cell_page(small, "restores_loop"))
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
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(cell_page(small, "restores_loop"))
        page.wait_for_selector("html[data-charts]", state="attached")
        assert page.locator(".plot").count() >= 2
        assert page.locator(".plot").count() == page.locator(".plot:has(.main-svg .xaxislayer-above)").count()
        ink = page.locator("body").evaluate("one => getComputedStyle(one).color")
        assert page.locator(".plot .xtick text").first.evaluate("one => getComputedStyle(one).fill") == ink


def test_the_background_follows_the_preferred_colour_scheme(page: Page, small: Results) -> None:
    page.goto(first_page(small))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        assert (red + green + blue < 200) == (scheme == "dark")


# The layout hardly depends on colours.
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_a_narrow_screen_needs_no_sideways_scrolling(page: Page, small: Results, scheme: str, tmp_path: Path) -> None:
    """Each claim becomes a card. Screenshots are saved in the test's temporary folder."""
    page.set_viewport_size(_NARROW)  # type: ignore[arg-type]
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for name, address in (("index", first_page(small)), ("cell", cell_page(small, "restores_loop"))):
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= _NARROW["width"]
        assert page.screenshot(path=tmp_path / f"{name}-{scheme}.png", full_page=True)
    page.goto(first_page(small))
    assert page.locator(".v .place").first.is_visible()


def test_printed_pages_have_light_colours_and_no_controls(page: Page, small: Results) -> None:
    page.emulate_media(color_scheme="dark", media="print")
    page.goto(first_page(small))
    assert not page.locator(".filters").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


def test_pages_without_scripts_contain_all_information(browser: Browser, small: Results) -> None:
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
        # These cases repeat the same parts in other colours and on other pages.
        pytest.param("restores_loop", "dark", marks=pytest.mark.slow),
        *(
            pytest.param(name, scheme, marks=pytest.mark.slow)
            for name in ("herd", "over_a_link", "steering")
            for scheme in ("light", "dark")
        ),
    ],
)
def test_axe_finds_no_serious_violation(page: Page, small: Results, name: str, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(cell_page(small, name) if name else first_page(small))
    page.wait_for_load_state("networkidle")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.setAttribute('open', ''))")
    # With its preload, axe would fetch the style sheet, which the page's content security policy forbids, and fail.
    found = Axe().run(page, options={"preload": False}).response["violations"]
    assert [
        (one["id"], [node["target"] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in {"serious", "critical"}
    ] == []
