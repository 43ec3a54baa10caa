"""One file of a configuration as statements, by crossplane, with nginx's kind of message for what is wrong in it."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import crossplane
from crossplane.errors import NgxParserBaseException

from tuneproof.audit.file_text import lines_of
from tuneproof.audit.layout import spans
from tuneproof.audit.lua import without_lua

# crossplane's table of arguments is older than these: since nginx 1.29.7 keepalive takes "local" as well.
_NEWER_SYNTAX: Final = ("keepalive",)
_ARGUMENTS: Final = re.compile(r'^invalid number of arguments in "(\w+)"')
_MAX_REPAIRS: Final = 20
# No configuration comes near it, and parsers call themselves for each block.
_DEEPEST: Final = 100
_BRACE: Final = re.compile(r"[{}]")
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")
# The one directive that is a block in one place and none in another.
_OF_UPSTREAM: Final = {'directive "server" has no opening "{"': 'directive "server" is not terminated by ";"'}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is wrong in a file.

    Attributes:
        file: The file.
        line: The line, from 1.
        message: As nginx would say it.
    """

    file: str
    line: int
    message: str


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One directive, as it stands in its file.

    Attributes:
        name: Its name.
        args: Its arguments, without quotes.
        file: The file.
        line: The line that it begins in, from 1.
        block: What is between its braces; None for a directive without.
    """

    name: str
    args: tuple[str, ...]
    file: str
    line: int
    block: tuple["Statement", ...] | None = None

    @property
    def value(self) -> str:
        """Its first argument; the empty string without one."""
        return self.args[0] if self.args else ""


@dataclass(frozen=True, kw_only=True)
class ParsedFile:
    """What could be read of a file, and what could not."""

    statements: tuple[Statement, ...]
    problems: tuple[Problem, ...]


def parse_file(name: str, text: str, *, around: Sequence[str] = ()) -> ParsedFile:
    """Parse one file.

    Args:
        name: The file, for messages.
        text: Its text.
        around: The blocks that it is included in, outermost first, such as ("http", "server").
    """
    if _depth(text) > _DEEPEST:
        return ParsedFile(
            statements=(), problems=(Problem(file=name, line=1, message=f"more than {_DEEPEST} nested blocks"),)
        )
    # A carriage return by itself is white space to nginx, and the end of a line to crossplane.
    balanced, lax, problems = _balanced(name, _LONE_RETURN.sub(" ", without_lua(text)))
    # On the same line, so that no line gets another number.
    opened = "".join(f"{block} {{ " for block in _as_blocks(around))
    strict = _crossplane(f"{opened}{balanced}\n{'}' * len(around)}", check_args=True)
    found = [problem for error in strict["errors"] if (problem := _problem(name, error)) is not None]
    # Wrong numbers of arguments leave the blocks as they are: what is wrong may still be read.
    torn = any('";"' in problem.message or '"{"' in problem.message for problem in found)
    inner: list[dict[str, Any]] = (strict if torn else lax)["config"][0]["parsed"]
    for _ in around if torn else ():
        inner = inner[0]["block"] if inner else []
    return ParsedFile(statements=tuple(_statements(name, inner)), problems=(*problems, *found))


def _depth(text: str) -> int:
    """Return how deep braces are nested, those in strings among them."""
    deepest = depth = 0
    for brace in _BRACE.findall(text):
        depth = max(0, depth + (1 if brace == "{" else -1))
        deepest = max(deepest, depth)
    return deepest


def _as_blocks(around: Sequence[str]) -> Iterator[str]:
    for block in around:
        yield f"{block} {_ARGUMENT_OF[block]}" if block in _ARGUMENT_OF else block


_ARGUMENT_OF: Final = {"location": "/", "upstream": "around", "if": "($a)", "map": "$a $b", "limit_except": "GET"}


def _balanced(name: str, text: str) -> tuple[str, dict[str, Any], list[Problem]]:
    """Return a text whose braces match, what crossplane says of it, and what had to be mended for that."""
    problems: list[Problem] = []
    for _ in range(_MAX_REPAIRS):
        payload = _crossplane(text, check_args=False)
        errors = payload["errors"]
        if not errors:
            return text, payload, problems
        error = errors[0]["callback"]
        reason = error.strerror if isinstance(error, NgxParserBaseException) else ""
        line = error.lineno if isinstance(error, NgxParserBaseException) and error.lineno else _last_line(text)
        if reason == 'unexpected "}"':
            problems.append(Problem(file=name, line=line, message=reason))
            text = _without_brace(text, line)
        else:
            wanted = 'unexpected end of file, expecting ";" or "}"'
            problems.append(Problem(file=name, line=_last_line(text), message=wanted))
            text = _closed(text)
    return "", _crossplane("", check_args=False), problems


def _closed(text: str) -> str:
    """Return a text that ends too early, with what it lacks; nothing where that cannot be told."""
    open_blocks = sum(text[span.end - 1 : span.end] == "{" and span.closing is None for span in spans(text))
    for ending in ("", ";", '";', "';"):
        # What looks like a brace may be in a string that nobody closed.
        for braces in (open_blocks, max(0, open_blocks - 1), open_blocks + 1):
            candidate = f"{text}\n{ending}{'}' * braces}"
            if not _crossplane(candidate, check_args=False)["errors"]:
                return candidate
    return ""


def _without_brace(text: str, line: int) -> str:
    """Return a text without the last closing brace of a line; nothing where there is none."""
    lines = lines_of(text)
    at = lines[line - 1].rfind("}") if line <= len(lines) else -1
    if at < 0:
        return ""
    lines[line - 1] = f"{lines[line - 1][:at]} {lines[line - 1][at + 1 :]}"
    return "".join(lines)


def _last_line(text: str) -> int:
    return max(1, len(lines_of(text)))


def _crossplane(text: str, *, check_args: bool) -> dict[str, Any]:
    """Let crossplane parse a text; it reads files only, by name."""
    with tempfile.NamedTemporaryFile(prefix="tuneproof-", suffix=".conf") as file:
        file.write(text.encode("utf-8", "replace"))
        file.flush()
        payload: dict[str, Any] = crossplane.parse(
            file.name, single=True, check_ctx=False, check_args=check_args, onerror=lambda error: error
        )
        return payload


def _problem(name: str, error: dict[str, Any]) -> Problem | None:
    cause = error["callback"]
    if not isinstance(cause, NgxParserBaseException):
        return Problem(file=name, line=error["line"] or 1, message='unexpected end of file, expecting ";" or "}"')
    wrong = _ARGUMENTS.match(cause.strerror)
    if wrong and wrong.group(1) in _NEWER_SYNTAX:
        return None
    return Problem(file=name, line=cause.lineno or 1, message=_OF_UPSTREAM.get(cause.strerror, cause.strerror))


def _statements(name: str, parsed: Sequence[dict[str, Any]]) -> Iterator[Statement]:
    for item in parsed:
        block = item.get("block")
        yield Statement(
            name=item["directive"],
            args=tuple(item["args"]),
            file=name,
            line=item["line"],
            block=None if block is None else tuple(_statements(name, block)),
        )
