"""``./lab report`` shows all results as text, JSON, Markdown and pages, and marks incomplete ones."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import Lab
from tests.support.written_results import OPTIONS, a_cell, unsupported, write
from tuneproof.cli import report
from tuneproof.errors import ResultsFolderError
from tuneproof.report.html import writing
from tuneproof.report.results.documents import Results
from tuneproof.report.results.run_file import load
from tuneproof.report.results.schema import document_violation


@pytest.fixture(autouse=True)
def pages(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Record where pages would be written; other tests cover them."""
    written: list[Path] = []

    def write_report(_results: Results, folder: Path) -> Path:
        written.append(folder)
        return folder / writing.INDEX

    monkeypatch.setattr("tuneproof.report.html.write_report", write_report)
    return written


@pytest.fixture
def both(tmp_path: Path) -> list[Path]:
    """Write two runs with one cell and a piece of evidence each."""
    return [write(tmp_path / name, a_cell(name, evidence=(f"evidence/{name}/x",))) for name in ("one", "two")]


def test_the_latest_results_are_shown_unless_others_are_named(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: list[Path]
) -> None:
    """The table has no colours if the output is not a terminal; pages are in the run's own folder."""
    monkeypatch.setattr(report, "LATEST", write(tmp_path / "latest", a_cell()))
    status, out, err = lab("report")
    assert status == 0
    assert "  stalls " in out
    assert "measuring: 9.0 s of 60.0 s (15%)" in out
    assert "\x1b" not in out
    assert err == f"lab: report: {tmp_path}/latest/index.html\n"
    assert pages == [tmp_path / "latest"]


def test_several_results_are_one_table(lab: Lab, both: list[Path], pages: list[Path]) -> None:
    """Pages need a folder with all evidence, so they are suggested and not written."""
    status, out, err = lab("report", *both)
    assert (status, out.count("stall, nginx 1.22"), pages) == (0, 1, [])
    assert "  one " in out
    assert "  two " in out
    assert "--output FOLDER" in err


def test_the_output_folder_contains_everything(lab: Lab, both: list[Path], tmp_path: Path, pages: list[Path]) -> None:
    (both[0] / "evidence/one/x").unlink()
    status, _, err = lab("report", *both, "--output", tmp_path / "all")
    assert (status, pages) == (0, [tmp_path / "all"])
    evidence = {cell.name: cell.evidence for cell in load(tmp_path / "all").cells}
    assert evidence == {name: (f"evidence/{name}/x",) for name in ("one", "two")}
    assert (tmp_path / "all/evidence/two/x").is_file()
    assert f"lab: 1 evidence file is missing, in {tmp_path}/all as well" in err


def test_json_output_is_one_document_that_matches_the_schema(lab: Lab, both: list[Path], pages: list[Path]) -> None:
    """Nothing else is printed, so the output can be piped; each run has the path of its file."""
    document = json.loads(lab("report", "--json", *both).out)
    assert document_violation(document) is None
    assert [run["path"] for run in document["runs"]] == [f"{folder}/results.json" for folder in both]
    assert (len(document["cells"]), pages) == (2, [])
    assert json.loads(lab("report", "--json", both[0]).out) == json.loads((both[0] / "results.json").read_text("utf-8"))


def test_markdown_output_is_the_step_summary(lab: Lab, tmp_path: Path, pages: list[Path]) -> None:
    """In GitHub Actions, a run appends the same text to its summary."""
    ended = lab("report", "--markdown", write(tmp_path, a_cell()))
    assert (ended.status, pages) == (0, [])
    assert ended.out.startswith("## nginx tuning advice: results of this run\n")


@pytest.mark.parametrize("form", [[], ["--json"], ["--markdown"]], ids=["table", "json", "markdown"])
def test_incomplete_results_are_shown_as_incomplete(lab: Lab, tmp_path: Path, form: list[str]) -> None:
    """The cells of an interrupted run are valid. A cell without a decision or an effect is a result, too."""
    cut = lab("report", write(tmp_path / "cut", a_cell(), finished=None, seconds=None), *form)
    assert (cut.status, "stalls" in cut.out) == (0, True)
    assert "lab: Interrupted, or still running: 1 result so far." in cut.err
    empty = lab("report", write(tmp_path / "empty", host={}), *form)
    assert empty.status == 0
    assert ('"cells": []' if form == ["--json"] else "No results.") in empty.out
    without = lab("report", write(tmp_path / "unsupported", unsupported()), *form)
    assert without.status == 0
    assert ("unsupported" if form == ["--json"] else "not testable") in without.out
    assert "one CPU" in without.out


def test_results_that_cannot_be_shown_in_one_table_are_bad_input(lab: Lab, tmp_path: Path) -> None:
    """A missing shard is not bad input; it has no row in the table, so it is reported."""
    ended = lab("report", *[write(tmp_path / name, a_cell()) for name in ("one", "two")])
    assert (ended.status, ended.out, "occurs twice" in ended.err) == (2, "", True)
    ended = lab("report", tmp_path / "none")
    assert (ended.status, ended.out, str(tmp_path / "none") in ended.err) == (2, "", True)
    assert "relative paths from its checkout" in ended.err
    ended = lab("report", write(tmp_path / "1", a_cell(), options=OPTIONS | {"shard": "1/2", "shard_split": "x"}))
    assert (ended.status, "lab: Not all shards are here; missing: 2/2." in ended.err) == (0, True)


def test_results_are_shown_even_if_pages_cannot_be_written(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results may be on a read-only medium. If a folder was requested, it must be written."""

    def write_report(_results: Results, _folder: Path) -> Path:
        raise ResultsFolderError("read-only")

    monkeypatch.setattr("tuneproof.report.html.write_report", write_report)
    folder = write(tmp_path / "run", a_cell())
    status, out, err = lab("report", folder)
    assert (status, "  stalls " in out, err) == (0, True, "lab: no pages were written: read-only\n")
    assert lab("report", folder, "--output", tmp_path / "all").status == 2
