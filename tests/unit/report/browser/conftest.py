"""Fixtures: the system's Chromium, and a report to open in it."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from tests.support.canned_results import write_small_run
from tests.support.chromium import chromium
from tuneproof.report.html import write_report
from tuneproof.report.results.run_file import Results


@pytest.fixture(name="browser", scope="package")
def browser_fixture() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(name="small", scope="package")
def small_fixture(tmp_path_factory: pytest.TempPathFactory) -> Results:
    results = write_small_run(tmp_path_factory.mktemp("small") / "run")
    write_report(results, results.path.parent)
    return results


@pytest.fixture(name="page")
def page_fixture(browser: Browser) -> Iterator[Page]:
    """Open an empty page; after the test, check that there were no console messages, errors or network requests."""
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
