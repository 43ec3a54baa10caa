"""The inheritance of settings, from nginx's init and merge functions for the fields of a structure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tools.directives import c_text

_POINTER: Final = re.compile(r"\b(ngx_\w+_t)\s+\*(\w+)\b")
_COPY: Final = re.compile(r"\b(\w+)->([\w.]+)\s*=\s*(\w+)->\2\s*;")
_INNER: Final = re.compile(r"^\(?(?:&\s*)?(\w+)->([\w.]+)$")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A field's value in a block that does not set it."""

    is_inherited: bool  # whether it is the outer block's value, rather than the default
    kind: str = ""  # the kind of its value, as in nginx's macros: msec, size, bufs, …
    default: tuple[str, ...] = ()  # C expressions; empty if not found


def settings(functions: Mapping[str, str]) -> Iterator[tuple[tuple[str, str], Setting]]:
    """Yield the facts about fields, by structure and name, from the functions in a file."""
    for body in functions.values():
        types = {match[2]: match[1] for match in _POINTER.finditer(body)}
        for match, arguments in c_text.calls(body, r"ngx_(?:conf|http|stream|mail)_(merge|init)_(\w*?)(?:_value)?"):
            inner = next((found for one in arguments for found in [_INNER.match(one)] if found), None)
            if inner is not None and inner[1] in types:
                is_inherited = match[1] == "merge"
                default = arguments[2 if is_inherited else 1 :] if "cf" not in arguments else arguments[-1:]
                key = (types[inner[1]], inner[2])
                yield key, Setting(is_inherited=is_inherited, kind=match[2] or "flag", default=tuple(default))
        for match in _COPY.finditer(body):
            if types.get(match[1]) == types.get(match[3]) and "noname" not in _condition(body, match.start()):
                yield (types.get(match[1], ""), match[2]), Setting(is_inherited=True)


def _condition(body: str, offset: int) -> str:
    """Return the condition in front of a statement."""
    return body[max(body.rfind(";", 0, offset), body.rfind("}", 0, offset)) + 1 : offset]
