"""Turns the words of rows into patterns, and finds the row that matches a message."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Final

from tuneproof.messages.rows import Message, Problem, messages

PLACE: Final = re.compile(r"<([a-z]+\+?)>")
"""A placeholder in a row's words, such as <name> for any text; rows.py lists them."""
_FUNCTION: Final = "<function>"
_FUNCTIONS: Final = ("recv", "readv", "send", "sendto", "sendfile", "writev", "SSL_read", "SSL_write")
"""The functions with which nginx reads and writes connections on Linux; ``<function>`` is any of them."""
_ERRNO: Final = re.compile(r"\((\d+): ([^)<]+)\)")
_PLACES: Final = {
    "n": r"\d+",
    "number": r"-?\d+",
    "n+": r"[1-9]\d*",
    "program": r"[^\s\[]+",
    "end": r"(?=, |,?$)",
}
GLIBC_WORDS: Final = {
    "Out of memory": "Cannot allocate memory",
    "No file descriptors available": "Too many open files",
    "Filename too long": "File name too long",
    "Quota exceeded": "Disk quota exceeded",
    "Disc quota exceeded": "Disk quota exceeded",
    "Symbolic link loop": "Too many levels of symbolic links",
    "Address in use": "Address already in use",
    "Address not available": "Cannot assign requested address",
    "Can't assign requested address": "Cannot assign requested address",
    "Network unreachable": "Network is unreachable",
    "Message too large": "Message too long",
    "Connection aborted": "Software caused connection abort",
    "Socket not connected": "Transport endpoint is not connected",
    "Operation timed out": "Connection timed out",
    "Host is unreachable": "No route to host",
    "No connection could be made because the target machine actively refused it": "Connection refused",
    "A connection attempt failed because the connected party did not properly respond after a period of time, or "
    "established connection failed because connected host has failed to respond": "Connection timed out",
    "An existing connection was forcibly closed by the remote host": "Connection reset by peer",
    "An established connection was aborted by the software in your host machine": "Connection reset by peer",
    "Only one usage of each socket address (protocol/network address/port) is normally permitted": (
        "Address already in use"
    ),
    "The requested address is not valid in its context": "Cannot assign requested address",
    "A socket operation was attempted to an unreachable host": "No route to host",
    "A socket operation was attempted to an unreachable network": "Network is unreachable",
    "The system cannot find the file specified": "No such file or directory",
    "The system cannot find the path specified": "No such file or directory",
    "Access is denied": "Permission denied",
    "There is not enough space on the disk": "No space left on device",
}
"""The words of musl (Alpine's containers), the BSDs and Windows that differ from glibc's, which the rows use."""
_WINDOWS_CALLS: Final = {
    "CreateFile()": "open()",
    "GetFileAttributesEx()": "stat()",
    "CreateDirectory()": "mkdir()",
    "FindFirstFile()": "opendir()",
    "DeleteFile()": "unlink()",
    "MoveFile()": "rename()",
    "WriteFile()": "write()",
    "WSARecv()": "recv()",
    "WSASend()": "send()",
}
"""Functions that nginx calls on Windows, and their Unix counterparts (src/os/win32/ngx_files.h and ngx_wsarecv.c)."""
_WINDOWS_SOCKETS: Final = {
    "10035": "11",
    "10048": "98",
    "10049": "99",
    "10051": "101",
    "10053": "104",
    "10054": "104",
    "10055": "105",
    "10060": "110",
    "10061": "111",
    "10065": "113",
}
"""Linux's error numbers for those of Windows sockets: the words are English only in an English Windows."""
_WINDOWS_FILES: Final = {"3": "2", "5": "13", "39": "28", "112": "28"}
"""The same for files, whose small numbers mean other errors on Linux."""
_NUMBER: Final = re.compile(r"(?<=\()\d+(?=: )")
# Only after a number, or as the whole text; the kernel's own "Out of memory: ..." stays.
_OTHER_WORDS: Final = re.compile(
    rf"(?:(?<=\d: )|\A)(?:{'|'.join(map(re.escape, GLIBC_WORDS))})(?=\)|\Z)", re.IGNORECASE
)
_GLIBC_BY_LOWER: Final = {other.lower(): words for other, words in GLIBC_WORDS.items()}
# Older nginx writes brackets for OpenSSL's errors even if there is only an errno.
_NO_SSL_ERRORS: Final = "failed (SSL:) ("
# This many fixed characters rarely match by chance; with fewer, the level or the rest must confirm the match.
_FEWEST: Final = 15
_SERIOUS: Final = frozenset({"crit", "alert", "emerg"})
# The number of first characters that select the patterns to try.
_KEY: Final = 5


def pattern(words: str) -> str:
    """Return the words of a row as a regular expression that matches at the beginning of a message."""
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
                texts = "|".join(re.escape(each) for each in (text, *_others_for(text)))
                made.append(rf"\((?:{number}: [^)]*|\d+: (?:{texts}))\)")
    return "".join(made)


def _others_for(text: str) -> list[str]:
    return [other for other, words in GLIBC_WORDS.items() if words == text]


def in_glibc_words(text: str) -> str:
    """Return a text with glibc's words for error numbers instead of other libraries'."""
    return _OTHER_WORDS.sub(lambda found: _GLIBC_BY_LOWER[found[0].lower()], text)


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    message: Message
    pieces: tuple[str, ...]  # its fixed parts, without the placeholders between them
    pattern: str
    fixed: int  # how many characters of the wording are fixed: of several matches, the most specific one decides
    piece: str  # its longest fixed part
    begun: str  # the beginning of its first fixed part; a message that was cut inside it is not found

    @cached_property
    def fits(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def is_at(self, level: str) -> bool:
        """Tell whether it can match at a level; without one, short wordings such as "in FILE:LINE" cannot."""
        return level in self.message.levels or not self.message.levels or (not level and self.fixed >= _FEWEST)


@dataclass(frozen=True, kw_only=True)
class _Together:
    """Wordings with the same first characters as one pattern: one search instead of many."""

    candidates: tuple[_Candidate, ...]  # the most specific first
    fits: re.Pattern[str]

    def first(self, text: str) -> _Candidate | None:
        match = self.fits.match(text)
        return self.candidates[(match.lastindex or 0) - 1] if match is not None else None


def _with_functions(words: str) -> tuple[str, ...]:
    return tuple(words.replace(_FUNCTION, name) for name in _FUNCTIONS) if _FUNCTION in words else (words,)


@cache
def _by_start() -> Mapping[str, tuple[_Candidate, ...]]:
    """Return the wordings by their first characters; those with an early placeholder are under ""."""
    made: dict[str, list[_Candidate]] = defaultdict(list)
    for message in messages().values():
        for text in (each for words in message.words for each in _with_functions(words.text)):
            pieces = tuple(PLACE.split(text)[::2])
            start = pieces[0][:_KEY]
            candidate = _Candidate(
                message=message,
                pieces=pieces,
                pattern=pattern(text),
                fixed=sum(map(len, pieces)),
                piece=max((fixed for piece in pieces for fixed in _ERRNO.split(piece)[::3]), key=len),
                begun=next(filter(None, pieces))[:_FEWEST],
            )
            made[start if len(start) == _KEY else ""].append(candidate)
    return {start: tuple(sorted(own, key=lambda each: -each.fixed)) for start, own in made.items()}


@cache
def _together(start: str, level: str) -> _Together | None:
    own = tuple(each for each in _by_start().get(start, ()) if each.is_at(level)) if start else ()
    if not own:
        return None
    return _Together(candidates=own, fits=re.compile("|".join(f"({each.pattern})" for each in own)))


@cache
def _others(level: str) -> tuple[_Candidate, ...]:
    return tuple(each for each in _by_start()[""] if each.is_at(level))


def _decides(text: str, level: str) -> Message | None:
    own = _together(text[:_KEY], level)
    best = own.first(text) if own is not None else None
    for other in _others(level):
        if best is not None and other.fixed <= best.fixed:
            break
        if other.piece in text and other.fits.match(text):
            best = other
            break
    return best.message if best is not None else None


@lru_cache(maxsize=64)  # a message is looked up when it begins, when it may go on, and when it is counted
def find_one(text: str, level: str = "") -> Message | None:
    """Return the row of a message; None if no row matches.

    If no row of this level matches, another one may, since a module may log at another level; not for debug messages.

    ``text``: the message from its first word on, without time, level and process.
    ``level``: the level at which it was logged; empty if unknown.
    """
    text = text.replace(_NO_SSL_ERRORS, "failed (", 1)
    call = text.partition(" ")[0]
    numbers = _WINDOWS_SOCKETS
    if (other := _WINDOWS_CALLS.get(call)) is not None:
        if (own := _decides(text, level)) is not None:
            return own
        text = other + text[len(call) :]
        numbers = _WINDOWS_SOCKETS if call.startswith("WSA") else _WINDOWS_FILES
    elif "(100" not in text:
        numbers = {}
    if numbers:
        text = _NUMBER.sub(lambda found: numbers.get(found[0], found[0]), text, count=1)
    # Lines of a debug log may begin with the words of messages at other levels.
    if (own := _decides(text, level)) is not None or level in {"", "debug"}:
        return own
    elsewhere = _decides(text, "")
    is_wrong = elsewhere is not None and (_is_belittled(elsewhere, level) or _is_of_start(elsewhere, text))
    return None if is_wrong else elsewhere


def _is_of_start(row: Message, text: str) -> bool:
    """Tell whether a row is about a failed start of nginx, although the message is about a client."""
    return row.levels == ("emerg",) and ", client: " in text


def _is_belittled(row: Message, level: str) -> bool:
    """Tell whether a row calls a message harmless, although nginx logged it at a much more serious level."""
    return (
        row.problem is Problem.NO
        and bool(row.levels)
        and level in _SERIOUS
        and not any(each in _SERIOUS for each in row.levels)
    )


def words_again(row: Message, text: str) -> str:
    """Return the row's words in a message if another line about the same event is counted; empty otherwise."""
    return next((words for words, fits in _again(row.id) if fits.match(text) is not None), "")


@cache
def _again(row: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((words.text, re.compile(pattern(words.text))) for words in messages()[row].words if words.again)


def find_all(text: str) -> Iterator[Message]:
    """Yield the rows that match a message, the most specific one first."""
    begun = (*_by_start().get(text[:_KEY], ()), *_by_start()[""])
    # A text that begins with a few fixed letters may be another message: "exit", and "exited on signal 9".
    fitting = [each for each in begun if (each.fits.match if each.fixed >= _FEWEST else each.fits.fullmatch)(text)]
    yield from dict.fromkeys(each.message for each in sorted(fitting, key=lambda each: -each.fixed))


_CUT: Final = ("...", "\u2026", ">")
"""How journalctl, systemctl and people mark where a line is cut."""
_WHOLE: Final = re.compile(r"\w+\(\)(?: to \S+)? failed \(\d+: [^()]+\)\Z")
"""A failed system call without context: a whole message of several modules, such as Tengine's health checks."""


def find_cut(text: str, level: str = "") -> Message | None:
    """Return the row of a message that was cut, or wrapped when pasted.

    None if several rows begin with it, or if it may be a whole message.
    """
    if _WHOLE.match(text) is not None:
        return None
    found = find_cut_of_all(text, level)
    return found[0] if len(found) == 1 else None


def find_cut_of_all(text: str, level: str = "") -> list[Message]:
    """Return the rows that begin with a message that was cut and have most fixed characters in it."""
    beginning = in_glibc_words(text)
    for mark in _CUT:
        beginning = beginning.removesuffix(mark).rstrip()
    if len(beginning) < _FEWEST:
        return []
    starts = _by_start()
    reached: dict[Message, int] = {}
    for each in (*starts.get(beginning[:_KEY], ()), *starts[""]):
        # Few wordings have their first fixed characters in the text: this cheap search rules out most.
        if each.begun in beginning and each.is_at(level) and (fixed := _fixed_of(each.pieces, beginning)) is not None:
            reached[each.message] = max(fixed, reached.get(each.message, 0))
    best = max(reached.values(), default=0)
    return [message for message, fixed in reached.items() if fixed == best and best >= _FEWEST]


def _fixed_of(pieces: Sequence[str], beginning: str) -> int | None:
    """Return how many fixed characters of a wording a cut text contains; None if the two differ."""
    place = fixed = 0
    for index, piece in enumerate(pieces):
        if place >= len(beginning):
            break
        at = beginning.find(piece, place) if index else (0 if beginning.startswith(piece) else -1)
        if at >= 0:
            place, fixed = at + len(piece), fixed + len(piece)
            continue
        # The cut may be inside this piece; the placeholder reaches up to it.
        for start in range(max(place, len(beginning) - len(piece)), len(beginning)) if index else (0,):
            if piece.startswith(beginning[start:]):
                return fixed + len(beginning) - start
        return None
    return fixed if place >= len(beginning) else None
