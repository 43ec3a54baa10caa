"""The record that an nginx process keeps of its event loop and its system calls.

images/subject/recorder/recorder.c writes it. Its numbers only grow; :meth:`Record.since` returns what a period added.
An iteration of the event loop (here: a turn) is added when it is over.
"""

import array
import os
import struct
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from tuneproof.lab.protocol.observer import Calls
from tuneproof.lab.protocol.turns import Bucket, Histograms, Turns, WorkerTurns

from .processes import PROC

# The writer's default path, in the process's own file system.
FOLDER: Final = "dev/shm"
BUCKETS: Final = 320
COUNTERS: Final = ("turns", "wall_ns", "cpu_ns", "read_bytes", "file_write_bytes")
# These are in the order of the file.
HISTOGRAMS: Final = ("read_bytes", "cpu_ns", "wall_ns")

# Native byte order: the writer is on the same machine.
_HEADER: Final = struct.Struct("=3Q")  # when it was created, the sequence, and how many turns have begun
_WORDS: Final = len(COUNTERS) + len(HISTOGRAMS) * 2 * BUCKETS
_CALLS_AT: Final = _HEADER.size + _WORDS * 8
_COUNTED: Final = struct.Struct("=24s2Q")
# A turn is added within a microsecond: no reader meets so many additions in a row by chance.
_TRIES: Final = 10_000
_POLL_S: Final = 0.002
LONGEST_TURN_S: Final = 2.0
_NS_PER_S: Final = 1_000_000_000


class RecordError(ValueError):
    """A process keeps no record, or an unreadable one."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One process's record at one moment, or the difference of two records."""

    begun: int  # How many turns have begun, including one that is still open
    counters: Mapping[str, int]  # By name (see :data:`COUNTERS`), over all finished turns
    # For a turn's bytes read, its CPU time and its wall time: by bucket, the number of turns and the sum of their
    # values. Empty buckets are left out.
    histograms: Mapping[str, Mapping[int, tuple[int, int]]]
    calls: Mapping[str, Calls]  # system calls by name, of all threads

    def since(self, earlier: Self) -> Self:
        """Return what was added since an earlier moment."""
        return type(self)(
            begun=self.begun - earlier.begun,
            counters={name: value - earlier.counters[name] for name, value in self.counters.items()},
            histograms={
                name: {
                    bucket: (count - before[0], total - before[1])
                    for bucket, (count, total) in buckets.items()
                    if (before := earlier.histograms[name].get(bucket, (0, 0)))[0] != count
                }
                for name, buckets in self.histograms.items()
            },
            calls={name: calls.since(earlier.calls[name]) for name, calls in self.calls.items()},
        )

    def of_worker(self, pid: int, *, unfinished: bool) -> WorkerTurns:
        """Return the record as that of a worker."""
        histograms = {
            name: tuple(Bucket(bucket, count, total) for bucket, (count, total) in sorted(buckets.items()))
            for name, buckets in self.histograms.items()
        }
        return WorkerTurns(pid=pid, **self.counters, histograms=Histograms(**histograms), unfinished=unfinished)


class Reader:
    """Reads the record of one process; a reader must be closed.

    proc: the process table. Files are opened through it, which a process of the same user may do
    (PTRACE_MODE_READ_FSCREDS in proc_pid_root(5)). Raises RecordError if there is no record: the recorder was not
    loaded or could not create the file, or the process has ended.
    """

    def __init__(self, pid: int, *, proc: Path = PROC) -> None:
        self.pid = pid
        path = proc / str(pid) / "root" / FOLDER / f"tuneproof.{pid}"
        try:
            started_ns = _started_ns((proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace"))
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except (FileNotFoundError, ProcessLookupError) as error:
            raise RecordError(f"process {pid} keeps no record") from error
        created_ns, _, _ = self._header()
        if created_ns < started_ns:
            self.close()
            raise RecordError(f"process {pid}: the record is that of another process that has ended")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def begun(self) -> int:
        """Return how many turns have begun."""
        _, _, begun = self._header()
        return begun

    def read(self) -> Record:
        """Return the record as it is between two turns (RecordError: the process stopped or ended while adding one)."""
        for _ in range(_TRIES):
            # The sequence is read separately, since the order in which one copy reads its words is undefined.
            _, before, _ = self._header()
            content = os.pread(self._file, os.fstat(self._file).st_size, 0)
            _, after, _ = self._header()
            # The number is odd while a turn is being added.
            if before == after and before % 2 == 0:
                return parse(content)
            time.sleep(0)
        raise RecordError(f"process {self.pid}: it stopped or ended while a turn was being recorded")

    def _header(self) -> tuple[int, int, int]:
        created_ns, sequence, begun = _HEADER.unpack(os.pread(self._file, _HEADER.size, 0))
        return created_ns, sequence, begun


def parse(content: bytes) -> Record:
    """Return the record in a file's content, which was copied while no turn was being added."""
    _, _, begun = _HEADER.unpack_from(content)
    words = array.array("Q", content[_HEADER.size : _CALLS_AT])
    histograms = {}
    for place, name in enumerate(HISTOGRAMS):
        counts_at = len(COUNTERS) + place * 2 * BUCKETS
        counts, sums = words[counts_at : counts_at + BUCKETS], words[counts_at + BUCKETS : counts_at + 2 * BUCKETS]
        histograms[name] = {bucket: (count, sums[bucket]) for bucket, count in enumerate(counts) if count}
    calls = {
        name.rstrip(b"\0").decode("ascii"): Calls(made=made, failed=failed)
        for name, made, failed in _COUNTED.iter_unpack(content[_CALLS_AT:])
    }
    counters = dict(zip(COUNTERS, words, strict=False))
    return Record(begun=begun, counters=counters, histograms=histograms, calls=calls)


def _started_ns(stat: str) -> int:
    """Return when a process started, since boot and rounded down, from its /proc/PID/stat (proc_pid_stat(5))."""
    # Field 22. The name in parentheses may contain anything; the third field follows it.
    ticks = int(stat.rpartition(")")[2].split()[22 - 3])
    return ticks * _NS_PER_S // os.sysconf("SC_CLK_TCK")


def calls_of(pids: Sequence[int], *, proc: Path = PROC) -> dict[str, Calls]:
    """Return the system calls of several processes together, by name (RecordError: one keeps no record)."""
    total: dict[str, Calls] = {}
    for pid in pids:
        with closing(Reader(pid, proc=proc)) as reader:
            for name, calls in reader.read().calls.items():
                total[name] = calls.plus(total.get(name, Calls()))
    return total


def turns_over(pids: Sequence[int], *, start_s: float, end_s: float, proc: Path = PROC) -> Turns:
    """Wait for a period to pass; return what every process did in the turns that overlapped it.

    Turns that are open at its start and at its end count as a whole: this function waits until the last one is over, at
    most :data:`LONGEST_TURN_S`.

    start_s: its start in CLOCK_MONOTONIC seconds; a past time means now. Raises RecordError: a process keeps no record.
    """
    with ExitStack() as stack:
        readers = [stack.enter_context(closing(Reader(pid, proc=proc))) for pid in pids]
        _sleep_until(start_s)
        before = [reader.read() for reader in readers]
        _sleep_until(end_s)
        until_s = time.monotonic() + LONGEST_TURN_S
        begun = [reader.begun() for reader in readers]
        after = [_read_after(reader, turns, until_s=until_s) for reader, turns in zip(readers, begun, strict=True)]
    workers = tuple(
        now.since(then).of_worker(pid, unfinished=now.counters["turns"] < turns)
        for pid, then, now, turns in zip(pids, before, after, begun, strict=True)
    )
    return Turns(workers=workers)


def _read_after(reader: Reader, turns: int, *, until_s: float) -> Record:
    """Return the record once this many turns are over, or at the time limit."""
    while (record := reader.read()).counters["turns"] < turns and time.monotonic() < until_s:
        time.sleep(_POLL_S)
    return record


def _sleep_until(then_s: float) -> None:
    time.sleep(max(0.0, then_s - time.monotonic()))
