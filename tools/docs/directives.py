"""What to do about each directive that a row of advice is about: keep it, change it, remove it, or add it."""

import re
from collections.abc import Iterator
from typing import Final

from tools.docs.cells import plain
from tuneproof.audit.advice import State
from tuneproof.lines import Concern, Line, every_line
from tuneproof.report.results.documents import Results
from tuneproof.report.terminal.markdown import head, row

_HEAD: Final = ("directive", "what to do", "nginx", "why")
# By state, where the row has no text that would take the directive's place.
_WORDS: Final = {
    State.HARMFUL: "change",
    State.WITHOUT_EFFECT: "do not count on it",
    State.EXPIRED: "not needed",
    State.IN_EFFECT: "keep",
    State.CANNOT_TELL: "check",
}


def directive_table(_results: Results, _wanted: str) -> str:
    """Return the table, in the order of the directives' names."""
    rows = sorted(_rows(), key=lambda cells: cells[0].lower())
    return "\n".join([*head(_HEAD), *map(row, dict.fromkeys(rows))])


def _rows() -> Iterator[tuple[str, ...]]:
    for line in every_line():
        for concern in line.audit:
            yield _directive(concern), _to_do(concern), _versions(line), _why(line, concern)


def _why(line: Line, concern: Concern) -> str:
    # An audit fills in what it found in a file: a word of the sentence, or a clause after it.
    return plain(re.sub(r"(?<=\w)\{found\}$", "", concern.why).format(version=line.version, found="…"))


def _directive(concern: Concern) -> str:
    if concern.block:
        is_named = (concern.patch or "=").startswith("=")
        added = "" if is_named else (concern.patch or "").partition(" ")[0].replace("{kind}", "proxy")
        return f"`{added or concern.block}`"
    bounds = f" {concern.value}" if concern.value else ""
    # Words without anything of a regular expression stand there as they are written.
    words = f" {concern.args}" if concern.args.replace("_", "").replace(" ", "").isalnum() else ""
    return f"`{concern.directive}{words}{bounds}`"


def _to_do(concern: Concern) -> str:
    state = State(concern.state)
    if concern.patch == "":
        return "remove"
    if concern.patch and concern.patch.startswith("="):  # a remedy that depends on the file
        return "apply the patch of `audit`"
    if concern.patch:
        # What the audit fills in is a name of the user's.
        text = concern.patch.replace("{kind}", "proxy").replace("{arg}", "NAME")
        return f"{'add' if concern.block else 'change to'} `{text}`"
    return _WORDS[state]


def _versions(line: Line) -> str:
    first = line.since or line.version
    return f"{first} and later" if first else "all"
