"""Which row has which message of the source, and which message has none."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from tools.messages.source import Written
from tuneproof.messages.patterns import PLACE
from tuneproof.messages.rows import Message

ANY: Final = None
"""In a shape, what is filled in: any characters, or none. The others stand for themselves."""
_ENOUGH: Final = 10  # so many characters are no chance
Shape = tuple[str | None, ...]
_LETTER: Final = re.compile(r"%\*?[\d.]*[uixXmz]*[a-zA-Z]|<any>")
# What nginx adds behind a format: errno or OpenSSL's words, what it was doing, circumstances, a place.
_ADDED: Final = re.compile(r" \((?:\d+: |SSL: |<reason>).*| while .*|<end>.*|, (?:client|resolver).*| in <place>.*")


@cache
def of_format(text: str) -> Shape:
    """Return a format string's shape."""
    pieces = _LETTER.split(text.replace("%%", "\0"))
    made: list[str | None] = []
    for index, piece in enumerate(pieces):
        made.extend([*([ANY] if index else []), *piece.replace("\0", "%")])
    return tuple(made)


@cache
def of_words(text: str) -> tuple[Shape, ...]:
    """Return the shapes of a row's words: with and without what nginx adds to every message."""
    texts = dict.fromkeys((_ADDED.sub("", text), text))
    made = []
    for each in texts:
        pieces = PLACE.split(each)[::2]
        characters: list[str | None] = []
        for index, piece in enumerate(pieces):
            characters.extend([*([ANY] if index else []), *piece])
        made.append(tuple(characters))
    return tuple(made)


def begins(row: Shape, format_: Shape) -> bool:
    """Tell whether some message of a format begins with what a row expects.

    What is filled in may be fixed in the row ("%s in upstream" is its "host not found in upstream"), but not all of it:
    unless both begin alike, the row has the longest fixed part of the format.
    """
    leading, longest = _parts(format_)
    begin, text = _parts(row)[0], "".join(character or "\0" for character in row)
    alike = min(len(leading), len(begin))
    if leading[:alike] != begin[:alike] or (alike < _ENOUGH and longest not in text):
        return False
    reached = {0}  # places in the row, for the places of the format one after the other
    for character in (*format_, ""):
        reached = _over_any(row, reached)
        if len(row) in reached:
            return True
        if character is ANY:
            # It may be as long as it likes: every later place can be reached.
            reached = set(range(min(reached), len(row) + 1))
        else:
            reached = {
                place if row[place] is ANY else place + 1
                for place in reached
                if place < len(row) and (row[place] is ANY or row[place] == character)
            }
        if not reached:
            return False
    return False


@cache
def _parts(shape: Shape) -> tuple[str, str]:
    """Return what a shape begins with, and its longest fixed part."""
    pieces = "".join(character or "\0" for character in shape).split("\0")
    return pieces[0], max(pieces, key=len).strip()


def _over_any(row: Shape, reached: set[int]) -> set[int]:
    made = set(reached)
    for place in reached:
        while place < len(row) and row[place] is ANY:
            place += 1  # noqa: PLW2901 - a walk
            made.add(place)
    return made


def is_empty(message: Written) -> bool:
    """Tell whether a format says nothing by itself, such as "%s"."""
    return not re.search(r"\w\w", _LETTER.sub("", message.format))


def row_of(message: Written, rows: Iterable[Message]) -> Iterator[Message]:
    """Yield the rows that have a message of the source."""
    format_ = of_format(message.format)
    for row in rows:
        if any(begins(each, format_) for words in row.words for each in of_words(words.text)):
            yield row


def is_in(text: str, literals: Iterable[str]) -> bool:
    """Tell whether a source can write a row's words: one of its string literals begins so."""
    fixed = PLACE.split(text)[0]
    return any(
        (len(fixed) > 9 and literal == fixed.strip())
        or any(begins(each, of_format(literal)) for each in of_words(text))  # noqa: PLR2004 - long enough to be no chance
        for literal in literals
    )
