"""Finds lines that people copy from one nginx.conf to the next, and that help, have no effect, or do harm.

The text and the conditions of a finding are in its row (:mod:`tuneproof.lines`); this module evaluates the conditions.
"""

import operator
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.conditions import WHERE
from tuneproof.audit.patches import Before, Edit, Replace, setting
from tuneproof.audit.remedies import REMEDIES
from tuneproof.conf.facts import Facts
from tuneproof.conf.statements import TABLES, Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.values import size_bytes, time_ms
from tuneproof.lines import Concern, Line, every_line
from tuneproof.wording import as_numbers

NAME: Final = "copied_lines"
RANK: Final = 8

# In stream{}, only rows that name stream{} apply; in blocks of other modules, such as rtmp{}, none.
_OF_HTTP: Final = frozenset({"http", "events", "mail"})
_COMPARED: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield the findings on directives, in the order of the files, then those on blocks, in the order of the rows."""
    yield from _of_directives(facts)
    main = facts.configuration.main
    # What main lacks goes before its first block.
    places: defaultdict[str, list[Block]] = defaultdict(list, main=main.blocks[:1])
    for block in main.below():
        places[block.name].append(block)
    # A block may have an empty name, like the block of a row about a directive.
    of_blocks = (row for row in _rows_of(facts.version_numbers) if row[1].block)
    for line, concern in of_blocks:
        for at in filter(_is_seen, places[concern.block]):
            around = main if concern.block == "main" else at
            if (found := _meant(concern, at, around, facts)) is not None:
                yield _advised(line, concern, at, around, facts, found)


@cache
def _rows_of(version: tuple[int, ...]) -> Sequence[tuple[Line, Concern]]:
    return [
        (line, concern) for line in every_line() for concern in line.audit if _is_of_version(line, concern, version)
    ]


@cache
def _by_directive(version: tuple[int, ...]) -> Mapping[str, Sequence[tuple[Line, Concern]]]:
    rows: defaultdict[str, list[tuple[Line, Concern]]] = defaultdict(list)
    for line, concern in _rows_of(version):
        for name in concern.directives:
            rows[name].append((line, concern))
    return dict(rows)


def _of_directives(facts: Facts) -> Iterator[Advised]:
    said_before: set[tuple[str, ...]] = set()
    by_directive = _by_directive(facts.version_numbers)
    everything = [(said, block) for said, block in facts.configuration.main.everything() if block.name not in TABLES]
    places: defaultdict[int, list[Block]] = defaultdict(list)
    for said, block in everything:
        places[id(said)].append(block)
    for said, block in everything:
        for line, concern in by_directive.get(said.name, ()):
            if not _is_written(said, concern) or block.name == concern.outside:
                continue
            is_kept = concern.patch == "" and _would_inherit(said, block)
            if is_kept and concern.state == State.WITHOUT_EFFECT:
                continue
            # A hint is given once, even if the line occurs often.
            key = (line.claim, *said.args) if concern.state == State.CANNOT_TELL else (line.claim, str(id(said)))
            if key not in said_before and (found := _meant(concern, said, block, facts)) is not None:
                said_before.add(key)
                advised = _advised(line, concern, said, block, facts, found)
                edits = () if is_kept else _of_all(places[id(said)], line, concern, said, facts)
                yield replace(advised, edits=edits)


def _of_all(blocks: Sequence[Block], line: Line, concern: Concern, said: Statement, facts: Facts) -> Sequence[Edit]:
    """Return the changes for all blocks that include a directive; none if one needs it or a person must decide."""
    edits: list[Edit] = []
    for block in blocks:
        found = _meant(concern, said, block, facts)
        if found is None or (concern.patch == "" and _would_inherit(said, block)):
            return ()
        own = _advised(line, concern, said, block, facts, found).edits
        if not own:
            return ()
        edits += own
    return list(dict.fromkeys(edits))


def _would_inherit(said: Statement, block: Block) -> bool:
    """Tell whether an outer level sets the directive to another value, which would apply without this one."""
    outer = block.parent.setting(said.name) if block.parent is not None else None
    return outer is not None and outer.args != said.args


def _is_seen(block: Block) -> bool:
    """Tell whether a block is in the files, and no missing file may have what it lacks."""
    return block.span is not None and not block.lacks_includes


def _is_open(block: Block, concern: Concern) -> bool:
    """Tell whether a missing file may add settings to a block; for http{}, that includes the files of other sites.

    The blocks around a fragment may have any setting that it would inherit; for "cannot tell", that does not matter.
    """
    if block.lacks_includes or (block.name == "http" and block.absent_sites):
        return True
    is_inside = block.name != "upstream" and concern.state != State.CANNOT_TELL
    return is_inside and any(level.span is None and level.name != "main" for level in block.within())


def _advised(line: Line, concern: Concern, at: Statement | Block, block: Block, facts: Facts, found: str) -> Advised:
    kind = at.name.partition("_")[0]
    why, text = concern.why.format(version=line.version, kind=kind, found=found), concern.patch
    edits: Sequence[Edit] = ()
    if isinstance(at, Statement):
        said = " ".join((at.name, *(arg or '""' for arg in at.args)))
        why = f"{said}: {why}{_reach(at, concern)}"
    if text is not None and text.startswith("="):
        edits = REMEDIES[text](at, block, facts)
    elif text is not None:
        kinds = [proxied.target.kind for proxied in facts.proxied if proxied.target.block is at]
        edits = [_edit(concern, at, text.replace("{kind}", kinds[0] if kinds else kind))]
    return Advised(
        name=line.scenario,
        claim=line.claim,
        state=State(concern.state),
        at=at,
        why=why,
        edits=edits,
        breaks=concern.breaks,
        routine=concern.routine,
        source=concern.source,
        check=concern.check,
    )


def _edit(concern: Concern, at: Statement | Block, text: str) -> Edit:
    if isinstance(at, Statement):
        return Replace(old=at, text=text)
    text = text.replace("{arg}", at.args[0] if at.args else "")
    return Before(block=at, lines=(text,)) if concern.block == "main" else setting(at, text)


def _is_of_version(line: Line, concern: Concern, version: tuple[int, ...]) -> bool:
    begun = all(version >= as_numbers(since) for since in (line.version, line.since) if since)
    return begun and not (concern.until and version >= as_numbers(concern.until))


def _is_written(said: Statement, concern: Concern) -> bool:
    """Tell whether a directive has the arguments of a row for all values of a template's placeholders."""
    stand_ins = {one.value: one.written for one in said.filled if not one.is_given}
    for args in (said.args, [stand_ins.get(arg, arg) for arg in said.args]) if stand_ins else (said.args,):
        if not re.fullmatch(concern.args, " ".join(args), re.DOTALL):
            return False
    if not concern.value:
        return True
    if not -len(said.args) <= concern.place < len(said.args):
        return False
    bounds = [bound.split() for bound in concern.value.split(",")]
    if said.args[concern.place] in stand_ins:
        return False
    texts = [said.args[concern.place], *(limit for _, limit in bounds)]
    numbers = _numbers(texts)
    return bool(numbers) and all(
        _COMPARED[sign](numbers[0], limit) for (sign, _), limit in zip(bounds, numbers[1:], strict=True)
    )


def _numbers(texts: list[str]) -> list[int]:
    """Return the values in bytes if all are sizes, or in milliseconds if all are times; empty otherwise."""
    for read in (size_bytes, time_ms):
        numbers = [number for text in texts if (number := read(text)) is not None]
        if len(numbers) == len(texts):
            return numbers
    return []


def _reach(said: Statement, concern: Concern) -> str:
    """Return the measured value in words; empty if the file has the same value."""
    if not concern.measured:
        return ""
    yours = said.args[concern.place]
    is_that = len({*_numbers([yours, concern.measured])} or {yours, concern.measured}) == 1
    return "" if is_that else f" (measured at {concern.measured}; yours is {yours})"


def _meant(concern: Concern, at: Statement | Block, block: Block, facts: Facts) -> str | None:
    """Return what a row's conditions find around a directive or in a block; None if the row does not apply."""
    if not ({concern.inside} if concern.inside else _OF_HTTP).issuperset(block.path[:1]):
        return None
    found = _is_so(concern.where, at, block, facts) if concern.where else True
    if not found or (concern.unless and (_is_open(block, concern) or _is_so(concern.unless, at, block, facts))):
        return None
    return found if isinstance(found, str) else ""


def _is_so(name: str, at: Statement | Block, block: Block, facts: Facts) -> str | bool:
    """Return whether a named condition is true; or whether a setting is in effect in a block, or in an inner one."""
    if name in WHERE:
        return WHERE[name](at, block, facts)
    directive = name.partition(" ")[0]
    # An upstream block inherits nothing: an outer keepalive_timeout is for clients.
    said = block.local(directive) if block.name == "upstream" else block.in_effect(directive)
    return any(_matches(name, one) for one in (*said[-1:], *(inner for inner, _ in block.everything())))


def _matches(setting: str, said: Statement) -> bool:
    return re.fullmatch(setting, " ".join([said.name, *said.args]), re.DOTALL) is not None
