"""``./lab report``: one table of all results, as text, JSON, Markdown and pages; nothing incomplete looks complete."""

import json
from pathlib import Path

import pytest

from tests.support.written_results import OPTIONS, a_cell, unsupported, write
from tuneproof.cli import report
from tuneproof.cli.main import main
from tuneproof.errors import ResultsFolderError
from tuneproof.report.html import writing
from tuneproof.report.results.documents import Results
from tuneproof.report.results.run_file import load
from tuneproof.report.results.schema import document_violation


@pytest.fixture(autouse=True)
def pages(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Note where pages are written, instead of writing them: they have tests of their own."""
    written: list[Path] = []

    def write_report(_results: Results, folder: Path) -> Path:
        written.append(folder)
        return folder / writing.INDEX

    monkeypatch.setattr("tuneproof.report.html.write_report", write_report)
    return written


def test_the_latest_results_are_shown_unless_others_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pages: list[Path]
) -> None:
    """As a table without colours where nobody watches, and as pages in the run's own folder."""
    monkeypatch.setattr(report, "LATEST", write(tmp_path / "latest", a_cell()))
    assert main(["report"]) == 0
    out, err = capsys.readouterr()
    assert "  stalls " in out
    assert "measuring: 9.0 s of 60.0 s (15%)" in out
    assert "\x1b" not in out
    assert err == f"lab: report: {tmp_path}/latest/index.html\n"
    assert pages == [tmp_path / "latest"]


def test_several_results_are_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str], pages: list[Path]) -> None:
    """Pages need a folder where all evidence lies, so they are offered and not written."""
    folders = [str(write(tmp_path / name, a_cell(name))) for name in ("one", "two")]
    assert main(["report", *folders]) == 0
    out, err = capsys.readouterr()
    assert out.count("stall, nginx 1.22") == 1
    assert "  one " in out
    assert "  two " in out
    assert "--output FOLDER" in err
    assert pages == []


def test_output_is_a_folder_with_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pages: list[Path]
) -> None:
    """Results, evidence and pages; missing evidence is told."""
    folders = [write(tmp_path / name, a_cell(name, evidence=(f"evidence/{name}/x",))) for name in ("one", "two")]
    (folders[0] / "evidence/one/x").unlink()
    assert main(["report", *map(str, folders), "--output", str(tmp_path / "all")]) == 0
    assert [cell.id for cell in load(tmp_path / "all").cells] == [
        "stall/one/nginx-1.22/bare",
        "stall/two/nginx-1.22/bare",
    ]
    assert (tmp_path / "all/evidence/two/x").is_file()
    assert pages == [tmp_path / "all"]
    assert f"lab: 1 files of evidence are missing beside the results, and in {tmp_path}/all" in capsys.readouterr().err


def test_json_is_one_document_that_keeps_to_the_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pages: list[Path]
) -> None:
    """Nothing else is printed, so that it can be piped; each run names the file that its evidence lies beside."""
    folders = [str(write(tmp_path / name, a_cell(name))) for name in ("one", "two")]
    assert main(["report", "--json", *folders]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document_violation(document) is None
    assert [run["path"] for run in document["runs"]] == [f"{folder}/results.json" for folder in folders]
    assert len(document["cells"]) == 2
    assert pages == []


def test_json_of_one_run_is_its_own_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was written is what is printed."""
    folder = write(tmp_path, a_cell("one"), unsupported("two"))
    assert main(["report", "--json", str(folder)]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((folder / "results.json").read_text(encoding="utf-8"))


def test_markdown_is_the_step_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str], pages: list[Path]) -> None:
    """As a run would append it."""
    assert main(["report", "--markdown", str(write(tmp_path, a_cell()))]) == 0
    assert capsys.readouterr().out.startswith("## nginx tuning claims: what this run found\n")
    assert pages == []


FORMS = [[], ["--json"], ["--markdown"]]


@pytest.mark.parametrize("form", FORMS, ids=["table", "json", "markdown"])
def test_an_interrupted_run_is_shown_and_called_so(
    tmp_path: Path, form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The cells that it decided are as good as any."""
    folder = write(tmp_path, a_cell(), finished=None, seconds=None)
    assert main(["report", str(folder), *form]) == 0
    out, err = capsys.readouterr()
    assert "stalls" in out
    assert "lab: Interrupted, or still running: 1 cells were decided so far." in err


@pytest.mark.parametrize("form", FORMS, ids=["table", "json", "markdown"])
def test_an_empty_run_is_shown(tmp_path: Path, form: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """That nothing was decided is a result as well."""
    assert main(["report", str(write(tmp_path, host={})), *form]) == 0
    out = capsys.readouterr().out
    assert '"cells": []' in out if form == ["--json"] else "No cell was decided." in out


@pytest.mark.parametrize("form", FORMS, ids=["table", "json", "markdown"])
def test_a_run_with_only_unsupported_cells_is_shown_with_the_reasons(
    tmp_path: Path, form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no effect to show."""
    assert main(["report", str(write(tmp_path, unsupported())), *form]) == 0
    out = capsys.readouterr().out
    assert "unsupported" in out
    assert "one CPU" in out


@pytest.mark.parametrize(
    ("version", "remedy"), [(0, "from an older Tuneproof: show them with"), (2, "from a newer Tuneproof: update")]
)
def test_results_of_another_format_say_what_to_do(
    tmp_path: Path, version: int, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which version it is, and which is known."""
    assert main(["report", str(write(tmp_path, schema=version))]) == 2
    err = capsys.readouterr().err
    assert f"Results of format version {version} cannot be read: only version 1 is known." in err
    assert remedy in err


def test_results_from_before_newer_keys_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Within one version, what came later is optional."""
    folder = write(tmp_path, a_cell())
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    del document["cells"][0]["links"]
    (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
    assert main(["report", str(folder)]) == 0
    assert "  stalls " in capsys.readouterr().out


def test_overlapping_results_are_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No table is shown."""
    folders = [str(write(tmp_path / name, a_cell())) for name in ("one", "two")]
    assert main(["report", *folders]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "is in two of the results" in err


def test_a_missing_shard_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table has no row for what is not there."""
    options = OPTIONS | {"shard": "1/2", "shard_split": "x"}
    assert main(["report", str(write(tmp_path, a_cell(), options=options))]) == 0
    assert "lab: Not all shards are here; missing: 2/2." in capsys.readouterr().err


def test_results_that_do_not_exist_are_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The path is named."""
    assert main(["report", str(tmp_path / "none")]) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err


def test_pages_that_cannot_be_written_cost_only_the_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results on a read-only medium are shown all the same; a folder that was asked for must come."""

    def write_report(_results: Results, _folder: Path) -> Path:
        raise ResultsFolderError("read-only")

    monkeypatch.setattr("tuneproof.report.html.write_report", write_report)
    folder = str(write(tmp_path / "run", a_cell()))
    assert main(["report", folder]) == 0
    out, err = capsys.readouterr()
    assert "  stalls " in out
    assert err == "lab: no pages were written: read-only\n"
    assert main(["report", folder, "--output", str(tmp_path / "all")]) == 2
