"""Samples the lines of a log, to estimate how many of them another log contains as well."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

MOST_LINES: Final = 16_384
_ALL: Final = 1 << 32
# A time of day, or seconds since 1970.
_MOMENT: Final = re.compile(r"(?<!\d)\d\d:\d\d:\d\d(?:[.,]\d+)?|(?<!\d)\d{10}(?!\d)(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class LineSample:
    """The distinct lines of a log with the lowest checksums, so that samples of two logs share their common lines."""

    below: int = _ALL  # every line with a checksum below this is in the sample
    checksums: Mapping[int, int] = field(default_factory=dict)  # of each line, and of the same line without its time

    @property
    def has_all(self) -> bool:
        """Whether all lines are in the sample."""
        return self.below == _ALL

    def shared(self, other: "LineSample") -> tuple[int, int]:
        """Return how many lines of this sample the other log contains, and how many were compared."""
        below = min(self.below, other.below)
        own = {checksum for checksum in self.checksums if checksum < below}
        return len(own & other.checksums.keys()), len(own)

    def shared_texts(self, other: "LineSample") -> int:
        """Return how many lines both samples contain; lines that differ only in their time count once."""
        return len({self.checksums[checksum] for checksum in self.checksums.keys() & other.checksums.keys()})


class LineSampler:
    """Makes the sample of a log, in bounded memory."""

    def __init__(self, most_lines: int = MOST_LINES) -> None:
        self._most = most_lines
        self._below = _ALL
        self._checksums: dict[int, int] = {}

    def add(self, line: str) -> None:
        """Add a line, with or without its line end; empty ones do not count."""
        text = line.rstrip("\r\n")
        checksum = crc32(text.encode("utf-8", "surrogatepass"))
        if checksum >= self._below or not text:
            return
        self._checksums[checksum] = crc32(_MOMENT.sub("", text).encode("utf-8", "surrogatepass"))
        while len(self._checksums) > self._most:
            self._below //= 2
            self._checksums = {line: rest for line, rest in self._checksums.items() if line < self._below}

    def sample(self) -> LineSample:
        """Return the sample of the lines so far."""
        return LineSample(below=self._below, checksums=dict(self._checksums))
