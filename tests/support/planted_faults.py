"""Faults for the model of a configuration; the comparison with nginx must find each of them."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from tuneproof.conf import answers, effective, hosts, listens, locations, sockets
from tuneproof.conf.directives import Directive, Inheritance, directive
from tuneproof.conf.regexes import compiled
from tuneproof.conf.tree import Block
from tuneproof.conf.uris import normalised


class Fault(NamedTuple):
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
    Fault("nginx adds no slash", "locations", locations.Location, "redirects", property(_NEVER)),
    Fault("a nested location never ends the search", "locations", locations, "_is_final", _NEVER),
    Fault("regular expressions ignore case", "locations", locations, "compiled", _any_case),
    Fault("slashes are always merged", "locations", answers, "normalised", _merging),
    Fault("error pages add up", "locations", answers, "effective", _adding),
    Fault("allow does not override deny", "inheritance", effective, "_TOGETHER", ()),
    Fault("if is not a level", "inheritance", effective, "_levels", _without_ifs),
    Fault("everything is inherited", "inheritance", effective, "directive", _always_inherited),
    Fault("headers are never merged", "inheritance", effective, "_MERGED_BY", {}),
    Fault("the kernel refuses no address", "listens", sockets.Socket, "excludes", _NEVER),
    Fault("reuseport has no effect", "listens", listens, "_FLAGS", listens._FLAGS - {"reuseport"}),
    Fault("no listen redefines protocols", "listens", sockets._Merged, "_is_redefined", _NEVER),
    Fault("the last of two names wins", "hosts", hosts, "_put", _last_wins),
)
