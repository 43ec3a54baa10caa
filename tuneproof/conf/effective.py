"""Finds the setting in effect in a block, and its origin, as nginx's modules merge settings.

A directive's own rule is in the table of directives. Some directives belong together: the innermost block with any
of them decides for all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from tuneproof.conf.directives import Directive, Inheritance, directive
from tuneproof.conf.statements import Statement, context_name
from tuneproof.conf.tree import Block
from tuneproof.conf.upstreams import KINDS

_PASSES: Final = frozenset(f"{kind}_pass" for kind in KINDS)
ANSWERS: Final = _PASSES | {"empty_gif", "flv", "mp4", "perl", "stub_status"}
"""One of these handles the requests of a location, and of its ``if`` blocks, which inherit its content handler."""
# Merged together: ngx_http_access_merge_loc_conf, ngx_http_core_merge_loc_conf.
_TOGETHER: Final = (frozenset({"allow", "deny"}), frozenset({"root", "alias"}), ANSWERS)
# ngx_http_headers_merge_conf
_MERGED_BY: Final = {"add_header": "add_header_inherit", "add_trailer": "add_trailer_inherit"}
# An upstream block without these uses those in http{}: ngx_http_upstream_init_round_robin.
_OF_UPSTREAMS_TOO: Final = frozenset({"resolver", "resolver_timeout"})


class Origin(StrEnum):
    """The origin of a setting."""

    HERE = "here"
    OUTER = "outer"
    DEFAULT = "default"
    UNKNOWN = "unknown"  # a missing part of the configuration, or a directive without a known rule


@dataclass(frozen=True, kw_only=True)
class Effective:
    """The setting in effect in a block."""

    statements: tuple[Statement, ...]
    """The directives that set it, in order; empty for the default. If the setting is unknown: the known ones."""
    origin: Origin
    block: Block | None = None  # the block of these directives, the innermost if several are merged
    default: str | None = None  # the default; None for none or unknown

    @property
    def value(self) -> str | None:
        """The first argument of the last directive, or the default; None if neither is known."""
        return self.statements[-1].value if self.statements else self.default

    @property
    def words(self) -> list[str]:
        """All arguments of the directives, or those of the default."""
        return [word for said in self.statements for word in said.args] or (self.default or "").split()


def effective(block: Block, name: str, version: Sequence[int]) -> Effective:
    """Return the setting of a directive in effect in a block, for a version of nginx."""
    levels = list(_levels(block, name))
    contexts = (*(context_name(level.path) for level in levels), "")
    row = next((found for context in contexts if (found := directive(name, version, context=context))), None)
    if len(levels) > 1 and levels[0].name == "upstream" and row is not None and "upstream" in row.contexts:
        row = replace(row, inheritance=Inheritance.INHERITED)
    inheritance = row.inheritance if row is not None else Inheritance.UNKNOWN
    default = row.default if row is not None else None
    if inheritance is Inheritance.NEVER:
        levels = list(_with_its_location(block, name)) if name in ANSWERS else levels[:1]
    together = next((names for names in _TOGETHER if name in names), frozenset({name}))
    decides = next((level for level in levels if _named(level, together)), None)
    passed = levels if decides is None else levels[: levels.index(decides)]
    is_open = any(map(_is_open, passed))
    if decides is None:
        return Effective(statements=(), origin=Origin.UNKNOWN if is_open else Origin.DEFAULT, default=default)
    statements, merged = _merged(levels, name, version) if name in _MERGED_BY else (_named(decides, {name}), ())
    # A list may continue in a missing part; any other directive would be refused if it occurred twice.
    is_open = is_open or any(map(_is_open, (decides, *merged) if inheritance is Inheritance.REPLACED else merged))
    if is_open or (inheritance is Inheritance.UNKNOWN and decides is not block) or _is_block(row):
        origin = Origin.UNKNOWN
    else:
        origin = Origin.HERE if decides is block else Origin.OUTER
    # Without statements, a related directive decides, so there is no default: for "root", an "alias" in this block.
    return Effective(statements=statements, origin=origin, block=decides, default=default if statements else None)


def _levels(block: Block, name: str) -> Iterator[Block]:
    """Yield a block and those from which it inherits, the innermost first."""
    for level in block.within():
        yield level
        if level.name == "upstream":
            if name in _OF_UPSTREAMS_TOO and level.parent is not None:
                yield level.parent
            return


def _with_its_location(block: Block, name: str) -> Iterator[Block]:
    """Yield a block and those that it inherits handlers from: ``if`` inherits all, ``limit_except`` only ``*_pass``."""
    for level in block.within():
        yield level
        if level.name != "if" and not (level.name == "limit_except" and name in _PASSES):
            return


def _named(level: Block, names: frozenset[str] | set[str]) -> tuple[Statement, ...]:
    return tuple(statement for statement in level.own if statement.name in names)


def _merged(
    levels: Sequence[Block], name: str, version: Sequence[int]
) -> tuple[tuple[Statement, ...], tuple[Block, ...]]:
    """Return the headers in effect in the first of these blocks, and the blocks that were searched."""
    if not levels:
        return (), ()
    level, *outer = levels
    said = _named(level, {name})
    mode = effective(level, _MERGED_BY[name], version)
    if mode.value == "off" or (said and mode.value != "merge"):
        return said, (level,)
    others, asked = _merged(outer, name, version)
    return (*said, *others), (level, *asked)


def _is_open(level: Block) -> bool:
    """Return whether a part of a block is missing: an include, or the surroundings of a fragment."""
    return bool(level.unseen) or (level.span is None and level.name != "main")


def _is_block(row: Directive | None) -> bool:
    return row is not None and row.is_block
