"""No decision is lost: with writers that are killed, that write at the same time, or that meet a full disk."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.support.written_results import a_cell
from tuneproof.errors import DiskFullError
from tuneproof.report.html import write_report, writing
from tuneproof.report.results.files import point_link
from tuneproof.report.results.run_file import FILE_NAME, ResultsWriter, load

KILLS: Final = 25
# A writer writes for longer than any stays alive.
CELLS: Final = 2000
LIVES_S: Final = 0.06
FULL: Final = Path("/dev/full")


def a_writer(root: Path) -> ResultsWriter:
    return ResultsWriter.create(root, host={"kernel": "6.1"}, seed=7, options={"depth": "quick"})


def forked(work: Callable[[], None]) -> int:
    """Run a function in a process of its own; return its id."""
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
    """The kill comes at random moments: the file loads, and contains every cell that was reported as written."""
    chance = random.Random(53)  # noqa: S311 - reproducible, not secret
    most = 0
    for kill in range(KILLS):
        reader, told = os.pipe()

        def write(told: int = told, root: Path = tmp_path / str(kill)) -> None:
            writer = a_writer(root)
            for number in range(CELLS):
                os.write(told, b".")
                writer.append(a_cell(f"claim_{number}"))

        pid = forked(write)
        os.close(told)
        assert os.read(reader, 1), "the writer ended before its first cell"
        time.sleep(chance.random() * LIVES_S)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), "the kill hit nothing"
        begun = 1
        while data := os.read(reader, 65536):
            begun += len(data)
        os.close(reader)
        cells = load(tmp_path / str(kill) / "latest").cells
        assert len(cells) in {begun - 1, begun}
        most = max(most, len(cells))
    assert most > 1, "no writer came to its second cell"


def test_two_simultaneous_runs_keep_both_results(tmp_path: Path) -> None:
    """``latest`` is the one that comes last."""
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
        assert len(list(root.iterdir())) == 4, "no temporary link is left"


def test_a_full_disk_costs_only_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = a_writer(tmp_path)
    writer.append(a_cell("first"))
    monkeypatch.setattr(writing, "INDEX", str(FULL))
    with pytest.raises(DiskFullError):
        write_report(load(writer.folder), writer.folder)
    assert [cell.name for cell in load(writer.folder).cells] == ["first"]


def test_a_run_that_starts_within_the_start_of_another_finds_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one points ``latest`` at itself while the first one is about to."""
    link, replace, others = tmp_path / "latest", Path.replace, ["second"]

    def replace_late(self: Path, target: Path) -> Path:
        while others:
            point_link(link, others.pop())
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", replace_late)
    point_link(link, "first")
    assert [str(path.readlink()) for path in tmp_path.iterdir()] == ["first"]
