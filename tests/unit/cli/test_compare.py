"""``./lab compare``: its exit status is a verdict about verdicts."""

import json
from pathlib import Path

import pytest

from tests.support.written_results import a_cell, write
from tuneproof.cli.main import main


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    """Return two runs that differ in one verdict."""
    old = write(tmp_path / "old", a_cell("same"), a_cell("other"))
    new = write(tmp_path / "new", a_cell("same"), a_cell("other", verdict="refuted"))
    return str(old), str(new)


@pytest.mark.parametrize("form", [[], ["--json"], ["--markdown"]], ids=["text", "json", "markdown"])
def test_the_status_is_1_exactly_when_a_verdict_changed(
    runs: tuple[str, str], form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """In every form; a run against itself shows no change."""
    old, new = runs
    assert main(["compare", old, new, *form]) == 1
    assert "other" in capsys.readouterr().out
    assert main(["compare", old, old, *form]) == 0
    assert main(["compare", new, f"{new}/results.json", *form]) == 0


def test_the_json_lists_exactly_the_changed_cells(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing else is printed."""
    main(["compare", *runs, "--json"])
    assert [pair["id"] for pair in json.loads(capsys.readouterr().out)["changed"]] == ["stall/other/nginx-1.22/bare"]


def test_a_cell_that_only_one_run_has_is_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But it is listed."""
    old = write(tmp_path / "old", a_cell("same"))
    new = write(tmp_path / "new", a_cell("same"), a_cell("more"))
    assert main(["compare", str(old), str(new)]) == 0
    assert "only in the new: stall/more/nginx-1.22/bare" in capsys.readouterr().out


@pytest.mark.parametrize("other", ["none", "strange", "empty"])
def test_what_cannot_be_compared_is_bad_input(
    tmp_path: Path, runs: tuple[str, str], other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing file, another file, and results without a common cell: never status 0 or 1."""
    (tmp_path / "strange").write_text("{}", encoding="utf-8")
    write(tmp_path / "empty")
    assert main(["compare", runs[0], str(tmp_path / other)]) == 2
    assert capsys.readouterr().out == ""
