"""Changes to a configuration that preserve its comments and layout, as unified diffs."""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tuneproof.conf.file_text import lines_of
from tuneproof.conf.statements import Span, Statement
from tuneproof.conf.tree import Block

_REST_IS_REMARK = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n|$)")


@dataclass(frozen=True, kw_only=True)
class Insert:
    """A new directive, with its semicolon, after another one or at the beginning of a block."""

    after: Statement | Block
    text: str


@dataclass(frozen=True, kw_only=True)
class Before:
    """New lines before a block, with an empty line between them."""

    block: Block
    lines: tuple[str, ...]  # a block or a directive; inner lines with their own indentation


@dataclass(frozen=True, kw_only=True)
class Replace:
    """A directive in place of another one."""

    old: Statement
    text: str  # with its semicolon; empty to leave it out


Edit = Insert | Before | Replace
_Change = tuple[int, int, str]
"""The offsets between which a text is replaced, and the replacement."""
_Region = tuple[int, int, int, int]
"""The first old line and the line after the last old one, counted from 0; and the same two numbers for the new
lines."""
_CONTEXT: Final = 3


def unified(
    before: Mapping[str, str], after: Mapping[str, str], *, shown: Callable[[str], str] = lambda name: name
) -> str:
    """Return the differences between two states of some files (texts by name), in the format of patch(1) and git.

    ``shown`` returns the displayed name of a file.
    """
    parts = []
    for name, text in before.items():
        old, new = lines_of(text), lines_of(after[name])
        if hunks := list(_hunks(old, new)):
            # git does the same: with a tab after it, the name may contain spaces.
            called = shown(name).lstrip("/") + ("\t" if " " in shown(name) else "")
            parts += [f"--- a/{called}\n+++ b/{called}\n", *hunks]
    return "".join(parts)


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield the differences as hunks; those close together share one."""
    regions: list[list[_Region]] = []
    for region in _regions(old, new):
        if regions and region[0] - regions[-1][-1][1] <= 2 * _CONTEXT:
            regions[-1].append(region)
        else:
            regions.append([region])
    for hunk in regions:
        at, shift = max(0, hunk[0][0] - _CONTEXT), hunk[0][2] - hunk[0][0]
        begins, ends = at, min(len(old), hunk[-1][1] + _CONTEXT)
        lines: list[str] = []
        for first, last, new_first, new_last in hunk:
            lines += [f" {line}" for line in old[at:first]]
            lines += [f"-{line}" for line in old[first:last]]
            lines += [f"+{line}" for line in new[new_first:new_last]]
            at = last
        lines += [f" {line}" for line in old[at:ends]]
        new_ends = ends + hunk[-1][3] - hunk[-1][1]
        yield f"@@ -{_range(begins, ends)} +{_range(begins + shift, new_ends)} @@\n"
        yield from (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _regions(old: Sequence[str], new: Sequence[str]) -> Iterator[_Region]:
    """Yield the differing lines, with new lines as late as possible, so that a block begins with its own first line."""
    found = [codes[1:] for codes in difflib.SequenceMatcher(None, old, new).get_opcodes() if codes[0] != "equal"]
    for number, (first, last, new_first, new_last) in enumerate(found):
        limit = found[number + 1][0] if number + 1 < len(found) else len(old)
        moved = 0
        while first == last and first + moved < limit and old[first + moved] == new[new_first + moved]:
            moved += 1
        yield first + moved, last + moved, new_first + moved, new_last + moved


def _range(begins: int, ends: int) -> str:
    length = ends - begins
    first = begins + 1 if length else begins
    return str(first) if length == 1 else f"{first},{length}"


def setting(block: Block, text: str) -> Edit:
    """Return the change that adds a directive to a block, or replaces the block's own: nginx refuses a second."""
    own = block.local(text.partition(" ")[0])
    return Replace(old=own[-1], text=text) if own else Insert(after=block, text=text)


def diff(edits: Sequence[Edit], texts: Mapping[str, str], *, shown: Callable[[str], str] = lambda name: name) -> str:
    """Return changes of files, given by name, as one unified diff; see :func:`unified`."""
    return unified(texts, {**texts, **apply(edits, texts)}, shown=shown)


def place_of(edits: Sequence[Edit]) -> str:
    """Return the first file that edits change, with the changed lines, such as "a.conf:3,7"."""
    places = [_place_of(edit) for edit in edits]
    lines = sorted({place.line for place in places if place.file == places[0].file})
    return f"{places[0].file}:{','.join(map(str, lines))}"


def apply(edits: Sequence[Edit], texts: Mapping[str, str]) -> dict[str, str]:
    """Return the files that edits change, with their new texts."""
    changes: dict[str, list[_Change]] = {}
    for edit in dict.fromkeys(edits):
        place = _place_of(edit)
        if place.span is None:
            raise ValueError(f"{place.name} is not in any file")
        changes.setdefault(place.file, []).append(_change(edit, place.span, texts[place.file]))
    # Blocks from a file that is included several times have the same place.
    return {name: _changed(texts[name], list(dict.fromkeys(found))) for name, found in changes.items()}


def _changed(text: str, changes: Sequence[_Change]) -> str:
    """Return a text with its changes; two at the same place keep their order."""
    parts, done = [], 0
    for start, end, new in sorted(changes, key=lambda change: change[:2]):
        parts += [text[done:start], new]
        done = max(done, end)
    return "".join([*parts, text[done:]])


def _place_of(edit: Edit) -> Statement | Block:
    match edit:
        case Insert():
            return edit.after
        case Before():
            return edit.block
        case Replace():
            return edit.old


def _change(edit: Edit, span: Span, text: str) -> _Change:
    match edit:
        case Insert():
            return _insertion(edit, span, text)
        case Before():
            return _block_before(edit, span, text)
        case Replace():
            return _replacement(edit, span, text)


def _insertion(edit: Insert, span: Span, text: str) -> _Change:
    begins_line = not text[text.rfind("\n", 0, span.start) + 1 : span.start].strip()
    rest = _REST_IS_REMARK.match(text, span.end)
    if not begins_line or rest is None:
        # Several directives share this line, and the new one goes there, too.
        return span.end, span.end, f" {edit.text}"
    newline = "\r\n" if "\r\n" in text else "\n"
    return rest.end(), rest.end(), f"{newline}{_indent_behind(span, text)}{edit.text}"


def _block_before(edit: Before, span: Span, text: str) -> _Change:
    begins = text.rfind("\n", 0, span.start) + 1
    own = text[begins : span.start]
    if own.strip():
        return span.start, span.start, f"{' '.join(line.strip() for line in edit.lines)} "
    newline = "\r\n" if "\r\n" in text else "\n"
    return begins, begins, "".join(f"{own}{line}{newline}" for line in edit.lines) + newline


def _indent_behind(span: Span, text: str) -> str:
    """Return the indentation of a directive inserted after another one, or at the beginning of a block."""
    own = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    if span.closing is None:
        return own
    for line in lines_of(text[span.end : span.closing])[1:]:
        if line.strip():
            return line[: len(line) - len(line.lstrip())]
    return f"{own}    "


def _replacement(edit: Replace, span: Span, text: str) -> _Change:
    if edit.text:
        return span.start, span.end, _spaced_as(text[span.start : span.end], _as_template(edit))
    begins = text.rfind("\n", 0, span.start) + 1
    rest = _REST_IS_REMARK.match(text, span.end)
    if rest is None or text[begins : span.start].strip():
        return span.start, span.end, ""
    # A comment after a directive is about that directive, and is removed with it.
    newline = text.find("\n", rest.end())
    return begins, len(text) if newline < 0 else newline + 1, ""


def _as_template(edit: Replace) -> str:
    """Return a directive with a template's placeholders in place of their values."""
    words = edit.text.removesuffix(";").split(" ")
    for one in edit.old.filled:
        words = [one.written if word == one.value else word for word in words]
    return f"{' '.join(words)};"


def _spaced_as(old: str, new: str) -> str:
    """Return a directive with the replaced one's white space between the first words that both share."""
    kept, rest = "", new.removesuffix(";")
    for word, space in re.findall(r"(\S+)(\s*)", old.removesuffix(";")):
        same, _, behind = rest.partition(" ")
        if same != word:
            break
        kept, rest = kept + word + (space or " "), behind
    return f"{(kept + rest).rstrip()};"
