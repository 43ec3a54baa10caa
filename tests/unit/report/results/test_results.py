"""The file results.json keeps every decided cell through any failure of the run, its writer or the disk."""

import errno
import json
import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from tests.support.written_results import LINK, a_cell
from tuneproof.errors import BadInputError, DiskFullError
from tuneproof.report.results.files import point_link
from tuneproof.report.results.run_file import ResultsWriter, load

NOW = datetime(2026, 11, 20, 9, 36, 16, tzinfo=UTC)


def a_writer(root: Path) -> ResultsWriter:
    return ResultsWriter.create(root, host={"kernel": "6.1"}, seed=7, options={"depth": "quick"}, now=NOW)


def refuse(code: int) -> Callable[..., NoReturn]:
    def call(*_arguments: object, **_options: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return call


def test_a_new_run_has_a_results_file_at_once(tmp_path: Path) -> None:
    """A run that decides nothing still leaves a valid file, in a folder named after its start time and id."""
    writer = a_writer(tmp_path / "new" / "results")
    time, _, run_id = writer.folder.name.partition("-")
    assert time == "20261120T093616Z"
    assert len(bytes.fromhex(run_id)) == 3
    assert json.loads(writer.path.read_text(encoding="utf-8")) == {
        "schema": 1,
        "started": "2026-11-20T09:36:16Z",
        "host": {"kernel": "6.1"},
        "seed": 7,
        "options": {"depth": "quick"},
        "cells": [],
    }
    assert [path.name for path in writer.folder.iterdir()] == ["results.json"]


def test_latest_points_to_the_newest_run(tmp_path: Path) -> None:
    """The link is relative, so that a moved results folder still works."""
    a_writer(tmp_path)
    second = a_writer(tmp_path)
    assert (tmp_path / "latest").readlink() == Path(second.folder.name)
    assert load(tmp_path / "latest").path.resolve() == second.path
    assert len(list(tmp_path.iterdir())) == 3


def test_decided_cells_are_on_disk_before_the_run_ends(tmp_path: Path) -> None:
    """A cell without an expectation is written, too; a later change to the caller's object has no effect."""
    cells = (a_cell("first"), a_cell("second", expected=None, links=(LINK, LINK | {"shaper": "native"})))
    host: dict[str, Any] = {"cpu": {"count": 2}}
    writer = ResultsWriter.create(tmp_path, host=host, seed=7, options={"depth": "quick"}, now=NOW)
    host["cpu"]["count"] = 64
    for cell in cells:
        writer.append(cell)
    results = load(writer.folder)
    assert (results.cells, results.seconds, results.finished) == (cells, None, False)
    assert (results.host, results.seed, results.options, results.schema) == (
        {"cpu": {"count": 2}},
        7,
        {"depth": "quick"},
        1,
    )
    (run,) = results.parts
    assert ["netem" in results.machine(run, {cell.id}) for cell in cells] == [False, True]


def test_the_file_reads_as_if_it_were_encoded_as_a_whole(tmp_path: Path) -> None:
    """Cells are encoded one by one, which must not be visible. The cells of a scenario are together."""
    writer = a_writer(tmp_path)
    for cells in ((), (a_cell("one"), a_cell("two", scenario="other"), a_cell("three"), a_cell("four"))):
        for cell in cells:
            writer.append(cell)
        text = writer.path.read_text(encoding="utf-8")
        assert text == f"{json.dumps(json.loads(text), indent=2)}\n"
    assert [cell.name for cell in load(writer.path).cells] == ["one", "three", "four", "two"]


def test_a_finished_run_is_marked_as_finished_with_its_wall_time(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.append(a_cell())
    writer.finish(40.25, memory_peak_bytes=3 << 30)
    results = load(writer.path)
    assert (results.seconds, results.finished, len(results.cells)) == (40.25, True, 1)
    assert results.to_json()["memory_peak_bytes"] == results.memory_peak_bytes == 3 << 30
    assert results.path == writer.path


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_an_impossible_wall_time_is_not_recorded(tmp_path: Path, seconds: float) -> None:
    """A wrong clock must not make the file unreadable."""
    writer = a_writer(tmp_path)
    with pytest.raises(ValueError, match=r"^seconds: "):
        writer.finish(seconds)
    assert not load(writer.path).finished


def test_a_cell_that_breaks_the_schema_is_not_written(tmp_path: Path) -> None:
    """The schema is checked on write: evidence outside the folder, or a nameless network, is a bug in the program."""
    writer = a_writer(tmp_path)
    with pytest.raises(ValueError, match=r"'stall/stalls/nginx-1.22/bare': /evidence/0: .*should not be valid"):
        writer.append(a_cell(evidence=("evidence/../../../etc/passwd",)))
    with pytest.raises(ValueError, match=r"/links/0/network: .*non-empty"):
        writer.append(a_cell(links=(LINK | {"network": ""},)))
    writer.finish(0.0)
    assert load(writer.path).cells == ()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_damages_no_earlier_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Evidence may fill the disk."""
    writer = a_writer(tmp_path)
    writer.append(a_cell("first"))
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", refuse(code))
        disk.setattr(Path, "mkdir", refuse(code))
        with pytest.raises(DiskFullError, match=r"(?s)could not be written.*results\.json.*--results"):
            writer.append(a_cell("second"))
        with pytest.raises(DiskFullError, match=re.escape(os.strerror(code))):
            writer.evidence_folder("stall")
    assert load(writer.path).cells == (a_cell("first"),)
    assert [path.name for path in writer.folder.iterdir()] == ["results.json"]
    writer.finish(1.0)
    assert load(writer.path).cells == (a_cell("first"), a_cell("second"))


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.EPERM])
def test_a_folder_that_cannot_be_written_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(Path, "mkdir", refuse(code))
    with pytest.raises(BadInputError) as raised:
        a_writer(tmp_path)
    assert raised.value.what == f"The results folder cannot be used: {os.strerror(code)}."
    assert raised.value.where == str(tmp_path)
    assert "--results" in raised.value.remedy


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_results_folder_that_is_a_file_is_bad_input(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError, match="not a folder"):
        a_writer(tmp_path / "file" / below)


def test_a_folder_in_place_of_latest_is_bad_input(tmp_path: Path) -> None:
    """A real folder named ``latest`` belongs to the user: it is reported, not replaced."""
    (tmp_path / "latest").mkdir()
    with pytest.raises(BadInputError, match=r"(?s)directory.*/latest\n"):
        a_writer(tmp_path)
    assert (tmp_path / "latest").is_dir()
    assert not list(tmp_path.glob(".latest*"))


def test_a_run_folder_that_vanished_is_bad_input(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    shutil.rmtree(writer.folder)
    with pytest.raises(BadInputError, match="No such file or directory"):
        writer.append(a_cell())


def test_evidence_folders_are_safe_and_unique(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    ids = ["stall", "Stall", "tests/x.py::test_stall[1.22-bare]", "..", "", "a/../../b", "日本", "x" * 300, "x" * 301]
    folders = [writer.evidence_folder(cell_id) for cell_id in ids]
    assert {folder.parent for folder in folders} == {writer.folder / "evidence"}
    assert len({folder.name.lower() for folder in folders}) == len(ids)
    assert all(folder.is_dir() and folder.name.isascii() and len(folder.name) < 100 for folder in folders)
    assert folders[0].name == "stall"
    assert folders[1].name.startswith("stall-")
    assert folders[2].name.startswith("tests-x.py-test_stall-1.22-bare-")
    assert writer.evidence_folder(ids[2]) == folders[2]


KILLS: Final = 25
# Writing all cells takes much longer than a writer lives.
CELLS: Final = 2000
LIVES_S: Final = 0.06


def forked(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def test_a_killed_writer_leaves_everything_that_it_has_appended(tmp_path: Path) -> None:
    """After a kill at a random moment, the file loads and contains all cells, perhaps without the one being written."""
    chance = random.Random(53)  # noqa: S311 - reproducible, not secret
    most = 0
    for kill in range(KILLS):
        reader, begin = os.pipe()

        def write(begin: int = begin, root: Path = tmp_path / str(kill)) -> None:
            writer = a_writer(root)
            for number in range(CELLS):
                os.write(begin, b".")
                writer.append(a_cell(f"claim_{number}"))

        pid = forked(write)
        os.close(begin)
        assert os.read(reader, 1), "the writer ended before its first cell"
        time.sleep(chance.random() * LIVES_S)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), "the writer had ended before the kill"
        begun = 1
        while data := os.read(reader, 65536):
            begun += len(data)
        os.close(reader)
        cells = load(tmp_path / str(kill) / "latest").cells
        assert len(cells) in {begun - 1, begun}
        most = max(most, len(cells))
    assert most > 1, "no writer reached its second cell"


def test_simultaneous_runs_keep_all_results(tmp_path: Path) -> None:
    for attempt in range(5):
        root = tmp_path / str(attempt)

        def run(root: Path = root) -> None:
            writer = a_writer(root)
            for number in range(3):
                writer.append(a_cell(f"claim_{number}"))
            writer.finish(1.0)

        pids = [forked(run) for _ in range(3)]
        assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0, 0, 0]
        folders = [path for path in root.iterdir() if not path.is_symlink()]
        assert [len(load(folder).cells) for folder in folders] == [3, 3, 3]
        assert (root / "latest").resolve() in folders
        assert len(list(root.iterdir())) == 4, "a temporary link is left"


def test_a_run_can_start_while_another_one_is_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run points ``latest`` at itself just before the first does."""
    link, replace, others = tmp_path / "latest", Path.replace, ["second"]

    def replace_late(self: Path, target: Path) -> Path:
        while others:
            point_link(link, others.pop())
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", replace_late)
    point_link(link, "first")
    assert [str(path.readlink()) for path in tmp_path.iterdir()] == ["first"]
