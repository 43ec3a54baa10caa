"""The pages are complete without scripts: every link resolves, and foreign text is escaped."""

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.support.canned_results import cell, with_evidence, write_small_run
from tests.support.report_text import Page
from tests.support.written_results import a_cell, ratio, written
from tuneproof.errors import ResultsFolderError
from tuneproof.report.html import write_report, writing
from tuneproof.report.results.run_file import FILE_NAME, Results


@pytest.fixture(name="small")
def small_fixture(tmp_path: Path) -> Results:
    results = write_small_run(tmp_path / "run")
    assert write_report(results, results.path.parent) == results.path.parent / "index.html"
    return results


def pages(results: Results) -> list[Page]:
    folder = results.path.parent
    return [Page(folder / "index.html"), *map(Page, sorted((folder / "cells").iterdir()))]


def test_every_link_and_download_resolves(small: Results) -> None:
    """Links lead to files in the run's own folder or to anchors in its pages, and never to the network."""
    ids = {page.path.resolve(): page.ids for page in pages(small)}
    followed = 0
    for page in pages(small):
        for link in page.links:
            if link == "data:,":  # the empty icon
                continue
            path, _hash, fragment = link.partition("#")
            assert not re.match(r"[a-z]+:|/", path), link
            target = (page.path.parent / unquote(path)).resolve() if path else page.path.resolve()
            assert target.is_file(), f"{page.path.name}: {link}"
            assert target.is_relative_to(small.path.parent.resolve())
            assert not fragment or unquote(fragment) in [*ids[target], "main"], link
            followed += 1
        # A repeated anchor leads to the wrong place.
        assert len(page.ids) == len(set(page.ids))
    assert followed > 60


def test_foreign_text_stays_text(small: Results) -> None:
    """Markup, templates, escape sequences and unpaired surrogates in results.json are shown as text."""
    for page in pages(small):
        source = page.path.read_text(encoding="utf-8")
        assert "<script>alert" not in source
        assert "\x1b" not in source
        assert "49" not in re.findall(r"single' (\S+)", page.text)
        assert page.tags.isdisjoint({"iframe", "object", "b"})
        if page.path.stem.startswith("hostile"):
            assert "<script>alert(1)</script>" in page.text
            assert "{{ 7 * 7 }}" in page.text


def test_a_page_shows_the_level_that_the_plan_guarantees_for_the_interval(tmp_path: Path) -> None:
    known, older = a_cell("known", effect=replace(ratio(), plan_level=0.91796875)), a_cell("older")
    results = written(tmp_path, known, older)
    write_report(results, tmp_path)
    shown = {"known" in page.path.stem: "with a chance of at least 91.8 %" in page.text for page in pages(results)[1:]}
    assert shown == {True: True, False: False}


def test_the_page_of_an_interrupted_run_is_marked_as_incomplete(tmp_path: Path) -> None:
    results = written(tmp_path, cell("a"), finished=None, seconds=None)
    write_report(results, tmp_path)
    assert "Interrupted, or still running: 1 result so far." in Page(tmp_path / "index.html").text


def test_a_run_without_results_has_a_page_without_a_table(tmp_path: Path) -> None:
    write_report(written(tmp_path, host={}), tmp_path)
    page = Page(tmp_path / "index.html")
    assert "This run has no results." in page.text
    assert "table" not in page.tags


def test_pages_of_cells_that_no_longer_exist_are_removed(tmp_path: Path) -> None:
    write_report(written(tmp_path, cell("a"), cell("b")), tmp_path)
    write_report(written(tmp_path, cell("b")), tmp_path)
    (page,) = (tmp_path / "cells").iterdir()
    assert "-b-" in page.name


def test_a_report_elsewhere_includes_results_and_evidence(tmp_path: Path) -> None:
    """The folder can be sent to others; a folder that is not empty is left alone."""
    one = with_evidence(tmp_path / "run", cell("a"), {"a.nginx.conf": "events {}\n"})
    results = written(tmp_path / "run", one)
    write_report(results, tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / one["evidence"][0]).read_text(encoding="utf-8") == "events {}\n"
    assert (tmp_path / "elsewhere" / FILE_NAME).is_file()
    with pytest.raises(ResultsFolderError, match="not empty"):
        write_report(results, tmp_path / "elsewhere")


def test_a_page_is_written_if_a_chart_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def charts(*_arguments: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(writing, "charts", charts)
    write_report(written(tmp_path, cell("a")), tmp_path)
    (path,) = (tmp_path / "cells").iterdir()
    assert "could not be drawn: ZeroDivisionError: a fault" in Page(path).text


def test_a_folder_that_cannot_be_written_leads_to_one_clear_error(tmp_path: Path) -> None:
    results = written(tmp_path, cell("a"))
    (tmp_path / "assets").write_text("", encoding="utf-8")
    with pytest.raises(ResultsFolderError, match="not a folder"):
        write_report(results, tmp_path)
