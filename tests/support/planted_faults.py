"""Faults for the model of a configuration; the comparison with nginx must find each of them."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tuneproof.conf import answers, effective, hosts, listens, locations, sockets
from tuneproof.conf.directives import Directive, Inheritance, directive
from tuneproof.conf.regexes import compiled
from tuneproof.conf.tree import Block
from tuneproof.conf.uris import normalised


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault: the replacement of one attribute of the model."""

    name: str
    part: str  # which comparison finds it
    owner: Any
    attribute: str
    replacement: Any


def _without_ifs(block: Block, name: str) -> Iterator[Block]:
    return (level for level in _LEVELS(block, name) if level.name != "if")


def _always_inherited(name: str, version: Sequence[int], *, context: str = "") -> Directive | None:
    found = _DIRECTIVE(name, version, context=context)
    return dataclasses.replace(found, inheritance=Inheritance.INHERITED) if found else None


def _adding(block: Block, name: str, version: Sequence[int]) -> effective.Effective:
    found = _EFFECTIVE(block, name, version)
    if name != "error_page":
        return found
    return dataclasses.replace(found, statements=tuple(said for level in block.within() for said in level.local(name)))


def _merging(target: str, *, merges_slashes: bool = True) -> str | None:
    del merges_slashes
    return _NORMALISED(target)


def _last_wins(names: dict[str, Block], name: str, server: Block) -> bool:
    names[name] = server
    return True


def _any_case(regex: str, *, ignores_case: bool) -> Any:
    del ignores_case
    return _COMPILED(regex, ignores_case=True)


_EFFECTIVE: Final = effective.effective
_LEVELS: Final = effective._levels
_DIRECTIVE: Final = directive
_NORMALISED: Final = normalised
_COMPILED: Final = compiled
_NEVER: Final[Callable[..., bool]] = lambda *_: False  # noqa: E731 - a value of the table below
FAULTS: Final = (
    Fault(
        name="nginx adds no slash", part="locations", owner=locations.Location, attribute="redirects",
        replacement=property(_NEVER),
    ),
    Fault(
        name="a nested location never ends the search", part="locations", owner=locations, attribute="_is_final",
        replacement=_NEVER,
    ),
    Fault(
        name="regular expressions ignore case", part="locations", owner=locations, attribute="compiled",
        replacement=_any_case,
    ),
    Fault(
        name="slashes are always merged", part="locations", owner=answers, attribute="normalised",
        replacement=_merging,
    ),
    Fault(name="error pages add up", part="locations", owner=answers, attribute="effective", replacement=_adding),
    Fault(
        name="allow does not override deny", part="inheritance", owner=effective, attribute="_TOGETHER",
        replacement=(),
    ),
    Fault(name="if is not a level", part="inheritance", owner=effective, attribute="_levels", replacement=_without_ifs),
    Fault(
        name="everything is inherited", part="inheritance", owner=effective, attribute="directive",
        replacement=_always_inherited,
    ),
    Fault(name="headers are never merged", part="inheritance", owner=effective, attribute="_MERGED_BY", replacement={}),
    Fault(
        name="the kernel refuses no address", part="listens", owner=sockets.Socket, attribute="excludes",
        replacement=_NEVER,
    ),
    Fault(
        name="reuseport has no effect", part="listens", owner=listens, attribute="_FLAGS",
        replacement=listens._FLAGS - {"reuseport"},
    ),
    Fault(
        name="no listen redefines protocols", part="listens", owner=sockets._Merged, attribute="_is_redefined",
        replacement=_NEVER,
    ),
    Fault(name="the last of two names wins", part="hosts", owner=hosts, attribute="_put", replacement=_last_wins),
)  # fmt: skip
