"""Finds the rows for text that a person pastes or remembers."""

import re
from difflib import get_close_matches
from typing import Final

from tuneproof.messages.patterns import PLACE, find_all, find_cut, find_cut_of_all, find_one, in_glibc_words
from tuneproof.messages.rows import LEVELS, Message, messages
from tuneproof.wording import plain_quotes

_MOST: Final = 5
# All before the message: other programs' prefixes, and nginx's time, level and ids.
_BEGINNING: Final = re.compile(rf"^.*?\[({LEVELS})\] (?:\d+#\d+: )?(?:\*\d+ )?", re.DOTALL)
# The kernel's prefix is its time.
_STAMP: Final = re.compile(r"^.*?\[ *\d+\.\d+\] ")
_WORD: Final = re.compile(r"[a-z0-9_]+")
_FEWEST_CHARACTERS: Final = 4
_TYPED: Final = re.compile(r"\b[A-Za-z_]{4,}\b")
# The similarity by difflib's measure: one wrong letter in four.
_ALIKE: Final = 0.75
_FEWEST_GROUPS: Final = 8
_SHARED: Final = 0.75
# A text of this length rarely matches by chance; many rows begin with shorter common words.
_ENOUGH_CHARACTERS: Final = 15


def find(text: str, *, in_any_order: bool = True) -> tuple[Message, ...]:
    """Return the rows for a message, the best one first; empty if no row matches.

    ``text``: a line of a log, a message, a part of one, or a row's id. ``in_any_order``: if no row contains the text,
    find those with all of its words.
    """
    wanted = _STAMP.sub("", plain_quotes(" ".join(text.split())))
    if (row := messages().get(wanted)) is not None:
        return (row,)
    match = _BEGINNING.match(wanted)
    level, message = (match[1], wanted[match.end() :]) if match is not None else ("", wanted)
    if (found := find_one(message, level) or find_cut(message, level)) is not None:
        return (found,)
    if rows := tuple(find_all(message)):
        return rows
    named = dict.fromkeys(
        row for part in (in_glibc_words(message), message) for row in _by_words(part, in_any_order=in_any_order)
    )
    return tuple(named) or tuple(find_cut_of_all(message, level)) or _by_beginning(message)


def corrected(text: str) -> str:
    """Return a text in which the closest words from messages replace words that no message contains."""
    known = {
        word.lower(): word for row in messages().values() for words in row.words for word in _TYPED.findall(words.text)
    }

    def closest(found: re.Match[str]) -> str:
        close = [] if found[0].lower() in known else get_close_matches(found[0].lower(), known, n=1, cutoff=_ALIKE)
        return known[close[0]] if close else found[0]

    return _TYPED.sub(closest, text)


def similar(text: str) -> tuple[Message, ...]:
    """Return up to five rows that share most groups of three characters with a text, the most similar one first.

    They must share at least eight, and three quarters of the groups of the shorter text; a wrong letter changes three.
    """
    wanted = _groups(text)
    scores: dict[str, float] = {}
    for row in messages().values():
        for words in row.words:
            own = _groups(_plain(words.text))
            common = len(wanted & own)
            if common >= _FEWEST_GROUPS and common >= _SHARED * min(len(wanted), len(own)):
                scores[row.id] = max(scores.get(row.id, 0.0), common / len(wanted | own))
    best = sorted(scores, key=lambda id_: -scores[id_])
    return tuple(messages()[id_] for id_ in best[:_MOST])


def _groups(text: str) -> set[str]:
    lower = " ".join(text.lower().split())
    return {lower[start : start + 3] for start in range(len(lower) - 2)}


def _by_beginning(text: str) -> tuple[Message, ...]:
    """Return the rows whose words, up to their first placeholder, are the beginning of a text."""
    begun = {
        row.id: row
        for row in messages().values()
        for words in row.words
        if len(begin := PLACE.split(words.text)[0]) >= _ENOUGH_CHARACTERS and text.startswith(begin)
    }
    return tuple(begun.values())


def _by_words(text: str, *, in_any_order: bool) -> tuple[Message, ...]:
    """Return the rows that contain a text; if there are none and words may be in any order, those with all of them."""
    wanted = text.lower()
    if len(wanted) < _FEWEST_CHARACTERS:
        return ()
    inside = [row for row in messages().values() if any(wanted in _plain(words.text) for words in row.words)]
    if not inside and in_any_order:
        needed = set(_WORD.findall(wanted))
        inside = [
            row
            for row in messages().values()
            if any(needed <= set(_WORD.findall(_plain(words.text))) for words in row.words)
        ]
    return tuple(inside)


def _plain(words: str) -> str:
    return PLACE.sub("", words).lower()
