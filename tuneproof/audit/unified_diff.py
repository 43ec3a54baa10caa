"""Changes of known places as a unified diff: nothing is searched for, so a long file costs little more."""

from collections.abc import Sequence
from typing import Final

from tuneproof.audit.file_text import lines_of

Change = tuple[int, int, str]
"""Offsets between which a text is replaced, and what by."""
_CONTEXT: Final = 3


def changed(text: str, changes: Sequence[Change]) -> str:
    """Return a text with its changes; of two at one place the first comes first."""
    parts, done = [], 0
    for start, end, new in sorted(changes, key=lambda change: change[:2]):
        parts += [text[done:start], new]
        done = max(done, end)
    return "".join([*parts, text[done:]])


def unified(name: str, text: str, changes: Sequence[Change]) -> str:
    """Return the changes of one file in the form that patch(1) reads; the empty string if they change nothing."""
    before = lines_of(text)
    blocks = [_trimmed(block, before) for block in _blocks(text, changes) if block[2] != before[block[0] : block[1]]]
    shown = name.lstrip("/")
    hunks = _hunks(before, _neighbours_joined(blocks))
    return "".join([f"--- a/{shown}\n+++ b/{shown}\n", *hunks]) if hunks else ""


_Block = tuple[int, int, list[str]]
"""First line, the line behind the last one, and the lines in their place; from 0."""


def _blocks(text: str, changes: Sequence[Change]) -> list[_Block]:
    """Return changes as whole lines, those of one line together."""
    groups: list[list[Change]] = []
    ends: list[tuple[int, int]] = []
    for change in sorted(changes, key=lambda change: change[:2]):
        first, last = _whole_lines(text, change)
        if ends and first < ends[-1][1]:
            groups[-1].append(change)
            ends[-1] = (ends[-1][0], max(ends[-1][1], last))
        else:
            groups.append([change])
            ends.append((first, last))
    blocks, line, counted = [], 0, 0
    for group, (first, last) in zip(groups, ends, strict=True):
        line += text.count("\n", counted, first)
        counted = first
        new = changed(text[first:last], [(start - first, end - first, with_) for start, end, with_ in group])
        number = len(lines_of(text[first:last]))
        blocks.append((line, line + number, lines_of(new)))
    return blocks


def _trimmed(block: _Block, before: Sequence[str]) -> _Block:
    """Return a block without the lines at its ends that stay as they are."""
    first, last, new = block
    while first < last and new and new[0] == before[first]:
        first, new = first + 1, new[1:]
    while first < last and new and new[-1] == before[last - 1]:
        last, new = last - 1, new[:-1]
    return first, last, new


def _neighbours_joined(blocks: Sequence[_Block]) -> list[_Block]:
    """Return blocks of which none begins where another one ends: their old lines are told first, then the new ones."""
    joined: list[_Block] = []
    for first, last, new in blocks:
        if joined and joined[-1][1] == first:
            begins, _, earlier = joined.pop()
            joined.append((begins, last, earlier + new))
        else:
            joined.append((first, last, new))
    return joined


def _whole_lines(text: str, change: Change) -> tuple[int, int]:
    """Return the offsets of the lines that a change touches: none, for new lines between two others."""
    start, end, new = change
    first = text.rfind("\n", 0, start) + 1
    adds_lines = start == end and new.endswith("\n")
    ends_a_line = end > start and text[end - 1] == "\n"
    if (end == first and adds_lines) or ends_a_line:
        return first, end
    newline = text.find("\n", end)
    return first, len(text) if newline < 0 else newline + 1


def _hunks(before: Sequence[str], blocks: Sequence[_Block]) -> list[str]:
    hunks: list[list[_Block]] = []
    for block in blocks:
        if hunks and block[0] - hunks[-1][-1][1] <= 2 * _CONTEXT:
            hunks[-1].append(block)
        else:
            hunks.append([block])
    shift, told = 0, []
    for hunk in hunks:
        told.append(_hunk(before, hunk, shift))
        shift += sum(len(new) - (last - first) for first, last, new in hunk)
    return told


def _hunk(before: Sequence[str], blocks: Sequence[_Block], shift: int) -> str:
    begins, ends = max(0, blocks[0][0] - _CONTEXT), min(len(before), blocks[-1][1] + _CONTEXT)
    lines: list[str] = []
    at = begins
    for first, last, new in blocks:
        lines += [f" {line}" for line in before[at:first]]
        lines += [f"-{line}" for line in before[first:last]]
        lines += [f"+{line}" for line in new]
        at = last
    lines += [f" {line}" for line in before[at:ends]]
    old = ends - begins
    new_length = old + sum(len(new) - (last - first) for first, last, new in blocks)
    head = f"@@ -{_range(begins, old)} +{_range(begins + shift, new_length)} @@\n"
    return head + "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _range(begins: int, length: int) -> str:
    first = begins + 1 if length else begins
    return str(first) if length == 1 else f"{first},{length}"
