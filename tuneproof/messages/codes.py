"""The number in a message, such as an errno, and the clause about it in a row.

A row's ``why`` may have clauses for numbers: "2: the folder is missing. 13 and 1: …", after the text about all numbers.
"""

import re
from collections.abc import Collection
from functools import cache
from typing import Final

from tuneproof.messages.rows import messages

_NUMBER: Final = r"\d+(?: \([^)]*\))?"
_HEAD: Final = re.compile(rf"(?:(?<=^)|(?<=[.;] ))((?:Signal |Alert )?{_NUMBER}(?:(?:, | and | or | to ){_NUMBER})*): ")
_RANGE: Final = re.compile(r"(\d+) to (\d+)")
_CODE: Final = re.compile(r"alert number (\d+)|\((\d+): ?|(?:signal|error) (\d+)")
_ALERT: Final = "alert number "


@cache
def coded() -> frozenset[str]:
    """Return the ids of the rows that have clauses for numbers."""
    return frozenset(row.id for row in messages().values() if _HEAD.search(row.why) is not None)


def code_of(message: str) -> str:
    """Return the error, signal or alert number in a message; empty if it has none."""
    at = message.find(_ALERT)
    found = _CODE.search(message, max(at, 0))
    return next(filter(None, found.groups())) if found is not None else ""


def only_about(why: str, codes: Collection[str]) -> str:
    """Return a row's text without the clauses for other numbers; unchanged if nothing would be left."""
    pieces = _HEAD.split(why)
    general = pieces[0].strip()
    clauses = [(head, text.strip()) for head, text in zip(pieces[1::2], pieces[2::2], strict=True)]
    kept = [(head, text) for head, text in clauses if _numbers(head) & set(codes)]
    if len(kept) == 1:
        text = kept[0][1]
        # A sentence may begin with nginx, but not with Nginx.
        return f"{general} {text if text.startswith('nginx') else text[:1].upper() + text[1:]}".strip()
    return " ".join([*([general] if general else []), *(f"{head}: {text}" for head, text in kept)]) or why


def _numbers(head: str) -> set[str]:
    spans = [range(int(begin), int(end) + 1) for begin, end in _RANGE.findall(head)]
    return {*re.findall(r"\d+", re.sub(r"\([^)]*\)", "", head)), *(str(number) for span in spans for number in span)}
