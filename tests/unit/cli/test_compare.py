"""``./lab compare``: its exit status shows whether verdicts changed."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import Lab
from tests.support.written_results import a_cell, write


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    old = write(tmp_path / "old", a_cell("same"), a_cell("other"))
    return old, write(tmp_path / "new", a_cell("same"), a_cell("other", verdict="refuted"))


@pytest.mark.parametrize("form", [[], ["--json"], ["--markdown"]], ids=["text", "json", "markdown"])
def test_the_status_is_1_exactly_when_a_verdict_changed(lab: Lab, runs: tuple[Path, Path], form: list[str]) -> None:
    old, new = runs
    status, out, _ = lab("compare", old, new, *form)
    assert (status, "other" in out) == (1, True)
    if form == ["--json"]:
        assert [pair["id"] for pair in json.loads(out)["changed"]] == ["stall/other/nginx-1.22/bare"]
    assert lab("compare", old, old, *form).status == 0
    assert lab("compare", new, new / "results.json", *form).status == 0


@pytest.mark.parametrize("other", ["none", "strange", "empty"])
def test_results_that_cannot_be_compared_are_bad_input(
    lab: Lab, tmp_path: Path, runs: tuple[Path, Path], other: str
) -> None:
    (tmp_path / "strange").write_text("{}", encoding="utf-8")
    write(tmp_path / "empty")
    assert lab("compare", runs[0], tmp_path / other)[:2] == (2, "")
