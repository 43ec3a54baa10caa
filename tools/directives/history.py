"""Merges each version's rows: one row for each range of versions in which a directive is the same."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tools.directives.rows import Row


@dataclass(frozen=True, kw_only=True)
class Span:
    """A row, and the range of versions that it covers."""

    row: Row
    since: str  # empty for the oldest version
    until: str = ""  # the first version that it no longer covers; empty for none


def spans(by_version: Mapping[str, Iterable[Row]]) -> Iterator[Span]:
    """Yield each row with its range of versions; ``by_version`` is in order, the oldest version first."""
    open_since: dict[Row, str] = {}
    first = next(iter(by_version))
    for version, rows in by_version.items():
        found = set(rows)
        for row in [row for row in open_since if row not in found]:
            yield Span(row=row, since=open_since.pop(row), until=version)
        for row in found - open_since.keys():
            open_since[row] = "" if version == first else version
    for row, since in open_since.items():
        yield Span(row=row, since=since)
