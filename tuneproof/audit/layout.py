"""Where each directive stands in its file, to the character: what a patch needs, and crossplane does not tell."""

from dataclasses import dataclass
from functools import lru_cache

from tuneproof.audit.lua import without_lua


@dataclass(frozen=True, kw_only=True)
class Span:
    """Where a directive stands.

    Attributes:
        name: Its name, as written.
        line: The line that it begins in, from 1.
        start: Offset of its first character.
        end: Offset behind its semicolon, or behind its opening brace.
        closing: Offset of its closing brace; None for a directive without a block.
    """

    name: str
    line: int
    start: int
    end: int
    closing: int | None


@lru_cache(maxsize=128)
def spans(text: str) -> tuple[Span, ...]:
    """Return where the directives of a well-formed file stand, in their order."""
    scanner = _Scanner(without_lua(text))
    scanner.scan()
    return tuple(sorted(scanner.found, key=lambda span: span.start))


class _Scanner:
    """Reads as nginx does: src/core/ngx_conf_file.c, ngx_conf_read_token."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._counted = (0, 1)
        self.found: list[Span] = []

    def scan(self) -> int | None:
        """Read directives up to the end of their block; return where its brace stands, None at the text's end."""
        text = self._text
        while (start := self._next_token()) is not None:
            if text[start] == "}":
                self._at = start + 1
                return start
            self._at = start
            name = self._word()
            line = self._line(start)
            place = len(self.found)
            end = self._end_of_directive()
            closing = self.scan() if text[end - 1 : end] == "{" else None
            self.found.insert(place, Span(name=name, line=line, start=start, end=end, closing=closing))
        return None

    def _end_of_directive(self) -> int:
        """Pass the arguments; return the offset behind what ends them."""
        while (at := self._next_token()) is not None:
            if self._text[at] in ";{":
                self._at = at + 1
                return self._at
            if self._text[at] == "}":
                return at
            self._at = at
            self._word()
        return len(self._text)

    def _line(self, offset: int) -> int:
        """Return the line of an offset; offsets come in their order, so each newline is counted once."""
        since, line = self._counted
        self._counted = (offset, line + self._text.count("\n", since, offset))
        return self._counted[1]

    def _next_token(self) -> int | None:
        """Return where the next token begins, past space and comments."""
        text = self._text
        while self._at < len(text):
            if text[self._at].isspace():
                self._at += 1
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return self._at
        return None

    def _word(self) -> str:
        """Pass one word, quoted or not, and return it as written."""
        text, start = self._text, self._at
        quote = text[start] if text[start] in "\"'" else ""
        at = start + len(quote)
        while at < len(text):
            character = text[at]
            if character == "\\":
                at += 2
                continue
            if quote and character == quote:
                at += 1
                break
            if not quote and (character.isspace() or character in ";{}"):
                if character != "{" or text[at - 1] != "$":
                    break
                at = text.find("}", at) if "}" in text[at:] else len(text)
            at += 1
        self._at = min(at, len(text))
        return text[start : self._at]
