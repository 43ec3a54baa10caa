"""A strict reader of unified diffs, like patch(1) without any fuzz."""

import re
from typing import Final

from tuneproof.conf.file_text import lines_of

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")
_NO_NEWLINE: Final = "\\ No newline at end of file\n"


def applied(diff: str, texts: dict[str, str]) -> dict[str, str]:
    """Return texts by name after a diff is applied; AssertionError if a context line is not in its place."""
    after = dict(texts)
    for part in re.split(r"(?m)^(?=--- a/)", diff)[1:]:
        head, rest = part.split("\n", 2)[:2], part.split("\n", 2)[2]
        name = head[0].removeprefix("--- a/")
        assert head[1] == f"+++ b/{name}"
        [full] = [known for known in texts if known.lstrip("/") == name]
        after[full] = _patched(texts[full], rest)
    return after


def _patched(text: str, hunks: str) -> str:
    before = lines_of(text)
    after: list[str] = []
    at = 0
    lines = hunks.replace(f"\n{_NO_NEWLINE}", "\0\n").split("\n")[:-1]
    position = 0
    while position < len(lines):
        match = _HUNK.match(lines[position] + "\n")
        assert match, lines[position]
        position += 1
        old_length = int(match[2]) if match[2] is not None else 1
        new_length = int(match[4]) if match[4] is not None else 1
        begins = int(match[1]) - (1 if old_length else 0)
        after += before[at:begins]
        at = begins
        assert len(after) == int(match[3]) - (1 if new_length else 0)
        old_seen = new_seen = 0
        while position < len(lines) and not lines[position].startswith("@@ "):
            sign, body = lines[position][0], lines[position][1:]
            line = body[:-1] if body.endswith("\0") else f"{body}\n"
            if sign in " -":
                assert before[at] == line
                at += 1
                old_seen += 1
            if sign in " +":
                after.append(line)
                new_seen += 1
            position += 1
        assert (old_seen, new_seen) == (old_length, new_length)
    return "".join([*after, *before[at:]])
