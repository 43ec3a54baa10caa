"""The page that audits in the browser reports the same findings as the command, and sends nothing."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.support.chromium import chromium
from tests.support.places import CHECKOUT
from tests.support.served import served
from tools.site.__main__ import PYODIDE, packed, write

pytestmark = pytest.mark.browser

CONF: Final = """\
upstream app { server 10.0.0.5:3000; keepalive 32; }
server { listen 443 ssl; location / { proxy_pass https://app; proxy_set_header X-Secret sesame; } }
"""
_LARGEST_BYTES: Final = 15_000_000
_WIDTH: Final = "100"


@pytest.fixture(name="site", scope="module")
def site_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not PYODIDE.is_dir():
        pytest.skip(f"needs Pyodide: npm ci --prefix {PYODIDE.parents[1].relative_to(CHECKOUT)}")
    folder = tmp_path_factory.mktemp("site")
    assert write(folder) < _LARGEST_BYTES
    with served(folder) as address:
        yield address


@pytest.fixture(name="page", scope="module")
def page_fixture(site: str) -> Iterator[Page]:
    """Load the page once, since this takes most of the time."""
    with chromium() as browser:
        page = browser.new_page()
        page.goto(site)
        page.wait_for_selector("#audit:enabled")
        yield page


def audit_there(page: Page, text: str, version: str = "") -> str:
    page.fill("#configuration", text)
    page.fill("#version", version)
    page.click("#audit")
    return page.inner_text("#result").strip()


@pytest.mark.parametrize("version", ["", "1.22"], ids=["any", "1.22"])
def test_the_page_prints_the_same_as_the_command(page: Page, version: str) -> None:
    command = [sys.executable, "-m", "tuneproof.cli", "audit", "-", *(["--nginx", version] if version else [])]
    environment = {"COLUMNS": _WIDTH, "PYTHONPATH": str(CHECKOUT)}
    here = subprocess.run(command, input=CONF, env=environment, capture_output=True, text=True, check=True)
    assert audit_there(page, CONF, version) == here.stdout.strip()


def test_bad_input_is_reported_on_the_page(page: Page) -> None:
    assert "NGINX DOES NOT START" in audit_there(page, "http {")
    assert audit_there(page, "not nginx").startswith("not an nginx configuration")
    assert audit_there(page, CONF, "newest").startswith("--nginx newest: not a version")


def test_the_page_sends_nothing_during_an_audit(page: Page, site: str) -> None:
    """After loading, an audit makes no requests, and the page's policy prevents scripts from contacting other hosts."""
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    audit_there(page, CONF)
    assert requested == []
    elsewhere = site.replace("127.0.0.1", "localhost")
    sent = page.evaluate("url => fetch(url, {mode: 'no-cors'}).then(() => true, () => false)", elsewhere)
    assert not sent


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    audit_there(page, CONF)
    assert Axe().run(page).response["violations"] == []


def test_the_archive_contains_the_audit_but_neither_the_lab_nor_reports() -> None:
    names = {name for _, name in packed()}
    assert {"tuneproof/audit/render.py", "tuneproof/conf/directives.tsv"} <= names
    assert not [name for name in names if Path(name).parts[1] in {"lab", "proof", "report", "catalogue"}]
