"""Reads C in nginx's style: functions begin and end in the first column, and initialisers are lists in braces."""

import re
from collections.abc import Iterator
from typing import Final

_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_PREPROCESSOR: Final = re.compile(r"^[ \t]*#[ \t]*(?!define)\w+.*(?:\\\n.*)*$", re.MULTILINE)
_FUNCTION: Final = re.compile(r"^(ngx_\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_DEFINE: Final = re.compile(r"^#[ \t]*define[ \t]+([A-Z]\w+)[ \t]+((?:.*\\\n)*.*)$", re.MULTILINE)
_OPENING: Final = "({["
_CLOSING: Final = ")}]"


def without_comments(text: str) -> str:
    """Return C text without comments and preprocessor lines other than #define; all branches of an #if stay."""
    return _PREPROCESSOR.sub("", _COMMENT.sub(" ", text))


def functions(text: str) -> dict[str, str]:
    """Return the bodies of functions by name."""
    return {match[1]: match[2] for match in _FUNCTION.finditer(text)}


def defines(text: str) -> dict[str, str]:
    """Return macros without arguments; of two definitions, the first."""
    found: dict[str, str] = {}
    for match in _DEFINE.finditer(text):
        found.setdefault(match[1], " ".join(match[2].replace("\\\n", " ").split()))
    return found


def items(text: str, start: int) -> list[str]:
    """Return the items between commas inside brackets; ``start`` is the offset of the opening bracket."""
    found, depth, since, offset = [], 0, start + 1, start
    while offset < len(text):
        letter = text[offset]
        if letter == '"':
            offset = _end_of_string(text, offset)
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
            if depth == 0:
                found.append(text[since:offset])
                break
        elif letter == "," and depth == 1:
            found.append(text[since:offset])
            since = offset + 1
        offset += 1
    return [item for one in found if (item := " ".join(one.split()))]


def _end_of_string(text: str, start: int) -> int:
    offset = start + 1
    while text[offset] != '"':
        offset += 2 if text[offset] == "\\" else 1
    return offset


def calls(text: str, name: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    """Yield the calls to functions with a matching name, and their arguments."""
    for match in re.finditer(rf"\b{name}\(", text):
        yield match, items(text, match.end() - 1)


def arrays(text: str, kind: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each initialised variable of a type, and its items."""
    for match in re.finditer(rf"\b{kind}\s+(\w+)(?:\[\w*\])?\s*=\s*\{{", text):
        yield match[1], items(text, match.end() - 1)
