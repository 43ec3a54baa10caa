"""A process's record of its loop iterations is read, and the iterations in a window are counted."""

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from images.netadmin.netadmin import recorder
from images.netadmin.netadmin.observer import Observer
from images.netadmin.netadmin.processes import WORKER
from images.netadmin.netadmin.recorder import Reader, RecordError
from tests.support import canned_turns
from tests.support.fake_kernel import FakeDiag, Proc, remote
from tests.support.joined import refused
from tuneproof.lab.protocol.observer import Calls
from tuneproof.lab.protocol.turns import Bucket, Histograms

REAL_PREAD: Final = os.pread
AT_ONCE: Final = (0.0, 0.0)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    counted = {name: number for number, name in enumerate(recorder.COUNTERS, start=1)}
    histograms = {"read_bytes": {0: (2, 0), 67: (3, 4500)}, "cpu_ns": {319: (1, 1 << 43)}, "wall_ns": {8: (1, 8)}}
    calls = {"accept4": (5, 2), "read": (3, 0)}
    record = canned_turns.content(begun=5, sequence=4, counters=counted, histograms=histograms, calls=calls)
    canned_turns.write(tmp_path, 7, record)
    reader = Reader(7, proc=tmp_path)
    read = reader.read()
    reader.close()
    assert (read.begun, read.counters, read.histograms) == (5, counted, histograms)
    assert read.calls == {"accept4": Calls(made=5, failed=2), "read": Calls(made=3)}


def test_the_difference_of_two_readings_contains_the_increments(tmp_path: Path) -> None:
    first = canned_turns.content(
        begun=3, counters={"turns": 3, "read_bytes": 16}, histograms={"read_bytes": {0: (1, 0), 8: (2, 16)}}
    )
    second = canned_turns.content(
        begun=9,
        counters={"turns": 8, "read_bytes": 25},
        histograms={"read_bytes": {0: (5, 0), 8: (2, 16), 9: (1, 9)}},
    )
    path = canned_turns.write(tmp_path, 7, first)
    reader = Reader(7, proc=tmp_path)
    before = reader.read()
    path.write_bytes(second)
    added = reader.read().since(before)
    reader.close()
    assert added.begun == 6
    assert (added.counters["turns"], added.counters["read_bytes"]) == (5, 9)
    worker = added.of_worker(7, unfinished=False)
    assert (worker.pid, worker.turns, worker.read_bytes) == (7, 5, 9)
    assert worker.histograms == Histograms(read_bytes=(Bucket(0, 4, 0), Bucket(9, 1, 9)))


def test_the_record_of_an_earlier_process_with_the_same_id_is_reported(tmp_path: Path) -> None:
    canned_turns.write(tmp_path, 7, canned_turns.content(created_ns=canned_turns.STARTED_NS - 1))
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(RecordError, match="another process that has ended"):
        Reader(7, proc=tmp_path)
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files


def test_calls_of_several_processes_are_added_up(tmp_path: Path) -> None:
    """A worker without a record must not count as an idle worker."""
    for pid, row in ((7, (3, 1)), (8, (4, 0))):
        canned_turns.write(tmp_path, pid, canned_turns.content(calls={"read": row}))
    assert recorder.calls_of([7, 8], proc=tmp_path) == {"read": Calls(made=7, failed=1)}
    with pytest.raises(RecordError, match="process 9 keeps no record"):
        recorder.calls_of([7, 9], proc=tmp_path)


def test_an_iteration_that_is_added_during_the_copy_is_read_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order in which a copy reads its words is undefined: it may read the sequence number after the counters."""
    before, after = (
        canned_turns.content(sequence=2 * turns_over, counters={"turns": turns_over, "read_bytes": 3 * turns_over})
        for turns_over in (1, 2)
    )
    path = canned_turns.write(tmp_path, 7, before)
    reader = Reader(7, proc=tmp_path)
    copies: list[bytes] = []

    def pread(file: int, size: int, offset: int) -> bytes:
        if size != len(before) or copies:
            return REAL_PREAD(file, size, offset)
        _overwrite(path, after)
        # The copy contains the first counter, and everything before it, in the later state.
        copies.append(after[:64] + before[64:])
        return copies[0]

    monkeypatch.setattr(os, "pread", pread)
    assert reader.read() == recorder.parse(after)
    assert copies
    reader.close()


def test_reading_waits_for_a_record_that_is_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = canned_turns.write(tmp_path, 7, canned_turns.content(sequence=1))
    reader = Reader(7, proc=tmp_path)
    whole = canned_turns.content(sequence=2, counters={"turns": 1})
    with monkeypatch.context() as patch:
        patch.setattr(recorder, "time", SimpleNamespace(sleep=lambda _: _overwrite(path, whole)))
        assert reader.read().counters["turns"] == 1
    _overwrite(path, canned_turns.content(sequence=3))
    with pytest.raises(RecordError, match="while a turn was being recorded"):
        reader.read()
    reader.close()


def test_a_window_ends_with_the_iteration_that_was_open_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = canned_turns.write(tmp_path, 7, canned_turns.content(begun=2, counters={"turns": 1}))
    ended = canned_turns.content(begun=3, counters={"turns": 2, "read_bytes": 100})

    sleeps: list[float] = []

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        time.sleep(seconds)
        if len(sleeps) == 3:  # the first two sleeps end at the window's start and end
            _overwrite(path, ended)

    monkeypatch.setattr(recorder, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    now_s = time.monotonic()
    answer = recorder.turns_over([7], start_s=now_s + 0.05, end_s=now_s + 0.1, proc=tmp_path)
    (worker,) = answer.workers
    assert (worker.pid, worker.turns, worker.read_bytes, worker.unfinished) == (7, 1, 100, False)


def test_an_endless_iteration_is_reported_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "LONGEST_TURN_S", 0.05)
    canned_turns.write(tmp_path, 7, canned_turns.content(begun=2, counters={"turns": 1}))
    (worker,) = recorder.turns_over([7], start_s=0.0, end_s=0.0, proc=tmp_path).workers
    assert (worker.turns, worker.unfinished) == (0, True)


def test_the_observer_returns_the_iterations_of_every_worker(proc: Proc) -> None:
    for pid in (9, 12):
        proc.add(pid, f"{WORKER}\0")
        canned_turns.write(proc.folder, pid, canned_turns.content())
    answer = remote(Observer(FakeDiag().open, proc=proc.folder)).turns(*AT_ONCE)
    assert [(worker.pid, worker.turns) for worker in answer.workers] == [(9, 0), (12, 0)]


def test_a_missing_worker_or_a_change_of_workers_is_an_error(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    observer = Observer(FakeDiag().open, proc=proc.folder)
    assert refused(remote(observer).turns, *AT_ONCE) == f"no process here is titled {WORKER!r}"
    proc.add(9, f"{WORKER}\0")
    canned_turns.write(proc.folder, 9, canned_turns.content())
    monkeypatch.setattr(
        recorder, "_sleep_until", lambda _: (proc.folder / "9/cmdline").write_text("", encoding="ascii")
    )
    assert refused(remote(observer).turns, *AT_ONCE) == "the workers were [9], and are []"


def _overwrite(path: Path, record: bytes) -> None:
    """Write in place, because the reader keeps the file open."""
    with path.open("r+b") as file:
        file.write(record)
