"""The words of rows as patterns, and which row a message is."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from tuneproof.messages.rows import Message, messages

PLACE: Final = re.compile(r"<([a-z]+\+?)>")
"""What stands for anything in a row's words."""
_ERRNO: Final = re.compile(r"\((\d+): ([^)<]+)\)")
_PLACES: Final = {"n": r"\d+", "number": r"-?\d+", "n+": r"[1-9]\d*", "end": r"(?=, |$)"}
# What other C libraries say for an error number of Linux: musl, as in Alpine's containers, and the BSDs.
_OTHER_WORDS: Final = {
    "11": ("Resource temporarily unavailable",),
    "12": ("Out of memory",),
    "24": ("No file descriptors available",),
    "32": ("Broken pipe",),
    "40": ("Symbolic link loop",),
    "98": ("Address in use",),
    "99": ("Address not available", "Can't assign requested address"),
    "101": ("Network unreachable",),
    "110": ("Operation timed out",),
    "113": ("Host is unreachable",),
}
# So many characters choose the patterns that can match.
_KEY: Final = 5


def pattern(words: str) -> str:
    """Return the words of a row as a regular expression that matches from a message's beginning."""
    made = []
    for index, piece in enumerate(PLACE.split(words)):
        if index % 2:
            made.append(_PLACES.get(piece, r".*?"))
            continue
        errnos = _ERRNO.split(piece)
        for place in range(0, len(errnos), 3):
            made.append(re.escape(errnos[place]))
            if place + 1 < len(errnos):
                number, text = errnos[place + 1], errnos[place + 2]
                texts = "|".join(re.escape(each) for each in (text, *_OTHER_WORDS.get(number, ())))
                made.append(rf"\((?:{number}: [^)]*|\d+: (?:{texts}))\)")
    return "".join(made)


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    message: Message
    fixed: int  # how many characters of the wording are fixed: of several that fit, the most specific one decides
    fits: re.Pattern[str]

    def matches(self, text: str, level: str) -> bool:
        return (not level or not self.message.levels or level in self.message.levels) and bool(self.fits.match(text))


@cache
def _candidates() -> Mapping[str, list[_Candidate]]:
    """Return the patterns by their first characters, and those that begin with anything; the most specific first."""
    by_start: dict[str, list[_Candidate]] = defaultdict(list)
    others = []
    for message in messages().values():
        for words in message.words:
            fixed = len(PLACE.sub("", words.text))
            candidate = _Candidate(message=message, fixed=fixed, fits=re.compile(pattern(words.text)))
            start = PLACE.split(words.text)[0][:_KEY]
            (by_start[start] if len(start) == _KEY else others).append(candidate)
    by_start[""] = []
    # What begins with anything is tried with all of them.
    return {start: sorted([*own, *others], key=lambda each: -each.fixed) for start, own in by_start.items()}


def find_all(text: str, level: str = "") -> Iterator[Message]:
    """Yield the rows that a message is in the words of, the most specific one first.

    ``text``: the message, from its first word: without time, level and process.
    ``level``: the level at which it was logged; empty where that is not known.
    """
    by_start = _candidates()
    seen = set()
    for candidate in by_start.get(text[:_KEY], by_start[""]):
        if candidate.message.id not in seen and candidate.matches(text, level):
            seen.add(candidate.message.id)
            yield candidate.message


def find_one(text: str, level: str = "") -> Message | None:
    """Return the row of a message, from its first word; None where no row has it.

    A row that is known at this level goes before one that is not: a module may log at another.
    """
    return next(find_all(text, level), None) or (next(find_all(text), None) if level else None)


_CUT: Final = ("...", "\u2026", ">")
"""What journalctl, systemctl and people put at the end of a line that they have cut."""
_FEWEST: Final = 15


def find_cut(text: str, level: str = "") -> Message | None:
    """Return the row of a message that was cut; None where it was not, or where several rows begin so."""
    for mark in _CUT:
        if text.endswith(mark):
            beginning = text.removesuffix(mark).rstrip()
            break
    else:
        return None
    if len(beginning) < _FEWEST:
        return None
    by_start = _candidates()
    found = {
        candidate.message.id: candidate.message
        for candidate in by_start.get(beginning[:_KEY], by_start[""])
        if (not level or not candidate.message.levels or level in candidate.message.levels)
        and candidate.message.words
        and any(_begins(words.text, beginning) for words in candidate.message.words)
    }
    return next(iter(found.values())) if len(found) == 1 else None


def _begins(words: str, beginning: str) -> bool:
    """Tell whether a wording may go on after a beginning: as far as its fixed characters reach."""
    pieces = PLACE.split(words)
    place = 0
    for index, piece in enumerate(pieces):
        if index % 2:
            continue
        if not index:
            if not beginning.startswith(piece[: len(beginning)]):
                return False
            place = len(piece)
            continue
        if place >= len(beginning):
            return True
        at = beginning.find(piece, place)
        if at < 0:
            # The rest of what is filled in, or the cut goes through this piece.
            return any(piece.startswith(beginning[start:]) for start in range(place, len(beginning))) or not piece
        place = at + len(piece)
    return place >= len(beginning)
