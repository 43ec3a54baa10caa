"""The system calls that nginx's processes have made; what counts them: images/subject/calls/calls.c."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tuneproof.lab.protocol.observer import Calls

from .processes import PROC

# Where the writer puts it by default, in the process's own file system.
FOLDER: Final = "dev/shm"
MAGIC: Final = b"TPCALLS\0"
# Native byte order: the writer is on the same machine.
_HEADER: Final = struct.Struct("=8s2Q")
_COUNTED: Final = struct.Struct("=24s3Q")


class CallsError(ValueError):
    """A process does not count its calls, or its record cannot be read."""


def parse(content: bytes) -> dict[str, Calls]:
    """Return what a record counts, by the name of the call (CallsError: it is no such record)."""
    if len(content) < _HEADER.size:
        raise CallsError(f"a record of calls has {len(content)} bytes")
    magic, _, count = _HEADER.unpack_from(content)
    if magic != MAGIC or len(content) < _HEADER.size + count * _COUNTED.size:
        raise CallsError(f"a record of calls has another format: {content[:16]!r}")
    counted = (_COUNTED.unpack_from(content, _HEADER.size + place * _COUNTED.size) for place in range(count))
    return {
        name.rstrip(b"\0").decode("ascii"): Calls(made=made, failed=failed, moved_bytes=size)
        for name, made, failed, size in counted
    }


def of(pids: Sequence[int], *, proc: Path = PROC) -> dict[str, Calls]:
    """Return the same of several processes together, by way of the process table (CallsError: one counts nothing)."""
    total: dict[str, Calls] = {}
    for pid in pids:
        path = proc / str(pid) / "root" / FOLDER / f"tuneproof-calls.{pid}"
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise CallsError(f"process {pid} does not count its calls") from error
        for name, calls in parse(content).items():
            total[name] = calls.plus(total.get(name, Calls()))
    return total
