"""The step summary is escaped, and never longer than GitHub accepts."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.written_results import HOST, LINK, a_cell, written
from tuneproof.errors import ResultsFolderError
from tuneproof.report.results.machine import machine_line
from tuneproof.report.terminal.markdown import append_summary, escape, render_markdown, where_hint

MACHINE = (
    "A processor x 2, 8 GiB, kernel 6.1.0-18, engine 27.1, cgroup v2, AppArmor, cubic, tcp_rmem 4096 131072 6291456"
)


def test_a_result_without_an_expectation_contradicts_nothing(tmp_path: Path) -> None:
    undecided = a_cell("b", verdict="inconclusive", reason="too few blocks")
    text = render_markdown(written(tmp_path, a_cell("a", verdict="refuted", expected=None), undecided))
    assert "Not as expected" not in text
    assert "; no verdict contradicts what was expected." in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", r"a\|b"),
        ("<b>&amp;", r"&lt;b\>&amp;amp;"),
        ("two\nlines", "two lines"),
        ("`x` *y* _z_ [l](u)", r"\`x\` \*y\* \_z\_ \[l\](u)"),
        ("\x1b[31m", r"\\x1b\[31m"),
    ],
    ids=["pipe", "html", "lines", "markup", "control"],
)
def test_foreign_text_is_escaped_and_stays_on_one_line(text: str, shown: str) -> None:
    """A claim from other people's files must not become markup, or end its row."""
    assert escape(text) == shown


def test_a_summary_never_exceeds_its_limit(tmp_path: Path) -> None:
    """Tables that do not fit are counted; the others are complete."""
    cells = [a_cell(f"c{number}", scenario=f"s{number:03}", reason="×" * 500) for number in range(50)]  # noqa: RUF001 - two bytes
    run = written(tmp_path, *cells)
    whole = render_markdown(run)
    assert whole.count("### ") == 50
    cut = render_markdown(run, max_bytes=20_000)
    assert len(cut.encode()) <= 20_000
    shown = cut.count("### ")
    assert 0 < shown < 50
    assert cut.endswith(f"{50 - shown} more tables do not fit here: see the full report.\n")
    assert cut.count("</details>") == shown


def test_the_line_about_a_machine_leaves_out_unknown_facts() -> None:
    assert machine_line(HOST) == MACHINE
    assert machine_line({"kernel": "6.1", "memory_bytes": "much", "sysctls": 3}) == "kernel 6.1"
    assert machine_line({}) == "machine not recorded"


@pytest.mark.parametrize(("shaper", "named"), [("native", "netem"), ("wire", "user-mode shaper")])
def test_the_shaper_is_named_along_with_the_machine(shaper: str, named: str) -> None:
    shaped = a_cell(links=({**LINK, "shaper": shaper},) * 2)
    assert machine_line({"kernel": "6.1"}, [a_cell(), shaped]) == f"kernel 6.1, {named}"
    assert machine_line({"kernel": "6.1"}, [a_cell()]) == "kernel 6.1"


GITHUB: dict[str, Any] = {"GITHUB_SERVER_URL": "https://host", "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "5"}


def test_the_summary_is_appended_to_the_file_of_the_job(tmp_path: Path) -> None:
    """The file must have room for the summary: with one byte too many, GitHub would show nothing at all."""
    run = written(tmp_path / "run", a_cell())
    file = tmp_path / "summary.md"
    file.write_text("before\n", encoding="utf-8")
    assert append_summary(run.path, {"GITHUB_STEP_SUMMARY": str(file), **GITHUB})
    text = file.read_text(encoding="utf-8")
    assert text.startswith("before\n## ")
    assert "](https://host/o/r/actions/runs/5#artifacts)" in text
    file.write_bytes(b"x" * 1_040_000)
    for none in ({}, {"GITHUB_STEP_SUMMARY": ""}, {"GITHUB_STEP_SUMMARY": str(file)}):
        assert not append_summary(run.path, none)
    assert file.stat().st_size == 1_040_000
    assert where_hint(run, {}) == f"`{tmp_path / 'run'}`"
    with pytest.raises(ResultsFolderError):
        append_summary(run.path, {"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "file")})
