"""The location of a server that nginx chooses for a path: ngx_http_core_find_location.

https://nginx.org/en/docs/http/ngx_http_core_module.html#location
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from tuneproof.conf.regexes import ForeignRegexError, as_bytes_read, compiled
from tuneproof.conf.tree import Block
from tuneproof.conf.upstreams import KINDS


class Kind(StrEnum):
    """The ways in which a location compares its name with a path, with their modifiers."""

    PREFIX = ""
    PREFIX_ONLY = "^~"  # if it is the longest prefix, nginx tries no regular expressions
    EXACT = "="
    REGEX = "~"
    REGEX_ANY_CASE = "~*"
    NAMED = "@"


REGEXES: Final = frozenset({Kind.REGEX, Kind.REGEX_ANY_CASE})
_PREFIXES: Final = frozenset({Kind.PREFIX, Kind.PREFIX_ONLY})
# The longest modifier comes first: without a space, the name begins with the modifier.
_MODIFIERS: Final = (Kind.REGEX_ANY_CASE, Kind.PREFIX_ONLY, Kind.REGEX, Kind.EXACT)


@dataclass(frozen=True, kw_only=True)
class Location:
    """A location with its name as nginx parses it."""

    block: Block
    kind: Kind
    name: str  # without its modifier, one character per byte; "@" is part of the name

    @classmethod
    def of(cls, block: Block) -> "Location":
        """Read the arguments of a ``location`` block."""
        *modifiers, name = block.args or ("",)
        if modifiers:
            # nginx refuses any other modifier.
            kind = next((kind for kind in Kind if kind == modifiers[0]), Kind.PREFIX)
            return cls(block=block, kind=kind, name=as_bytes_read(name))
        kind = next((kind for kind in _MODIFIERS if name.startswith(kind)), Kind.PREFIX)
        if name.startswith("@"):
            return cls(block=block, kind=Kind.NAMED, name=as_bytes_read(name))
        return cls(block=block, kind=kind, name=as_bytes_read(name[len(kind) :]))

    @property
    def redirects(self) -> bool:
        """Whether nginx redirects requests for its name without the last slash to it, because it is proxied."""
        return self.name.endswith("/") and any(self.block.local(f"{kind}_pass") for kind in KINDS)

    def matches(self, path: str) -> bool:
        """Tell whether the location's regular expression matches.

        Raises ForeignRegexError: Python cannot evaluate it.
        """
        return compiled(self.name, ignores_case=self.kind is Kind.REGEX_ANY_CASE).search(path) is not None


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The block for a path."""

    block: Block  # the location; the server if no location matches
    redirects: bool = False  # whether nginx answers with a 301 to the same path with a slash
    doubt: str = ""  # why it may be another block; empty if it is certain


def locations_in(level: Block) -> Iterator[Location]:
    """Yield the locations of a server or location, in order, without those nested deeper."""
    for block in level.blocks:
        modifier = block.args[0] if len(block.args) > 1 else Kind.PREFIX
        if block.name == "location" and block.args and modifier in Kind.__members__.values():
            yield Location.of(block)


def named(server: Block, name: str) -> Block | None:
    """Return a server's location with a name such as "@app"; None if it has none."""
    found = (one.block for one in locations_in(server) if one.kind is Kind.NAMED and one.name == name)
    return next(found, None)


def taken(path: str, server: Block) -> Taken:
    """Return a server's block for a path; the path must be normalised, as nginx does it."""
    try:
        return _take(path, server) or Taken(block=server)
    except ForeignRegexError as error:
        return Taken(block=server, doubt=f"{error}, which is not understood here")


def _take(path: str, level: Block) -> Taken | None:
    """Return the block inside a server or location for a path; None if the server or location itself takes it."""
    found = list(locations_in(level))
    if exact := next((one for one in found if one.kind is Kind.EXACT and one.name == path), None):
        return Taken(block=exact.block)
    doubt = f"{level.unseen[0]} is not here, and may have locations" if level.unseen else ""
    prefixes = [one for one in found if one.kind in _PREFIXES and path.startswith(one.name)]
    prefix = max(prefixes, key=lambda one: len(one.name), default=None)
    if prefix is None or prefix.name != path:
        # A prefix and an exact location with the same name share a node in nginx's tree, including its redirect.
        named_so = [one for one in found if one.name == f"{path}/" and one.kind in {*_PREFIXES, Kind.EXACT}]
        if any(one.redirects for one in named_so):
            its = max(named_so, key=lambda one: one.kind is Kind.EXACT)
            return Taken(block=its.block, redirects=True, doubt=doubt)
    inner = _take(path, prefix.block) if prefix is not None else None
    if prefix is not None and inner is not None and (inner.redirects or _is_final(inner, prefix.block)):
        return replace(inner, doubt=doubt or inner.doubt)
    if prefix is None or prefix.kind is not Kind.PREFIX_ONLY:
        by_regex = _take_by_regex(path, found)
        if by_regex is not None:
            return replace(by_regex, doubt=doubt or by_regex.doubt)
    if prefix is None:
        return Taken(block=level, doubt=doubt) if doubt else None
    inner = inner or Taken(block=prefix.block)
    return replace(inner, doubt=doubt or inner.doubt)


def _take_by_regex(path: str, found: Iterable[Location]) -> Taken | None:
    """Return the first location with a regular expression that matches, or the first nested in it; None if none does.

    No path reaches prefix and exact locations in a regex location: ngx_http_init_static_location_trees skips them.
    """
    one = next((one for one in found if one.kind in REGEXES and one.matches(path)), None)
    if one is None:
        return None
    doubt = f"{one.block.unseen[0]} is not here, and may have locations" if one.block.unseen else ""
    inner = _take_by_regex(path, locations_in(one.block)) or Taken(block=one.block)
    return replace(inner, doubt=doubt or inner.doubt)


def _is_final(inner: Taken, prefix: Block) -> bool:
    """Tell whether the search ends with a nested location: an exact one, or one with a regular expression."""
    block = inner.block
    while block.parent is not None and block is not prefix:
        if Location.of(block).kind not in _PREFIXES:
            return True
        block = block.parent
    return False
