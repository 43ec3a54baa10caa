"""The pages are whole without a browser's help: every link resolves, every text is escaped, every figure is there."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.support.canned_results import cell, document, with_evidence, write, write_small_run
from tuneproof.errors import ResultsFolderError
from tuneproof.report.html import write_report, writing
from tuneproof.report.results.run_file import FILE_NAME, Results
from tuneproof.report.words import format_effect
from tuneproof.wording import format_number

_VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """A page read strictly: its links, ids, figures and text; every element is closed in its order."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.ids: list[str] = []
        self.values: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what a test asks for."""
        if tag not in _VOID:
            self._open.append(tag)
        self.tags.add(tag)
        for name, value in attrs:
            if name in {"href", "src"}:
                self.links.append(value or "")
            elif name == "id":
                self.ids.append(value or "")
            elif tag == "data" and name == "value":
                self.values.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        """Check that what ends is what began last."""
        assert self._open.pop() == tag, f"{self.path.name}: </{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.text += data


@pytest.fixture(name="small")
def small_fixture(tmp_path: Path) -> Results:
    """Return a small run with its pages."""
    results = write_small_run(tmp_path / "run")
    assert write_report(results, results.path.parent) == results.path.parent / "index.html"
    return results


def pages(results: Results) -> list[Page]:
    """Return all pages, the first one first."""
    folder = results.path.parent
    return [Page(folder / "index.html"), *map(Page, sorted((folder / "cells").iterdir()))]


def test_every_link_and_download_resolves(small: Results) -> None:
    """To a file in the run's own folder, and where it names a place in a page, to that place; none to a network."""
    ids = {page.path.resolve(): page.ids for page in pages(small)}
    followed = 0
    for page in pages(small):
        for link in page.links:
            if link == "data:,":  # the icon that is none
                continue
            path, _hash, fragment = link.partition("#")
            assert not re.match(r"[a-z]+:|/", path), link
            target = (page.path.parent / unquote(path)).resolve() if path else page.path.resolve()
            assert target.is_file(), f"{page.path.name}: {link}"
            assert target.is_relative_to(small.path.parent.resolve())
            assert not fragment or unquote(fragment) in [*ids[target], "main"], link
            followed += 1
    assert followed > 60


def test_no_place_in_a_page_has_two_things(small: Results) -> None:
    """An anchor that is there twice leads to the wrong one."""
    for page in pages(small):
        assert len(page.ids) == len(set(page.ids))


def test_the_index_shows_each_verdict_with_its_effect_and_reason(small: Results) -> None:
    """As words, without a script: verdict, effect, mark and reason of every cell."""
    text = " ".join(pages(small)[0].text.split())
    for one in small.cells[:-1]:
        assert one.claim in text
        if one.effect is not None:
            interval = (one.effect.ci_low, one.effect.ci_high)
            assert f"{one.verdict} {format_effect(one.effect.value, one.effect.unit, interval)}" in text
        if one.verdict in {"inconclusive", "unsupported"}:
            assert one.reason in text
    assert "contradicts: expected holds" in text
    assert "expired since nginx 1.11.3" in text
    assert "1 verdict contradicts what was expected." in text


def test_a_cells_page_has_the_figures_of_results_json(small: Results) -> None:
    """Exactly, in machine-readable form, and rounded as in the terminal's table."""
    texts = {page.path.stem: page for page in pages(small)}
    (page,) = (page for stem, page in texts.items() if "restores_loop-nginx-1.22" in stem)
    one = small.cells[0]
    assert one.effect is not None
    wanted = [one.effect.value, one.effect.ci_low, one.effect.ci_high, one.threshold, one.blocks, one.void_blocks]
    wanted += [one.seconds, one.measuring_seconds]
    measured = [name for name, value in one.arms["default"].items() if value is not None]
    wanted += [values[name] for name in measured for values in one.arms.values()]
    assert page.values == [str(value) for value in wanted]
    assert all(format_number(value) in page.text for values in one.arms.values() for value in values.values() if value)
    assert "Not measured in any arm: kept." in page.text


def test_what_a_stranger_wrote_is_text_and_nothing_else(small: Results) -> None:
    """Markup, templates, escape sequences and half characters of results.json are shown as what they are."""
    for page in pages(small):
        source = page.path.read_text(encoding="utf-8")
        assert "<script>alert" not in source
        assert "\x1b" not in source
        assert "49" not in re.findall(r"single' (\S+)", page.text)
        assert page.tags.isdisjoint({"iframe", "object", "b"})
        if page.path.stem.startswith("hostile"):
            assert "<script>alert(1)</script>" in page.text
            assert "{{ 7 * 7 }}" in page.text


def test_a_page_of_an_unsupported_cell_says_why_and_that_its_files_are_gone(small: Results) -> None:
    """No figure is made up, and a lost file is no dead link."""
    (page,) = (page for page in pages(small) if "steering" in page.path.stem)
    assert "No effect was measured." in page.text
    assert "rps_cpus cannot be written here" in page.text
    assert "is not there any more" in page.text
    assert "None" not in page.text


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    """What was decided so far is shown, and that it is not all."""
    results = write(tmp_path, document([cell("a")], finished=None, seconds=None))
    write_report(results, tmp_path)
    assert "Interrupted, or still running: 1 cells were decided so far." in Page(tmp_path / "index.html").text


def test_a_run_without_a_cell_says_so(tmp_path: Path) -> None:
    """The page is there, and its matrix is a sentence."""
    write_report(write(tmp_path, document([], host={})), tmp_path)
    page = Page(tmp_path / "index.html")
    assert "No claim was decided in this run" in page.text
    assert "table" not in page.tags


def test_pages_of_cells_that_are_gone_are_gone(tmp_path: Path) -> None:
    """A report that is written again has one page per cell of today."""
    write_report(write(tmp_path, document([cell("a"), cell("b")])), tmp_path)
    write_report(write(tmp_path, document([cell("b")])), tmp_path)
    (page,) = (tmp_path / "cells").iterdir()
    assert "-b-" in page.name


def test_a_report_elsewhere_takes_results_and_evidence_along(tmp_path: Path) -> None:
    """The folder can be sent to somebody."""
    one = with_evidence(tmp_path / "run", cell("a"), {"a.nginx.conf": "events {}\n"})
    results = write(tmp_path / "run", document([one]))
    write_report(results, tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / one["evidence"][0]).read_text(encoding="utf-8") == "events {}\n"
    assert (tmp_path / "elsewhere" / FILE_NAME).is_file()
    with pytest.raises(ResultsFolderError, match="not empty"):
        write_report(results, tmp_path / "elsewhere")


def test_a_chart_that_cannot_be_drawn_costs_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place says why; the figures are there."""

    def charts(*_arguments: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(writing, "charts", charts)
    write_report(write(tmp_path, document([cell("a")])), tmp_path)
    (path,) = (tmp_path / "cells").iterdir()
    assert "could not be drawn: ZeroDivisionError: a fault" in Page(path).text


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    """Here, a file stands where the pages' folder should be."""
    results = write(tmp_path, document([cell("a")]))
    (tmp_path / "assets").write_text("", encoding="utf-8")
    with pytest.raises(ResultsFolderError, match="not a folder"):
        write_report(results, tmp_path)
