"""How a record of system calls is read."""

import struct
from pathlib import Path

import pytest

from images.netadmin.netadmin import calls
from images.netadmin.netadmin.calls import CallsError
from tuneproof.lab.protocol.observer import Calls

HEADER = struct.Struct("=8s2Q")
ROW = struct.Struct("=24s3Q")


def record(rows: dict[str, tuple[int, int, int]], *, magic: bytes = b"TPCALLS\0") -> bytes:
    """Return the content of a record."""
    return HEADER.pack(magic, 7, len(rows)) + b"".join(ROW.pack(name.encode(), *row) for name, row in rows.items())


def place(proc: Path, pid: int, content: bytes) -> None:
    """Put a process's record where it is looked for."""
    folder = proc / str(pid) / "root" / calls.FOLDER
    folder.mkdir(parents=True)
    (folder / f"tuneproof-calls.{pid}").write_bytes(content)


def test_calls_failures_and_bytes_are_read_by_name() -> None:
    """The record names what it counts."""
    assert calls.parse(record({"accept4": (5, 2, 0), "read": (3, 0, 900)})) == {
        "accept4": Calls(made=5, failed=2, moved_bytes=0),
        "read": Calls(made=3, failed=0, moved_bytes=900),
    }


def test_processes_are_added_up(tmp_path: Path) -> None:
    """What the workers did is asked for, and not which of them."""
    place(tmp_path, 7, record({"read": (3, 1, 900)}))
    place(tmp_path, 8, record({"read": (4, 0, 100)}))
    assert calls.of([7, 8], proc=tmp_path) == ({"read": Calls(made=7, failed=1, moved_bytes=1000)})


@pytest.mark.parametrize(
    "content", [b"", b"TPCALLS\0", record({}, magic=b"TPTURNS\0"), record({"read": (1, 0, 0)})[:-1]]
)
def test_what_is_no_record_is_refused(content: bytes) -> None:
    """A record that is cut off would else count too little."""
    with pytest.raises(CallsError, match="record of calls"):
        calls.parse(content)


def test_a_process_without_a_record_is_named(tmp_path: Path) -> None:
    """It would else count as one that made no calls."""
    with pytest.raises(CallsError, match="process 9 does not count its calls"):
        calls.of([9], proc=tmp_path)
