"""A file of records that keeps its newest ones, so that no capture fills a disk."""

import shutil
from pathlib import Path
from typing import IO, Self


class RingFile:
    """Two files in turn, joined at the end: at least the newest half of what is allowed is kept, whole records only."""

    def __init__(self, path: Path, *, header: bytes, most_bytes: int) -> None:
        self._path = path
        self._header = header
        self._half_bytes = most_bytes // 2
        self._halves = [path.with_name(f"{path.name}.{number}") for number in range(2)]
        self._current = 0
        self._written_bytes = 0
        self._older: Path | None = None
        self._out: IO[bytes] = self._halves[0].open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def write(self, record: bytes) -> None:
        """Add a record; the oldest half goes when both are full.

        Raises OSError: the disk is full, or there is no such place.
        """
        if self._written_bytes + len(record) > self._half_bytes:
            self._turn()
        self._out.write(record)
        self._written_bytes += len(record)

    def close(self) -> None:
        """Join the halves, the older first."""
        self._out.close()
        with self._path.open("wb") as joined:
            joined.write(self._header)
            for half in (self._older, self._halves[self._current]):
                if half is not None:
                    with half.open("rb") as part:
                        shutil.copyfileobj(part, joined)
                    half.unlink()

    def _turn(self) -> None:
        self._out.close()
        self._older = self._halves[self._current]
        self._current = 1 - self._current
        self._out = self._halves[self._current].open("wb")
        self._written_bytes = 0
