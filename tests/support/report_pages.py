"""A report's pages in a browser: their addresses, and the focused cell."""

from playwright.sync_api import Page

from tuneproof.report.html.matrix import matrix
from tuneproof.report.results.run_file import Results


def first_page(results: Results, fragment: str = "") -> str:
    return f"{(results.path.parent / 'index.html').as_uri()}{fragment}"


def cell_page(results: Results, name: str) -> str:
    """Return the address of the page of the first cell with ``name`` in its slug."""
    slug = next(entry.slug for entry in matrix(results.cells).entries if name in entry.slug)
    return (results.path.parent / "cells" / f"{slug}.html").as_uri()


def focused(page: Page) -> str:
    """Return the id of the focused cell in the matrix; empty if none is focused."""
    return str(page.evaluate("document.activeElement.closest('.v')?.id ?? ''"))
