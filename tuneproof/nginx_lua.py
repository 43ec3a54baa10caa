"""Finds the Lua code in a configuration, since its quotes, braces and comments are not nginx's, and blanks it out."""

import re
from typing import Final

_OPENING: Final = re.compile(r"\b\w+_by_lua_block(?:\s+\$\w+)?\s*\{")
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_COMMENT: Final = re.compile(r"(?:^|[\s;{}])#")
# Tokens that may contain unrelated braces: long brackets, comments and strings.
# https://www.lua.org/manual/5.1/manual.html#2.1
_LUA: Final = re.compile(
    r"(?:--)?\[(?P<level>=*+)\[|--[^\n]*+|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|(?P<brace>[{}])", re.DOTALL
)


def without_lua(text: str) -> str:
    """Return a configuration with blanks in place of its Lua blocks' content; lines and lengths stay the same."""
    parts: list[str] = []
    done = comment_end = 0
    for opening in _OPENING.finditer(text):
        start = opening.start()
        if start < max(done, comment_end):
            continue
        if _COMMENT.search(_QUOTED.sub("", text[max(done, text.rfind("\n", 0, start) + 1) : start])):
            comment_end = text.find("\n", start)
            if comment_end < 0:
                break
            continue
        end = end_of_block(text, opening.end()) or len(text)
        parts += [text[done : opening.end()], _blank(text[opening.end() : end])]
        done = end
    return "".join([*parts, text[done:]])


def end_of_block(text: str, at: int) -> int | None:
    """Return the position of a Lua block's closing brace; None if it has none. ``at``: the start of its content."""
    depth = 1
    while found := _LUA.search(text, at):
        at = found.end()
        if found["level"] is not None:
            closing = f"]{found['level']}]"
            at = text.find(closing, at) + len(closing)
            if at < len(closing):
                return None
        elif found["brace"]:
            depth += 1 if found["brace"] == "{" else -1
        if not depth:
            return found.start()
    return None


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)
