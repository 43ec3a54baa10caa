"""Records of event loops and system calls, made by hand."""

import array
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from images.netadmin.netadmin import recorder
from tuneproof.lab.protocol.codec import from_plain
from tuneproof.lab.protocol.turns import WorkerTurns

# The process started one second after boot, and began its record half a second later.
STARTED_NS, CREATED_NS = 1_000_000_000, 1_500_000_000
STAT = f"{{pid}} (nginx: (worker) 1) S 1 {' '.join('0' * 17)} {STARTED_NS // 10_000_000} 0 0\n"


def content(
    *,
    begun: int = 0,
    sequence: int = 0,
    counters: Mapping[str, int] | None = None,
    histograms: Mapping[str, Mapping[int, tuple[int, int]]] | None = None,
    calls: Mapping[str, tuple[int, int]] | None = None,
    created_ns: int = CREATED_NS,
) -> bytes:
    """Return a record's bytes in the layout of recorder.c."""
    words = array.array("Q", [(counters or {}).get(name, 0) for name in recorder.COUNTERS])
    for name in recorder.HISTOGRAMS:
        buckets = (histograms or {}).get(name, {})
        words.extend(buckets.get(bucket, (0, 0))[0] for bucket in range(320))
        words.extend(buckets.get(bucket, (0, 0))[1] for bucket in range(320))
    rows = [struct.pack("=24s2Q", name.encode(), *row) for name, row in (calls or {}).items()]
    return struct.pack("=3Q", created_ns, sequence, begun) + words.tobytes() + b"".join(rows)


def write(proc: Path, pid: int, record: bytes) -> Path:
    """Put a record and the process's stat where a reader looks for them; return the record's path."""
    folder = proc / str(pid)
    shm = folder / "root/dev/shm"
    shm.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(STAT.format(pid=pid), encoding="ascii")
    path = shm / f"tuneproof.{pid}"
    path.write_bytes(record)
    return path


def raw_worker(
    pid: int,
    *,
    read: Sequence[Sequence[int]] = (),
    cpu: Sequence[Sequence[int]] = (),
    wall: Sequence[Sequence[int]] = (),
    **changes: Any,
) -> dict[str, Any]:
    """Return one worker's iterations as JSON, with the fields that a test sets."""
    fields: dict[str, Any] = {
        **dict.fromkeys(recorder.COUNTERS, 0),
        "pid": pid,
        "turns": sum(count for _, count, _ in read),
        "read_bytes": sum(total for _, _, total in read),
        "unfinished": False,
    }
    given = {"read_bytes": read, "cpu_ns": cpu, "wall_ns": wall}
    histograms = {name: [[*each] for each in buckets] for name, buckets in given.items()}
    return {**fields, "histograms": histograms, **changes}


def worker(pid: int, **changes: Any) -> WorkerTurns:
    """Return one worker's iterations as the observer returns them."""
    return from_plain(WorkerTurns, raw_worker(pid, **changes))


def bucket(value: int) -> int:
    """Return the number of a value's bucket, as recorder.c does."""
    shift = max(value.bit_length() - 4, -1)
    return value if shift < 0 else 8 * (shift + 1) + (value >> shift) - 8


def alike(pid: int, *, turn_bytes: int, turn_cpu_ms: float, turn_wall_ms: float = 100.0) -> WorkerTurns:
    """Return a hundred iterations of a worker, with the bytes read, CPU time and wall time of each."""
    cpu_ns, wall_ns = round(1e6 * turn_cpu_ms), round(1e6 * turn_wall_ms)
    read, cpu, wall = ([[bucket(value), 100, 100 * value]] for value in (turn_bytes, cpu_ns, wall_ns))
    return worker(pid, read=read, cpu=cpu, wall=wall, cpu_ns=100 * cpu_ns, wall_ns=100 * wall_ns)
