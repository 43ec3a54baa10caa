"""Durations, figures, configurations and evidence on the pages."""

import gzip
import json
from base64 import b64decode
from pathlib import Path

import pytest

from tests.support.canned_results import cell
from tuneproof.report.html import filters
from tuneproof.report.html.configs import configs, preconditions
from tuneproof.report.html.evidence import folders, texts
from tuneproof.report.results.cells import Cell


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (443.6, "7 min 24 s"),
        (7260.0, "2 h 1 min"),
    ],
)
def test_a_duration_has_at_most_two_units(seconds: float, text: str) -> None:
    assert filters.duration(seconds) == text


def test_packed_figures_keep_six_digits_of_every_value() -> None:
    figures = [{"data": [{"x": [0.123456789, 1e-12], "y": (1, None), "name": "é <b>"}]}]
    unpacked = json.loads(gzip.decompress(b64decode(filters.packed(figures))))
    assert unpacked == [{"data": [{"x": [0.123457, 1e-12], "y": [1, None], "name": "é <b>"}]}]


def test_configurations_are_shown_as_differences() -> None:
    """The first configuration by name is the base; an equal one has an empty difference."""
    found = configs(
        {"b.nginx.conf": "one\ntwo\n", "a.nginx.conf": "one\n2\n", "c.nginx.conf": "one\n2\n", "a.access.log": "no"}
    )
    assert (found.base, found.text, found.differ) == ("a", "one\n2\n", True)
    changed, same = found.diffs
    assert changed.subject == "b"
    assert changed.lines == (("hunk", "@@ -1,2 +1,2 @@"), ("same", " one"), ("del", "-2"), ("add", "+two"))
    assert (same.subject, same.lines) == ("c", ())


def test_preconditions_are_split_into_equal_and_different_ones() -> None:
    """A setting that one arm lacks counts as different; a file without a JSON object is left out."""
    found = preconditions(
        {
            "a.preconditions.json": '{"workers": 2, "sysctls": {"rmem": "1"}, "backlogs": [511, 511]}',
            "b.preconditions.json": '{"workers": 2, "sysctls": {"rmem": "2"}}',
            "c.preconditions.json": "not JSON",
            "d.preconditions.json": "[]",
        }
    )
    assert found.subjects == ("a", "b")
    assert {row.name: row.values for row in found.alike} == {"workers": ("2", "2")}
    assert {row.name: row.values for row in found.differing} == {
        "sysctls.rmem": ("1", "2"),
        "backlogs": ("511, 511", "not read"),
    }


def test_existing_evidence_is_linked(tmp_path: Path) -> None:
    """Odd names are escaped in the link; missing files, folders, and links that lead outside are not linked."""
    inside = tmp_path / "run"
    (inside / "evidence/c/folder").mkdir(parents=True)
    (inside / "evidence/c/100% #1?.log").write_text("12345", encoding="utf-8")
    (tmp_path / "secret.json").write_text("{}", encoding="utf-8")
    (inside / "evidence/c/leak.json").symlink_to(tmp_path / "secret.json")
    names = ["100% #1?.log", "gone.json", "folder", "leak.json", "nul\0.json", "x" * 300]
    one = Cell.from_json(cell("a", evidence=[f"evidence/c/{name}" for name in names]))
    (folder,) = folders(inside, one)
    assert [file.name for file in folder.files] == names
    assert [file.href for file in folder.files] == ["../evidence/c/100%25%20%231%3F.log", "", "", "", "", ""]
    assert folder.files[0].size_bytes == 5
    assert texts(inside, one) == {}


def test_only_configurations_and_json_in_a_cells_own_folder_are_read(tmp_path: Path) -> None:
    """Logs, and all files of trials, are only linked; invalid UTF-8 does no harm."""
    for path, content in (
        ("evidence/c/samples.jsonl", b"{}\n"),
        ("evidence/c/a.nginx.conf", b"\xff"),
        ("evidence/c/a.access.log", b"a line"),
        ("trials/c/host.json", b"{}"),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    paths = ["evidence/c/samples.jsonl", "evidence/c/a.nginx.conf", "evidence/c/a.access.log", "trials/c/host.json"]
    assert texts(tmp_path, Cell.from_json(cell("a", evidence=paths))) == {
        "samples.jsonl": "{}\n",
        "a.nginx.conf": "\N{REPLACEMENT CHARACTER}",
    }
