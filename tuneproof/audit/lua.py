"""Lua inside a configuration: its quotes, braces and comments are not nginx's, and nothing here asks what it does."""

import re
from typing import Final

_OPENING: Final = re.compile(r"\b\w+_by_lua_block\b[^{};#]*\{")
# What may hold a brace that closes nothing, by Lua's manual (3.1): long brackets, comments, strings.
_OPAQUE: Final = re.compile(
    r"--\[(?P<comment>=*)\[.*?(?:\](?P=comment)\]|\Z)"
    r"|--[^\n]*"
    r"|\[(?P<long>=*)\[.*?(?:\](?P=long)\]|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|'(?:\\.|[^'\\\n])*'?",
    re.DOTALL,
)


def without_lua(text: str) -> str:
    """Return a configuration with the content of its Lua blocks blanked: as long as before, line by line."""
    parts: list[str] = []
    done = 0
    for opening in _OPENING.finditer(text):
        if opening.start() < done or _in_comment(text, opening.start()):
            continue
        end = _end_of_block(text, opening.end())
        parts += [text[done : opening.end()], _blank(text[opening.end() : end])]
        done = end
    return "".join([*parts, text[done:]])


def _in_comment(text: str, at: int) -> bool:
    begins = text.rfind("\n", 0, at) + 1
    return text[begins:at].lstrip().startswith("#")


def _end_of_block(text: str, at: int) -> int:
    """Return where the brace stands that closes a block of Lua; the end of the text if none does."""
    depth = 1
    while at < len(text):
        if opaque := _OPAQUE.match(text, at):
            at = opaque.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return at
        at += 1
    return at


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)
