"""Locations that no path can reach, each with the block that takes its paths.

The order of ngx_http_core_find_location decides; regular expressions are compared as far as they are literal.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from tuneproof.conf.locations import REGEXES, Kind, Location, locations_in
from tuneproof.conf.tree import Block

_MOST_SHAPES: Final = 64
_START: Final = "^"
_END: Final = "$"
_ANYTHING: Final = ""
_TOKEN: Final = re.compile(
    r"(?P<anchor>[\^$])|(?P<open>\((?:\?:|\?P?<\w+>)?)(?P<inside>[\w/.|\\-]*)\)(?P<more>[*+?{]?)"
    r"|(?:\\(?P<escaped>[^\w])|(?P<literal>[\w/ %~:;,@!&='\"-]))(?P<many>[*+?{]?)"
    r"|(?P<wild>\.|\\[dwsDWS]|\[[^]\[]+\])(?:[*+?]\??|\{\d+(?:,\d*)?\})?"
)
_PLAIN: Final = re.compile(r"(?:\\\W|[\w/-])*")
# These match any path, since every path begins with a slash.
_UNIVERSAL: Final = frozenset({"", ".", ".*", ".+", "^", "^.", "^.*", "^.+", "/", "^/", "(.*)", "^(.*)", "^/(.*)"})


@dataclass(frozen=True, kw_only=True)
class Unreachable:
    """A location that gets no requests, or only those for paths in a letter case other than its own."""

    block: Block
    by: Block  # the location that takes its requests
    why: str
    is_partly: bool = False  # whether paths in another letter case still reach it


def unreachable_in(server: Block) -> Iterator[Unreachable]:
    """Yield the unreachable locations of a server, including nested ones."""
    yield from _in(server)


def _in(level: Block) -> Iterator[Unreachable]:
    found = list(locations_in(level))
    is_regex = level.name == "location" and Location.of(level).kind in REGEXES
    all_regexes = [one for one in found if one.kind in REGEXES]
    earlier: list[Location] = []
    for one in found:
        if is_regex and one.kind not in REGEXES:
            why = "inside a regex location, nginx searches only regex locations"
            yield Unreachable(block=one.block, by=level, why=why)
            continue
        regexes = all_regexes
        if one.kind in REGEXES:
            regexes = earlier[:]
            earlier.append(one)
            hidden = _hidden_by_prefix(one, found) if not level.unseen else None
            if hidden is not None:
                yield Unreachable(block=one.block, by=hidden.block, why="^~ takes precedence over regex locations")
                continue
            taking = next((other for other in regexes if _takes_all(other, one)), None)
        else:
            is_plain = one.kind is Kind.PREFIX and not one.redirects and not one.block.unseen
            may_be = is_plain and not any(True for _ in locations_in(one.block))
            taking = next((other for other in regexes if may_be and _takes_all_below(other, one.name)), None)
        if taking is not None:
            why = "its regex comes first and matches all of them"
            yield Unreachable(block=one.block, by=taking.block, why=why)
            continue
        if one.kind is Kind.REGEX_ANY_CASE and (partly := _taking_as_written(one, regexes)):
            yield Unreachable(block=one.block, by=partly.block, why="its regex comes first", is_partly=True)
        yield from _in(one.block)


def _taking_as_written(one: Location, earlier: Iterable[Location]) -> Location | None:
    """Return an earlier location that takes all paths in the letter case in which the regular expression is written."""
    shapes = _shapes(one.name)
    strict = (other for other in earlier if other.kind is Kind.REGEX)
    return next((other for other in strict if _cover(other, _shapes(other.name), shapes, any_case=False)), None)


def _takes_all(first: Location, second: Location) -> bool:
    is_strict = first.kind is Kind.REGEX and second.kind is Kind.REGEX_ANY_CASE
    if first.name in _UNIVERSAL or (first.name == second.name and not is_strict):
        return True
    mine, theirs = _shapes(first.name), _shapes(second.name)
    return _cover(first, mine, theirs, any_case=second.kind is Kind.REGEX_ANY_CASE)


def _takes_all_below(regex: Location, prefix: str) -> bool:
    below = [(_START, prefix, _ANYTHING)]
    return regex.name in _UNIVERSAL or _cover(regex, _shapes(regex.name), below, any_case=False)


def _hidden_by_prefix(regex: Location, found: Iterable[Location]) -> Location | None:
    """Return one of the "^~" locations that together take all paths of a regular expression; None if they do not."""
    shapes = _shapes(regex.name)
    beginnings = [shape[1] if len(shape) > 1 and shape[0] == _START else "" for shape in shapes]
    any_case = regex.kind is Kind.REGEX_ANY_CASE
    if not shapes or not all(beginnings) or (any_case and any(map(_has_letters, beginnings))):
        return None
    prefixes = [one for one in found if one.kind in {Kind.PREFIX, Kind.PREFIX_ONLY}]
    taking = None
    for beginning in beginnings:
        around = [one for one in prefixes if beginning.startswith(one.name)]
        taking = max(around, key=lambda one: len(one.name), default=None)
        below = [one for one in prefixes if one.name.startswith(beginning)]
        if taking is None or any(one.kind is not Kind.PREFIX_ONLY for one in (taking, *below)):
            return None
    return taking


def _cover(first: Location, mine: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]], *, any_case: bool) -> bool:
    """Tell whether the shapes of a regular expression match every text that the other shapes match."""
    if first.kind is Kind.REGEX_ANY_CASE:
        mine, theirs = _lower(mine), _lower(theirs)
    elif any_case:
        mine = [shape for shape in mine if not any(map(_has_letters, shape))]
    return bool(theirs) and all(any(_covers(one, other) for one in mine) for other in theirs)


def _covers(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether a literal with anchors matches every text that another shape matches."""
    text = "".join(part for part in one if part not in {_START, _END})
    is_start, is_end = one[:1] == (_START,), one[-1:] == (_END,)
    if _ANYTHING in one or any(part in {_START, _END} for part in one[is_start : len(one) - is_end]):
        return False
    if is_start and is_end:
        return tuple(one) == tuple(other)
    if is_start:
        return len(other) > 1 and other[0] == _START and other[1].startswith(text)
    if is_end:
        return len(other) > 1 and other[-1] == _END and other[-2].endswith(text)
    return any(text in part for part in other if part not in {_START, _END})


@cache
def _shapes(regex: str) -> list[tuple[str, ...]]:
    """Return the alternatives of a regular expression, each as a sequence of anchors, texts and "" for anything.

    Empty if the expression is too complex.
    """
    choices: list[tuple[str, ...]] = []
    place = 0
    while place < len(regex):
        match = _TOKEN.match(regex, place)
        if match is None:
            return []
        place = match.end()
        alternatives = match["inside"].split("|") if match["open"] else []
        if match["wild"] or match["more"] or match["many"]:
            choices.append((_ANYTHING,))
            # Numeric quantifiers of groups and literals are too rare to be worth parsing.
            if "{" in (match["more"] or "") + (match["many"] or ""):
                return []
        elif alternatives:
            if not all(map(_PLAIN.fullmatch, alternatives)) or not all(alternatives):
                return []
            choices.append(tuple(re.sub(r"\\(\W)", r"\1", one) for one in alternatives))
        else:
            choices.append((match["anchor"] or match["escaped"] or match["literal"],))
    shapes = list(itertools.islice(itertools.product(*choices), _MOST_SHAPES + 1))
    has_all = 0 < len(shapes) <= _MOST_SHAPES
    return [tuple(_joined(shape)) for shape in shapes] if has_all else []


def _joined(shape: Iterable[str]) -> Iterator[str]:
    for is_text, group in itertools.groupby(shape, key=lambda part: part not in {_START, _END, _ANYTHING}):
        parts = list(group)
        yield from ["".join(parts)] if is_text else parts


def _lower(shapes: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    return [tuple(part.lower() for part in shape) for shape in shapes]


def _has_letters(text: str) -> bool:
    return text.lower() != text.upper()
