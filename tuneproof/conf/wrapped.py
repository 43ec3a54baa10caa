"""Recognises files with a configuration inside other text, which would yield wrong directives if it were parsed."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from tuneproof.conf.file_text import lines_of
from tuneproof.errors import BadInputError
from tuneproof.nginx_lua import without_lua

_FENCE: Final = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_SCALAR: Final = re.compile(r"^ {1,12}[\w.-]{1,80}\.conf[\w.-]{0,40}:[ \t]*[|>][-+0-9]*[ \t]*$", re.MULTILINE)
_DIFF: Final = re.compile(r"^(?:diff --git |@@ -\d)", re.MULTILINE)
_PROMPT: Final = re.compile(
    r"(?:\[?[\w.-]+@[\w.-]+[^$#%>\n]{0,80}[$#%>]|[$%>]) ?(?:sudo )?(?:cat|less|more|head|tail|nginx|docker|kubectl)\b"
)
_PREFIX: Final = re.compile(r"[\w.-]+ +\| ")
_NUMBER: Final = re.compile(r"\s{0,12}(\d{1,6})[:|\s]")
_FEWEST_NUMBERED: Final = 3


def _is_numbered(lines: Sequence[str]) -> bool:
    """Tell whether lines are numbered. An included table may have numbers, too, but no line of it opens a block."""
    found = [_NUMBER.match(line) for line in lines]
    numbers = [int(one[1]) for one in found if one is not None]
    is_rising = all(later > earlier for earlier, later in pairwise(numbers))
    has_block = any("{" in line for line in lines)
    return len(numbers) == len(lines) >= _FEWEST_NUMBERED and is_rising and has_block


_WRAPPERS: Final[Sequence[tuple[Callable[[str, Sequence[str]], object], str, str]]] = (
    (lambda text, _: _SCALAR.search(text), "YAML", "audit the value of its .conf key, without the indentation"),
    (lambda text, _: _FENCE.search(text), "Markdown", "audit the lines between its fences"),
    (lambda text, _: _DIFF.search(text), "a patch", "audit the files that it changes"),
    (lambda _, lines: lines and all(line.startswith("+") for line in lines), "a patch", "remove each line's plus sign"),
    (
        lambda _, lines: lines and all(map(_PREFIX.match, lines)),
        "a log of Docker Compose",
        "docker compose exec SERVICE nginx -T prints it without prefixes",
    ),
    (
        lambda _, lines: lines and all(line.startswith("nginx: ") for line in lines),
        "nginx's messages",
        "correct the error that they name: nginx -T prints the files only after a successful test",
    ),
    (lambda _, lines: _is_numbered(lines), "text with line numbers", "print it without them"),
    (
        lambda _, lines: lines and _PROMPT.match(lines[0].strip()),
        "a terminal transcript",
        "remove the line with the command",
    ),
)


def refuse_wrapped(name: str, text: str) -> None:
    """Reject a file in which the configuration is inside other text.

    Raises BadInputError: It is such a file; the message names the kind.
    """
    code = without_lua(text)
    lines = [line for line in lines_of(code) if line.strip()]
    for is_so, what, remedy in _WRAPPERS:
        if is_so(code, lines):
            raise BadInputError(f"{what}, not a configuration", where=name, remedy=remedy)
