"""Changes to a configuration that leave its comments and layout alone, as unified diffs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuneproof.audit.file_text import lines_of
from tuneproof.audit.layout import Span, spans
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block
from tuneproof.audit.unified_diff import Change, changed, unified

_REST_IS_REMARK = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n|$)")


@dataclass(frozen=True, kw_only=True)
class Insert:
    """A new directive behind another one, or at the beginning of a block.

    Attributes:
        after: The directive, or the block.
        text: The new directive, with its semicolon.
    """

    after: Statement | Block
    text: str


@dataclass(frozen=True, kw_only=True)
class Before:
    """A new block in front of another one, with an empty line between them.

    Attributes:
        block: The other one.
        lines: The new block's lines, each indented as in itself.
    """

    block: Block
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Replace:
    """A directive in place of another one.

    Attributes:
        old: The old one.
        text: The new one, with its semicolon; empty to leave it out.
    """

    old: Statement
    text: str


Edit = Insert | Before | Replace


def diff(edits: Sequence[Edit], texts: Mapping[str, str]) -> str:
    """Return some changes as one unified diff; the empty string if a place cannot be told for certain.

    Args:
        edits: The changes.
        texts: The files by name.
    """
    changes = _changes(edits, texts)
    return "" if changes is None else "".join(unified(name, texts[name], found) for name, found in changes.items())


def apply(edits: Sequence[Edit], texts: Mapping[str, str]) -> dict[str, str] | None:
    """Return the changed files with their new texts; None if a place cannot be told for certain."""
    changes = _changes(edits, texts)
    return None if changes is None else {name: changed(texts[name], found) for name, found in changes.items()}


def _changes(edits: Sequence[Edit], texts: Mapping[str, str]) -> dict[str, list[Change]] | None:
    changes: dict[str, list[Change]] = {}
    for edit in dict.fromkeys(edits):
        place = _place_of(edit)
        text = texts[place.file]
        span = _span_of(place, text)
        if span is None:
            return None
        changes.setdefault(place.file, []).append(_change(edit, span, text))
    return changes


def _place_of(edit: Edit) -> Statement | Block:
    match edit:
        case Insert():
            return edit.after
        case Before():
            return edit.block
        case Replace():
            return edit.old


def _change(edit: Edit, span: Span, text: str) -> Change:
    """Return an edit as the offsets between which a text is replaced, and what by."""
    match edit:
        case Insert():
            return _insertion(edit, span, text)
        case Before():
            return _block_before(edit, span, text)
        case Replace():
            return _replacement(edit, span, text)


def _span_of(place: Statement | Block, text: str) -> Span | None:
    """Return where a directive stands; None where the line has several of that name."""
    found = [span for span in spans(text) if span.line == place.line and span.name.strip("\"'") == place.name]
    is_block = isinstance(place, Block)
    found = [span for span in found if (span.closing is not None) == is_block]
    return found[0] if len(found) == 1 else None


def _insertion(edit: Insert, span: Span, text: str) -> Change:
    begins_line = not text[text.rfind("\n", 0, span.start) + 1 : span.start].strip()
    rest = _REST_IS_REMARK.match(text, span.end)
    if not begins_line or rest is None:
        # Several directives share the line; the new one joins them.
        return span.end, span.end, f" {edit.text}"
    newline = "\r\n" if "\r\n" in text else "\n"
    return rest.end(), rest.end(), f"{newline}{_indent_behind(span, text)}{edit.text}"


def _block_before(edit: Before, span: Span, text: str) -> Change:
    begins = text.rfind("\n", 0, span.start) + 1
    own = text[begins : span.start]
    if own.strip():
        return span.start, span.start, f"{' '.join(line.strip() for line in edit.lines)} "
    newline = "\r\n" if "\r\n" in text else "\n"
    return begins, begins, "".join(f"{own}{line}{newline}" for line in edit.lines) + newline


def _indent_behind(span: Span, text: str) -> str:
    """Return the white space that a directive behind this one begins with."""
    own = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    if span.closing is None:
        return own
    for line in lines_of(text[span.end : span.closing])[1:]:
        if line.strip():
            return line[: len(line) - len(line.lstrip())]
    return f"{own}    "


def _replacement(edit: Replace, span: Span, text: str) -> Change:
    if edit.text:
        return span.start, span.end, _spaced_as(text[span.start : span.end], edit.text)
    begins = text.rfind("\n", 0, span.start) + 1
    rest = _REST_IS_REMARK.match(text, span.end)
    if rest is None or text[begins : span.start].strip():
        return span.start, span.end, ""
    # A remark behind a directive is about it, and goes with it.
    newline = text.find("\n", rest.end())
    return begins, len(text) if newline < 0 else newline + 1, ""


def _spaced_as(old: str, new: str) -> str:
    """Return a directive with the white space of the one that it replaces between the words that both begin with."""
    kept, rest = "", new.removesuffix(";")
    for word, space in re.findall(r"(\S+)(\s*)", old.removesuffix(";")):
        same, _, behind = rest.partition(" ")
        if same != word:
            break
        kept, rest = kept + word + (space or " "), behind
    return f"{(kept + rest).rstrip()};"
