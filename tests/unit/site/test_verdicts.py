"""The page of verdicts by machine shows contributed results next to the project's own, only as text."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tools.site import verdicts
from tools.site.verdicts import main, page_of

_WHOLE: Final = json.loads(verdicts.OWN.read_text(encoding="utf-8"))
# A few results are enough, and load faster.
OWN: Final = {**{name: value for name, value in _WHOLE.items() if name != "runs"}, "cells": _WHOLE["cells"][:4]}
HOSTILE: Final = "EPYC `<script>alert(1)</script>` [a](javascript:alert(1)) \x1b[31m"


def document(**changes: Any) -> dict[str, Any]:
    """Return another machine's results for the project's first three cells; the first one has another verdict."""
    cells = json.loads(json.dumps(OWN["cells"][:3]))
    cells[0]["verdict"] = "refuted" if cells[0]["verdict"] == "holds" else "holds"
    return {**OWN, "cells": cells, **changes}


@pytest.fixture(autouse=True)
def few_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own" / "results.json"
    own.parent.mkdir()
    own.write_text(json.dumps(OWN), encoding="utf-8")
    monkeypatch.setattr(verdicts, "OWN", own)


def page_with(tmp_path: Path, **files: str) -> tuple[str, list[str]]:
    for name, text in files.items():
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    return page_of(tmp_path)


def test_results_from_other_machines_get_a_column_and_differences_are_marked(tmp_path: Path) -> None:
    text, refused = page_with(tmp_path, zen=json.dumps(document()))
    first = document()["cells"][0]
    line = next(line for line in text.splitlines() if f"`{first['id'].partition('/')[2]}`" in line)
    assert (refused, line.endswith(f"| **{first['verdict']}** |")) == ([], True)
    assert text.count("**") == 2


def test_a_machines_name_is_shown_as_code(tmp_path: Path) -> None:
    text, _ = page_with(tmp_path, zen=json.dumps(document(host={**OWN["host"], "cpu_model": HOSTILE})))
    named = next(line for line in text.splitlines() if line.startswith("- M2: "))
    assert named.startswith("- M2: `EPYC ")
    assert (named.count("`"), "\x1b" in text) == (2, False)


@pytest.mark.parametrize(
    "text",
    ["[[[", '{"schema": 1}', "[" * 100_000, json.dumps(document(cells="none")), '{"cells": NaN}'],
    ids=["not-json", "incomplete", "deep", "wrong-type", "nan"],
)
def test_an_invalid_result_is_rejected_with_the_reason(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, refused = page_with(tmp_path, bad=text, good=json.dumps(document()))
    assert [reason.partition(":")[0] for reason in refused] == ["bad.json"]
    assert main([str(tmp_path)]) == 1
    assert refused[0] in capsys.readouterr().err
    assert ("- `bad.json: " in page, "- M2: " in page) == (True, True)


def test_links_and_files_that_are_too_large_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "LARGEST_BYTES", 1_000)
    (tmp_path / "link.json").symlink_to("/etc/hostname")
    (tmp_path / "large.json").write_text(json.dumps(document()), encoding="utf-8")
    page, refused = page_of(tmp_path)
    assert (len(refused), page.count("not a plain file")) == (2, 2)
