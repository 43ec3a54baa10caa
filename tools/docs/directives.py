"""The advice on each directive: keep, change, remove or add it."""

from collections.abc import Iterator
from typing import Final

from tools.docs.cells import plain
from tuneproof.audit.why import reason, to_do, written
from tuneproof.lines import Concern, Line, every_line
from tuneproof.report.results.documents import Results
from tuneproof.report.terminal.markdown import head, row

_HEAD: Final = ("directive", "what to do", "nginx", "why")


def directive_table(_results: Results, _wanted: str) -> str:
    """Return the table, in the order of the directives' names."""
    rows = sorted(_rows(), key=lambda cells: cells[0].lower())
    return "\n".join([*head(_HEAD), *map(row, dict.fromkeys(rows))])


def _rows() -> Iterator[tuple[str, ...]]:
    for line in every_line():
        for concern in line.audit:
            yield f"`{written(concern)}`", to_do(concern), _versions(line, concern), plain(reason(line, concern))


def _versions(line: Line, concern: Concern) -> str:
    first = line.since or line.version
    if concern.until:
        return f"{first} to before {concern.until}" if first else f"before {concern.until}"
    return f"{first} and later" if first else "all"
