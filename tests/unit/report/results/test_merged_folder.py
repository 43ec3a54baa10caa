"""Merged results are written as one self-contained folder."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.written_results import a_cell, written
from tuneproof.errors import ResultsFolderError
from tuneproof.report.results.merged_folder import write_folder
from tuneproof.report.results.merging import merge
from tuneproof.report.results.run_file import load

SAME = "trials/stall/nginx-1.22/bare/loaded-b1/nginx.pcap.gz"


def test_the_folder_contains_every_cell_and_its_evidence(tmp_path: Path) -> None:
    """The folder can be moved, since its runs contain no paths."""
    parts = [
        written(tmp_path / name, a_cell(name, evidence=(f"evidence/{name}/effects.json",))) for name in ("one", "two")
    ]
    for name in ("one", "two"):
        (tmp_path / name / "trials.jsonl").write_text(f"{name}\n", encoding="utf-8")
    merged, missing = write_folder(merge(parts), tmp_path / "all")
    assert missing == 0
    for name in ("one", "two"):
        shutil.rmtree(tmp_path / name)
    shutil.move(tmp_path / "all", tmp_path / "moved")
    moved = load(tmp_path / "moved")
    assert moved.cells == merged.cells == (*parts[0].cells, *parts[1].cells)
    assert [run.path for run in moved.runs] == ["", ""]
    assert (tmp_path / "moved/evidence/two/effects.json").read_text(encoding="utf-8") == (
        "two: evidence/two/effects.json"
    )
    assert (tmp_path / "moved/trials.jsonl").read_text(encoding="utf-8") == "one\ntwo\n"
    again, missing = write_folder(moved, tmp_path / "again")
    assert (again.cells, missing) == (moved.cells, 0)
    assert (tmp_path / "again/evidence/one/effects.json").is_file()


def test_trials_with_the_same_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    """Two runs with different claims of one scenario use the same names for trials; each cell keeps its own files."""
    own = {name: f"evidence/{name}/effects.json" for name in ("one", "two")}
    parts = [written(tmp_path / name, a_cell(name, evidence=(SAME, path))) for name, path in own.items()]
    merged, _ = write_folder(merge(parts), tmp_path / "all")
    assert merged.cells[0].evidence == (SAME, own["one"])
    # Pages look for a cell's own files in its folder.
    assert merged.cells[1].evidence == ("trials/run-2/stall/nginx-1.22/bare/loaded-b1/nginx.pcap.gz", own["two"])
    texts = [(tmp_path / "all" / cell.evidence[0]).read_text(encoding="utf-8") for cell in merged.cells]
    assert texts == [f"one: {SAME}", f"two: {SAME}"]


def test_a_single_run_is_copied_completely(tmp_path: Path) -> None:
    """Evidence may be a folder; the copy does not mention merging."""
    run = written(tmp_path / "run", a_cell(evidence=("evidence/folder/file",)))
    document = json.loads(run.path.read_text(encoding="utf-8"))
    document["cells"][0]["evidence"] = ["evidence/folder"]
    run.path.write_text(json.dumps(document), encoding="utf-8")
    copy, missing = write_folder(load(run.path), tmp_path / "copy")
    assert (copy.runs, missing) == ((), 0)
    assert (tmp_path / "copy/evidence/folder/file").is_file()


def test_a_file_and_a_folder_with_files_are_not_overwritten(tmp_path: Path) -> None:
    run = written(tmp_path / "run", a_cell())
    note = tmp_path / "full" / "note"
    note.parent.mkdir()
    note.touch()
    for place, fault in ((note.parent, "not empty"), (note, "not a folder")):
        with pytest.raises(ResultsFolderError, match=fault):
            write_folder(run, place)
    assert list(note.parent.iterdir()) == [note]


def test_no_file_from_outside_the_results_is_copied(tmp_path: Path) -> None:
    """Links that lead outside are not followed, nor is the path of a run in a stranger's results file."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").touch()
    paths = ("evidence/link", "folder", "key")
    run = written(tmp_path / "run", a_cell(evidence=paths))
    document = json.loads(run.path.read_text(encoding="utf-8"))
    one = {name: document[name] for name in ("started", "host", "options")}
    cells = [cell["id"] for cell in document["cells"]]
    document["runs"] = [{**one, "cells": cells, "finished": True, "path": str(tmp_path / "secret/results.json")}]
    run.path.write_text(json.dumps(document), encoding="utf-8")
    for path, target in (("evidence/link", "secret/key"), ("folder", "secret"), ("trials.jsonl", "secret/key")):
        (tmp_path / "run" / path).unlink(missing_ok=True)
        (tmp_path / "run" / path).symlink_to(tmp_path / target)
    (tmp_path / "run/key").unlink()
    _, missing = write_folder(load(run.path), tmp_path / "copy")
    assert missing == len(paths)
    assert [path.name for path in (tmp_path / "copy").rglob("*") if path.is_file()] == ["results.json"]
