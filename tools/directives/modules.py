"""The declarations in a source file of nginx: directives, functions, macros and tables of values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tools.directives import c_text

_NAME: Final = re.compile(r'ngx_string\("([^"]+)"\)')
_OFFSET: Final = re.compile(r"offsetof\(\s*(\w+)\s*,\s*([\w.]+)\s*\)")
_CONTEXT: Final = re.compile(r"NGX_((?:HTTP|STREAM|MAIL)_\w+|MAIN|EVENT|ANY)_CONF")


@dataclass(frozen=True, kw_only=True)
class Command:
    """An entry of an array of ngx_command_t."""

    name: str
    module: str  # such as ngx_http_core_module
    flags: frozenset[str]  # names such as NGX_CONF_TAKE1 and NGX_HTTP_LOC_CONF
    setter: str  # the name of the function that parses the directive
    structure: str  # the structure of the settings; empty if the entry has no offset
    field: str  # the field in that structure
    post: str  # the last item: a table of values, or a post handler


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The declarations of one file."""

    commands: tuple[Command, ...]
    functions: Mapping[str, str]
    defines: Mapping[str, str]
    values: Mapping[str, tuple[tuple[str, str], ...]]  # each word with its value, by the table's name


def declared(text: str) -> Declared:
    """Parse a file."""
    plain = c_text.without_comments(text)
    return Declared(
        commands=tuple(_commands(plain)),
        functions=c_text.functions(plain),
        defines=c_text.defines(plain),
        values=dict(_tables(plain)),
    )


def _commands(text: str) -> Iterator[Command]:
    # An ngx_module_t begins with NGX_MODULE_V1, the module's context and its commands.
    modules = {items[2]: name for name, items in c_text.arrays(text, "ngx_module_t")}
    for array, entries in c_text.arrays(text, "ngx_command_t"):
        for entry in entries:
            items = c_text.items(entry, 0) if entry.startswith("{") else []
            match = _NAME.fullmatch(items[0]) if items else None
            if match is not None:
                offset = _OFFSET.search(items[4])
                yield Command(
                    name=match[1],
                    module=modules[array],
                    flags=frozenset(items[1].replace(" ", "").split("|")),
                    setter=items[2],
                    structure=offset[1] if offset else "",
                    field=offset[2] if offset else "",
                    post=items[5].removeprefix("&"),
                )


def _tables(text: str) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    for kind in ("ngx_conf_enum_t", "ngx_conf_bitmask_t"):
        for table, entries in c_text.arrays(text, kind):
            pairs = [c_text.items(entry, 0) for entry in entries if entry.startswith("{")]
            yield table, tuple((match[1], pair[1]) for pair in pairs if (match := _NAME.fullmatch(pair[0])))
