"""The site built by `tox -e site` is accessible, and fits a phone's width."""

from pathlib import Path
from typing import Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ViewportSize

from tests.support.chromium import chromium
from tests.support.places import CHECKOUT
from tests.support.served import served

SITE: Final = CHECKOUT / "build" / "site"
PHONE: Final = ViewportSize(width=390, height=844)

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_on_a_phone(scheme: str) -> None:
    if not (SITE / "index.html").is_file():
        pytest.skip(f"no site in {SITE}: tox -e site builds it")
    pages = [path.relative_to(SITE).parent for path in sorted(SITE.rglob("index.html"))]
    assert Path("glossary") in pages
    with served(SITE) as address, chromium() as browser:
        page = browser.new_context(viewport=PHONE, color_scheme="dark" if scheme == "dark" else "light").new_page()
        found = {}
        for path in pages:
            page.goto(f"{address}{path}/")
            wide = page.evaluate("document.documentElement.scrollWidth") > PHONE["width"]
            # axe's preload is off: one page's policy forbids it, and axe would wait.
            violations = Axe().run(page, options={"preload": False}).response["violations"]
            found[str(path)] = [one["id"] for one in violations] + ["too wide"] * wide
        assert {path: faults for path, faults in found.items() if faults} == {}
