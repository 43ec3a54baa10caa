"""The messages for the error log in nginx's source: the format strings in its calls, with the level and the file.

It parses only a part of C: string literals in a call's arguments, and macros of the form ``ngx_..._n``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOMS: Final = ("http", "event", "core", "os", "stream", "mail")
"""The folders in src/ that are searched."""
JUDGED: Final = ("http/", "event/")
"""Each message in these that may be serious must have a row or a reason."""
SERIOUS: Final = ("emerg", "alert", "crit", "error")
"""Levels that are logged by default."""
_CALL: Final = re.compile(
    r"\b(ngx_log_error|ngx_conf_log_error|ngx_log_stderr|ngx_log_abort|ngx_ssl_error|ngx_connection_error|"
    r"ngx_ssl_connection_error|ngx_slab_error|ngx_quic_log_error)\s*\("
)
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_MACRO: Final = re.compile(r"^#define\s+(ngx_\w+_n)\s+(?:\\\n\s*)?\"((?:\\.|[^\"\\])*)\"", re.MULTILINE)
_PIECE: Final = re.compile(r"\"((?:\\.|[^\"\\])*)\"|\b(ngx_\w+_n)\b")
_RUN: Final = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*')
_FILLED: Final = re.compile(r"%\*?[\d.]*[uixXmz]*[a-zA-Z]")
_LEVEL: Final = re.compile(r"NGX_LOG_(\w+)")
_LEVELS: Final = {"ERR": "error"}
VARIES: Final = "varies"
"""The level of messages for which errno or the configuration decides at run time."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """One message that the source can log."""

    file: str  # its path in src/
    level: str  # nginx's word for the level, or VARIES
    format: str  # as in printf, with nginx's own letters
    has_place: bool = False  # whether a file and a line of the configuration follow


def written(source: Path) -> Iterator[Written]:
    """Yield the messages in a source tree, in the order of the files.

    ``source``: the folder that has ``src``.
    """
    paths = sorted(path for room in ROOMS for path in (source / "src" / room).rglob("*.c"))
    # Windows has other words for the same messages.
    headers = sorted(path for path in (source / "src").rglob("*.h") if "win32" not in path.parts)
    macros: dict[str, list[str]] = {}
    for path in headers:
        for name, text in _MACRO.findall(path.read_text(encoding="utf-8", errors="replace")):
            macros.setdefault(name, []).append(text)
    seen = set()
    for path in paths:
        text = _COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace"))
        file = str(path.relative_to(source / "src"))
        for call in _CALL.finditer(text):
            arguments = _arguments(text, call.end())
            for format_ in _formats(arguments, macros):
                message = Written(
                    file=file,
                    level=_level(call[1], arguments[0]),
                    format=format_,
                    has_place=call[1] == "ngx_conf_log_error",
                )
                if message not in seen:
                    seen.add(message)
                    yield message


def literals(source: Path) -> frozenset[str]:
    """Return every string literal with letters in a source tree, since some messages are composed of literals."""
    found = set()
    for room in ROOMS:
        for path in (source / "src" / room).rglob("*.[ch]"):
            text = _COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace"))
            for run in _RUN.findall(text):
                whole = "".join(piece for piece, _ in _PIECE.findall(run))
                if re.search(r"[A-Za-z]{2}", _FILLED.sub("", whole)):
                    found.add(whole.replace('\\"', '"').replace("\\\\", "\\"))
    return frozenset(found)


def _arguments(text: str, start: int) -> list[str]:
    """Return a call's arguments; its bracket opens just before ``start``."""
    depth, begin, place, made = 1, start, start, []
    while depth:
        character = text[place]
        if character == '"':
            place = text.index('"', place + 1)
            while text[place - 1] == "\\" and text[place - 2] != "\\":
                place = text.index('"', place + 1)
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if not depth or (character == "," and depth == 1):
            made.append(text[begin:place].strip())
            begin = place + 1
        place += 1
    return made


def _formats(arguments: list[str], macros: dict[str, list[str]]) -> Iterator[str]:
    """Yield the format strings in a call: several if the code chooses one, none if it passes a variable."""
    for argument in arguments[1:]:
        if not re.match(r'"|ngx_\w+_n\b|\w+ \? "', argument):
            continue
        choices = argument.split("?", 1)[1].split(":") if re.match(r"\w+ \?", argument) else [argument]
        for choice in choices:
            made = [""]
            for literal, macro in _PIECE.findall(choice):
                pieces = macros.get(macro, ["<any>"]) if macro else [literal]
                made = [before + piece for before in made for piece in dict.fromkeys(pieces)]
            yield from (each.replace('\\"', '"').replace("\\\\", "\\") for each in made)
        return


def _level(function: str, first: str) -> str:
    if (level := _LEVEL.fullmatch(first)) is not None:
        return _LEVELS.get(level[1], level[1].lower())
    return "emerg" if function in {"ngx_log_stderr", "ngx_log_abort"} else VARIES
