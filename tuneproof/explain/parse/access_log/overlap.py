"""A sample of a log's lines that shows which part of them another log has, too."""

from dataclasses import dataclass
from typing import Final
from zlib import crc32

MOST_LINES: Final = 16_384
_ALL: Final = 1 << 32


@dataclass(frozen=True, kw_only=True)
class LineSample:
    """The different lines of a log with the lowest checksums; equal lines of two logs are in the samples of both."""

    below: int = _ALL  # every line with a checksum below this is in the sample
    checksums: frozenset[int] = frozenset()

    @property
    def has_all(self) -> bool:
        """Whether all lines are in the sample."""
        return self.below == _ALL

    def shared(self, other: "LineSample") -> tuple[int, int]:
        """Return how many lines of a sample the other log has, and how many were compared."""
        below = min(self.below, other.below)
        own = {checksum for checksum in self.checksums if checksum < below}
        return len(own & other.checksums), len(own)


class LineSampler:
    """Makes the sample of a log, in bounded memory."""

    def __init__(self, most_lines: int = MOST_LINES) -> None:
        self._most = most_lines
        self._below = _ALL
        self._checksums: set[int] = set()

    def add(self, line: str) -> None:
        """Add a line, with or without its line end; blank ones do not count."""
        text = line.rstrip("\r\n")
        checksum = crc32(text.encode("utf-8", "surrogatepass"))
        if checksum >= self._below or not text:
            return
        self._checksums.add(checksum)
        while len(self._checksums) > self._most:
            self._below //= 2
            self._checksums = {kept for kept in self._checksums if kept < self._below}

    def sample(self) -> LineSample:
        """Return the sample of the lines so far."""
        return LineSample(below=self._below, checksums=frozenset(self._checksums))
