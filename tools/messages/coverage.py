"""Finds the rows that cover the messages in nginx's source, and messages without a row."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Final

from tools.messages.source import JUDGED, SERIOUS, VARIES, Written
from tuneproof.messages.patterns import PLACE
from tuneproof.messages.rows import Message, messages

ANY: Final = None
"""A placeholder in a shape: any characters, or none. Other characters are literal."""
_ENOUGH: Final = 10  # a match of this many characters is not a coincidence
Shape = tuple[str | None, ...]
_LETTER: Final = re.compile(r"%\*?[\d.]*[uixXmz]*[a-zA-Z]|<any>")
# What nginx may append to a format: errno's or OpenSSL's words, what it is doing, the client or the resolver, a place.
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
    """Return the shapes of a row's words, with and without what nginx appends to messages."""
    texts = dict.fromkeys((_ADDED.sub("", text), text))
    made = []
    for each in texts:
        pieces = PLACE.split(each)[::2]
        characters: list[str | None] = []
        for index, piece in enumerate(pieces):
            characters.extend([*([ANY] if index else []), *piece])
        made.append(tuple(characters))
    return tuple(made)


def begins(row: Shape, format_: Shape, *, strict: bool = False) -> bool:
    """Return whether a format can produce a message that begins with a row's words.

    The row may have fixed words for a placeholder ("host not found in upstream" for "%s in upstream"), but not for the
    whole format: unless both begin with the same ten characters, one must contain the longest fixed part of the other.
    ``strict``: fixed words for placeholders are not allowed, unless the format begins with one or ends in its only one.
    """
    leading, longest = _parts(format_)
    begin, own = _parts(row)
    alike = min(len(leading), len(begin))
    if leading[:alike] != begin[:alike]:
        return False
    if alike < _ENOUGH and longest not in _text(row) and own not in _text(format_):
        return False
    if strict and len(leading) >= _ENOUGH and begin.startswith(leading) and format_[len(leading) :] == (ANY,):
        return True
    reached = {0}  # the positions in the row that the format can reach so far
    for character in (*format_, ""):
        reached = _over_any(row, reached)
        if len(row) in reached:
            return True
        if character is ANY and strict and format_[0] is not ANY:
            continue
        if character is ANY:
            # It may have any length, so every later position can be reached.
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


def _text(shape: Shape) -> str:
    return "".join(character or "\0" for character in shape)


@cache
def _parts(shape: Shape) -> tuple[str, str]:
    """Return the beginning of a shape, and its longest fixed part."""
    pieces = _text(shape).split("\0")
    return pieces[0], max(pieces, key=len).strip()


def _over_any(row: Shape, reached: set[int]) -> set[int]:
    made = set(reached)
    for place in reached:
        while place < len(row) and row[place] is ANY:
            place += 1  # noqa: PLW2901 - walks along the shape
            made.add(place)
    return made


def is_empty(message: Written) -> bool:
    """Return whether a format has no words of its own, such as "%s"."""
    return not re.search(r"\w\w", _LETTER.sub("", message.format))


def row_of(message: Written, rows: Iterable[Message]) -> Iterator[Message]:
    """Yield the rows that cover a message in the source."""
    format_ = of_format(message.format)
    for row in rows:
        if any(begins(each, format_, strict=True) for words in row.words for each in of_words(words.text)):
            yield row


def is_in(text: str, formats: Iterable[str]) -> bool:
    """Return whether a source can log a row's words: a format produces them, or a literal is their fixed beginning."""
    fixed = PLACE.split(text)[0].strip()
    rows = of_words(text)
    return any(
        (len(fixed) >= _ENOUGH and each == fixed) or any(begins(row, of_format(each)) for row in rows)
        for each in formats
    )


def missing(known: Iterable[Written]) -> Iterator[Written]:
    """Yield the messages of JUDGED sources that may be serious and have neither a row nor a reason in unmet.toml."""
    rows = list(messages().values())
    for message in known:
        if message.level not in {*SERIOUS, VARIES} or not message.file.startswith(JUDGED) or is_empty(message):
            continue
        # Messages with a place end with a file and a line of the configuration. The row about its syntax covers those
        # that have no row of their own.
        if message.has_place or reason_of(message):
            continue
        if next(row_of(message, rows), None) is None:
            yield message


@cache
def _unmet() -> tuple[tuple[str, re.Pattern[str], str], ...]:
    text = Path(__file__).with_name("unmet.toml").read_text(encoding="utf-8")
    return tuple(
        (file, re.compile(words, re.DOTALL), group["reason"])
        for group in tomllib.loads(text)["group"]
        for file in group["files"]
        for words in group["words"]
    )


def reason_of(message: Written) -> str:
    """Return why operators do not see a message, or why it does not need a row; empty if no reason is listed."""
    return next(
        (reason for file, words, reason in _unmet() if fnmatch(message.file, file) and words.fullmatch(message.format)),
        "",
    )
