"""Parses a configuration file into statements with exact positions; reports errors in nginx's words.

Tokens are the same as in ngx_conf_read_token (src/core/ngx_conf_file.c), except that a byte order mark is left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tuneproof.conf.directives import argument_problem, rows_of, value_problem
from tuneproof.conf.templates import PLACEHOLDER, Filled, Values, fill, own_variables, upstream_names
from tuneproof.errors import BadInputError
from tuneproof.nginx_lua import without_lua

TABLES: Final = frozenset({"map", "geo", "types", "split_clients", "charset_map", "match"})
"""Blocks with lines that begin with values instead of directives."""
GUESSED: Final = "?"
"""The name that stands for the unknown block around a part of a configuration."""
# No configuration nests nearly as deeply, and the parser recurses for each block.
_DEEPEST: Final = 100
_MOST_PROBLEMS: Final = 20
# A file with this many errors, or this many words, is not a configuration.
_UNREADABLE_PROBLEMS: Final = 1000
_MOST_WORDS: Final = 1_000_000
# nginx reads into a buffer of NGX_CONF_BUFFER bytes, in which a word must end.
_LONGEST_WORD_BYTES: Final = 4095
_MOST_BYTES_OF_A_CHARACTER: Final = 4
_TOKEN: Final = re.compile(
    r"\A\ufeff|[ \t\r\n]+|\#[^\n]*"
    r'|"(?P<double>(?:[^"\\]++|\\.)*+)(?:"|\\?\Z)'
    r"|'(?P<single>(?:[^'\\]++|\\.)*+)(?:'|\\?\Z)"
    r"|(?P<end>[;{}])"
    r"|(?P<word>(?:[^\s;{\\$]++|\\.|\$\{[^}\s]*+\}?+|\$|\\\Z|[^\S \t\r\n])++)",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"""\\(["'\\trn])""")
_MEANT: Final = {"t": "\t", "r": "\r", "n": "\n"}
_TORN: Final = "unexpected end of file, expecting "
_NO_BLOCK: Final = ' is not terminated by ";"'


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An error in a file, in nginx's words."""

    file: str
    line: int
    message: str

    @property
    def is_syntax(self) -> bool:
        """Whether it is an error whatever modules nginx has."""
        return self.message.startswith("unexpected ")


@dataclass(frozen=True, kw_only=True)
class Span:
    """The place of a directive in its text."""

    start: int
    end: int  # after its semicolon, or after its opening brace
    closing: int | None = None  # its closing brace; None without a block


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One directive, as written in its file."""

    name: str
    args: tuple[str, ...]  # without quotes
    file: str
    line: int  # where it begins, from 1
    span: Span
    block: tuple["Statement", ...] | None = None  # the directives in its braces
    filled: tuple[Filled, ...] = ()  # a template's placeholders in its arguments, with their values

    @property
    def value(self) -> str:
        """Its first argument; empty without one."""
        return self.args[0] if self.args else ""


@dataclass(frozen=True, kw_only=True)
class ParsedFile:
    """The parsed parts of a file, and its errors."""

    statements: tuple[Statement, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, kw_only=True)
class _Token:
    text: str  # without quotes
    start: int
    end: int
    is_word: bool = True  # or one of ; { }


def parse_file(name: str, text: str, *, around: Sequence[str] = (), values: Values | None = None) -> ParsedFile:
    """Parse a file that is included in the blocks ``around``, the outermost first; broken parts are left out.

    ``values``: values of a template's placeholders (default: stand-ins).
    """
    parser = _Parser(name, text, values or Values())
    try:
        statements = parser.statements(tuple(around), depth=len(around))
    except _TooDeepError:
        problem = Problem(file=name, line=1, message=f"more than {_DEEPEST} nested blocks")
        return ParsedFile(statements=(), problems=(problem,))
    return ParsedFile(statements=statements, problems=tuple(parser.problems))


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "end":
            yield _Token(text=match[0], start=match.start(), end=match.end(), is_word=False)
        elif kind == "word":
            yield _Token(text=_meant(match[0]), start=match.start(), end=match.end())
        elif kind is not None:
            yield _Token(text=_meant(match[kind]), start=match.start(), end=match.end())


def _meant(written: str) -> str:
    return _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), written)


def context_name(path: Sequence[str]) -> str:
    """Return the name of a context in the table of directives; empty for an unknown one."""
    if not path:
        return "main"
    outermost, name = path[0], path[-1]
    if name == "if":
        return "if in location" if "location" in path else "if in server" if "server" in path else ""
    if name in {"server", "upstream"}:
        return {"http": name, "stream": f"stream {name}", "mail": f"mail {name}"}.get(outermost, "")
    return "" if name == GUESSED else name


def _contexts_of(path: tuple[str, ...]) -> Sequence[str]:
    """Return the possible contexts of a block: for a server or upstream of unknown protocol, those of all three."""
    if path[:1] == (GUESSED,) and path[-1] in {"server", "upstream"}:
        return [context_name((protocol, path[-1])) for protocol in ("http", "stream", "mail")]
    return [context_name(path)]


class _TooDeepError(Exception):
    pass


class _Parser:
    def __init__(self, name: str, text: str, values: Values) -> None:
        self._name = name
        self._values = values
        self._own = own_variables(text) if PLACEHOLDER.search(text) else None
        values.blocks.update(upstream_names(text))
        self._text = text
        self._tokens = self._within_limits(_tokens(without_lua(text)))
        self._counted = (0, 1)
        self._is_torn = self._is_too_long = False
        self.problems: list[Problem] = []

    def _within_limits(self, tokens: Iterable[_Token]) -> Iterator[_Token]:
        """Yield tokens within limits: long words are shortened, and tokens end after a thousand problems.

        Raises BadInputError: The file has over a million words.
        """
        for number, token in enumerate(tokens):
            if len(self.problems) >= _UNREADABLE_PROBLEMS:
                self._is_torn = True
                return
            if number == _MOST_WORDS:
                message = f"more than {_MOST_WORDS} words: no configuration is that long"
                raise BadInputError(message, where=f"{self._name}:{self._line(token.start)}")
            length = token.end - token.start
            if length * _MOST_BYTES_OF_A_CHARACTER > _LONGEST_WORD_BYTES and self._is_long(token):
                self._too_long(token)
                yield replace(token, text=token.text[:_LONGEST_WORD_BYTES])
            else:
                yield token

    def _is_long(self, token: _Token) -> bool:
        return len(self._text[token.start : token.end].encode(errors="replace")) > _LONGEST_WORD_BYTES

    def _too_long(self, token: _Token) -> None:
        """Report the first word that does not fit into nginx's buffer."""
        if self._is_too_long:
            return
        self._is_too_long = True
        first = self._text[token.start]
        is_quoted = first in {'"', "'"}
        started = f' "{self._text[token.start : token.start + 10]}..." started'
        missing = f', probably missing terminating "{first}" character'
        self._problem(token.start, f"too long parameter{missing if is_quoted else started}")

    def statements(self, context: tuple[str, ...], *, depth: int) -> tuple[Statement, ...]:
        found: list[Statement] = []
        while len(self.problems) < _MOST_PROBLEMS:
            closing = self._block(context, found, depth=depth)
            if closing is None:
                break
            self._problem(closing, 'unexpected "}"')
        return tuple(found)

    def _block(self, context: tuple[str, ...], found: list[Statement], *, depth: int) -> int | None:
        """Read up to the end of a block; return the position of its brace, or None at the end of the text."""
        if depth > _DEEPEST:
            raise _TooDeepError
        for token in self._tokens:
            if token.is_word:
                closing = self._directive(token, context, found, depth=depth)
                if closing is not None:
                    return closing
            elif token.text == "}":
                return token.start
            else:
                self._problem(token.start, f'unexpected "{token.text}"')
        return None

    def _directive(self, first: _Token, context: tuple[str, ...], found: list[Statement], *, depth: int) -> int | None:
        """Read a directive with its block; return the position of the brace that ends it without a semicolon."""
        line = self._line(first.start)
        args: list[str] = []
        last = first
        for last in self._tokens:
            if not last.is_word:
                break
            args.append(last.text)
        term = "" if last.is_word else last.text
        if not term:
            self._end_of_file('";" or "}"')
        is_in_table = bool(TABLES & set(context))
        if first.text == "if" and not is_in_table:
            args = self._condition(args, line)
        filled: tuple[Filled, ...] = ()
        if self._own is not None:
            pairs = [fill(first.text, word, self._values, self._own) for word in args]
            args, filled = [word for word, _ in pairs], tuple(one for _, found in pairs for one in found)
        if term == "}" or (term == "{" and is_in_table):
            self._problem(last.start, f'unexpected "{term}"')
        is_known = all(one.is_given for one in filled)
        problem = self._check(first.text, args, term, line, context, is_known=is_known) if term != "}" else ""
        block: list[Statement] = []
        closing = None
        if term == "{":
            closing = self._block((*context, first.text), block, depth=depth + 1)
            if closing is None:
                self._end_of_file('"}"')
        # A directive that takes no block is left out, with everything in its braces.
        if not (term == "{" and problem.endswith(_NO_BLOCK)):
            span = Span(start=first.start, end=last.start if term == "}" else last.end, closing=closing)
            found.append(
                Statement(
                    name=first.text,
                    args=tuple(args),
                    file=self._name,
                    line=line,
                    span=span,
                    block=tuple(block) if term == "{" else None,
                    filled=filled,
                )
            )
        return last.start if term == "}" else None

    def _check(
        self, name: str, args: list[str], term: str, line: int, context: tuple[str, ...], *, is_known: bool
    ) -> str:
        """Report the problem with a directive's arguments and return it; empty if there is none.

        is_known: whether the arguments are free of stand-ins for a template's placeholders.
        """
        # Other modules' blocks, such as rtmp{}, have directives with the same names.
        if TABLES & set(context) or not all(rows_of(block) for block in context if block != GUESSED):
            return ""
        if "}" in name:
            # The braces of a regular expression without quotes end the directive before them.
            self.problems.append(Problem(file=self._name, line=line, message=f'unknown directive "{name}"'))
            return ""
        messages = [
            argument_problem(name, args, has_block=term == "{", context=one, version=None)
            or (value_problem(name, args, context=one) if is_known else "")
            for one in _contexts_of(context)
        ]
        message = messages[0] if all(messages) else ""
        if message:
            self.problems.append(Problem(file=self._name, line=line, message=message))
        return message

    def _condition(self, words: list[str], line: int) -> list[str]:
        """Return the words of an ``if`` without its parentheses, which may be separate words; report a missing one."""
        if not words:
            return []
        wrong = words[0] if words[0][:1] != "(" else words[-1] if words[-1][-1:] != ")" else None
        if wrong is not None:
            self.problems.append(Problem(file=self._name, line=line, message=f'invalid condition "{wrong}"'))
        bare = [words[0].removeprefix("("), *words[1:]]
        bare[-1] = bare[-1].removesuffix(")")
        return bare[not bare[0] : len(bare) - (not bare[-1])]

    def _end_of_file(self, expected: str) -> None:
        """Report, once, that the text ends too early."""
        if not self._is_torn:
            self._is_torn = True
            self._problem(max(0, len(self._text) - self._text.endswith("\n")), f"{_TORN}{expected}")

    def _problem(self, offset: int, message: str) -> None:
        self.problems.append(Problem(file=self._name, line=self._line(offset), message=message))

    def _line(self, offset: int) -> int:
        """Return the line of an offset; offsets must be in order, so that each line feed is counted once."""
        since, line = self._counted
        self._counted = (offset, line + self._text.count("\n", since, offset))
        return self._counted[1]
