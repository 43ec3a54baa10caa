"""nginx's own directives: where each is allowed, how many arguments it takes, its default, and since when.

``tools.directives`` writes the table, directives.tsv, from nginx's sources; the lab checks it against nginx. A row
covers the versions in which a directive has the same properties. The table includes directives that a build leaves out,
or that exist only on another operating system; of those in nginx's documentation but not in its sources (commercial
modules, njs), only the names are known.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from itertools import chain
from typing import Final

from tuneproof.wording import as_numbers

COLUMNS: Final = ("name", "module", "contexts", "arguments", "kind", "inheritance", "default", "since", "until")
CONTEXTS: Final = (
    *("main", "events", "http", "server", "location", "upstream", "if in server", "if in location", "limit_except"),
    *("stream", "stream server", "stream upstream", "mail", "mail server"),
)


# ngx_parse_time requires the largest unit first; the number before a unit may be missing.
_DAYS_AND_LESS: Final = "(?:[0-9]*d *)?(?:[0-9]*h *)?(?:[0-9]*m(?!s) *)?(?:[0-9]*s *)?"
# These match everything that ngx_parse_size, ngx_parse_offset, ngx_parse_time or ngx_atoi accepts, and perhaps more.
VALUES: Final = {
    "number": re.compile(r"[0-9]+"),
    "size": re.compile(r"[0-9]+[kKmM]?"),
    "offset": re.compile(r"[0-9]+[kKmMgG]?"),
    "msec": re.compile(rf"(?=.*[0-9])(?:[0-9]*w *)?{_DAYS_AND_LESS}(?:[0-9]*ms *)?[0-9 ]*"),
    "sec": re.compile(rf"(?=.*[0-9])(?:[0-9]*y *)?(?:[0-9]*M *)?(?:[0-9]*w *)?{_DAYS_AND_LESS}[0-9 ]*"),
}
# Numbers of arguments that only other products accept: nginx Plus has "sync", Tengine several keys, Angie several names
# of a location, and separate modules have their own "sticky".
_OF_OTHERS: Final = {
    "limit_req_zone": re.compile(r".* sync|\$\S+ \$.*"),
    "limit_conn_zone": re.compile(".* sync"),
    "location": re.compile(r"[=~^@/]\S*(?: [=~^@/]\S*)+"),
    "sticky": re.compile(".*"),
}
_BUFFERS: Final = "buffers"  # a number and a size, both greater than zero
_ZERO: Final = re.compile(r"0+[kKmM]?\Z")


class Inheritance(StrEnum):
    """The ways in which inner blocks inherit a directive of an outer block."""

    INHERITED = "inherited"  # in effect, unless an inner one replaces it
    REPLACED = "replaced"  # several in a block add up, and any in an inner block replaces all outer ones
    NEVER = "never"  # applies only in its own block
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Directive:
    """A directive in a range of versions."""

    name: str
    module: str  # such as "ngx_http_proxy_module"
    contexts: frozenset[str]  # of CONTEXTS
    counts: frozenset[int]  # the accepted numbers of arguments, if ``most_args`` is a number
    least_args: int
    most_args: int | None  # None: any number
    is_flag: bool  # on or off
    is_once: bool  # whether a block accepts it only once; false may also mean unknown
    is_block: bool
    value: str  # the form of its argument, one of VALUES; empty for others
    inheritance: Inheritance
    default: str | None
    """Its default as in nginx.conf, with memory pages of 4 KiB; None if it has none, or an unknown one."""
    since: str  # the first version of the row; empty for 1.18.0, or an older one
    until: str  # the first version after the row; empty for none

    def is_in(self, version: Sequence[int]) -> bool:
        """Tell whether the row covers a version."""
        return (not self.since or as_numbers(self.since) <= tuple(version)) and (
            not self.until or as_numbers(self.until) > tuple(version)
        )


def newest() -> str:
    """Return the newest version of nginx in the table."""
    return _text().partition("\n")[0]


def known() -> frozenset[str]:
    """Return the names of all directives in any version."""
    return frozenset(_lines())


def everything() -> Iterator[Directive]:
    """Yield all rows, by name and module."""
    return chain.from_iterable(map(rows_of, _lines()))


def changed() -> Iterator[Directive]:
    """Yield the rows of directives that changed between versions."""
    for name, lines in _lines().items():
        if not all(line.endswith("\t\t") for line in lines):
            yield from rows_of(name)


@cache
def rows_of(name: str) -> tuple[Directive, ...]:
    """Return a directive's rows, the oldest of each module first; empty for other modules' directives."""
    return tuple(_read(line) for line in _lines().get(name, ()) if "\t" in line)


def directive(name: str, version: Sequence[int], *, context: str = "") -> Directive | None:
    """Return the row of a directive for a version; if several modules have one with that name, the context decides."""
    found = [row for row in rows_of(name) if row.is_in(version) and (not context or context in row.contexts)]
    return min(found, key=_place, default=None)


def argument_problem(
    name: str, args: Sequence[str], *, has_block: bool, context: str, version: Sequence[int] | None
) -> str:
    """Return nginx's error message about a directive; empty if there is none, or if the directive is unknown.

    Without a version, all versions that have the directive must report an error; the newest version's is returned. An
    empty or unknown context is not checked.
    """
    rows = rows_of(name)
    if version is None:
        bounds = {as_numbers(bound) for row in rows for bound in (row.since or "0", row.until) if bound}
        versions = sorted(bound for bound in bounds if any(row.is_in(bound) for row in rows))
    else:
        versions = [tuple(version)]
    problems = [
        _problem([row for row in rows if row.is_in(one)], args, has_block=has_block, context=context)
        for one in versions
    ]
    return problems[-1] if problems and all(problems) else ""


def value_problem(name: str, args: Sequence[str], *, context: str) -> str:
    """Return what all versions report about a number, a size or a time, in nginx's words; empty if some accept it."""
    rows = [row for row in rows_of(name) if context not in CONTEXTS or context in row.contexts]
    problems = [_of_value(row, args) for row in rows]
    return problems[-1] if problems and all(problems) else ""


def _of_value(row: Directive, args: Sequence[str]) -> str:
    is_buffers = row.value == _BUFFERS
    forms = ("number", "size") if is_buffers else (row.value,) if row.value else ()
    has_zero = is_buffers and any(map(_ZERO.match, args))
    if not has_zero and all(VALUES[form].fullmatch(arg) for form, arg in zip(forms, args, strict=False)):
        return ""
    return f'"{row.name}" directive invalid {row.value if row.value == "number" else "value"}'


def _problem(rows: Sequence[Directive], args: Sequence[str], *, has_block: bool, context: str) -> str:
    """Return one version's error message, as in ngx_conf_handler of src/core/ngx_conf_file.c."""
    here = [row for row in rows if context not in CONTEXTS or context in row.contexts]
    if rows and not here:
        return f'"{rows[0].name}" directive is not allowed here'
    problems = [_own_problem(row, args, has_block=has_block) for row in here]
    return problems[0] if problems and all(problems) else ""


def _own_problem(row: Directive, args: Sequence[str], *, has_block: bool) -> str:
    if has_block and not row.is_block:
        return f'directive "{row.name}" is not terminated by ";"'
    if row.is_block and not has_block:
        return f'directive "{row.name}" has no opening "{{"'
    is_few = len(args) < row.least_args
    is_wrong = is_few or (row.most_args is not None and len(args) not in row.counts)
    if is_wrong and not (row.name in _OF_OTHERS and _OF_OTHERS[row.name].fullmatch(" ".join(args))):
        return f'invalid number of arguments in "{row.name}" directive'
    if row.is_flag and args[0].lower() not in {"on", "off"}:
        return f'invalid value "{args[0]}" in "{row.name}" directive, it must be "on" or "off"'
    return ""


def _place(row: Directive) -> int:
    """Return the index of a row's outermost context in the list of contexts: http{} before stream{} and mail{}."""
    return min(map(CONTEXTS.index, row.contexts))


@cache
def _text() -> str:
    return resources.files(__package__).joinpath("directives.tsv").read_text(encoding="utf-8")


@cache
def _lines() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    # The first lines are the version and the names of the columns.
    for line in _text().splitlines()[2:]:
        found.setdefault(line.partition("\t")[0], []).append(line)
    return found


def _read(line: str) -> Directive:
    name, module, contexts, arguments, kind, inheritance, default, since, until = line.split("\t")
    counts = frozenset(_counts(arguments))
    is_endless = arguments.endswith("-")
    return Directive(
        name=name,
        module=module,
        contexts=frozenset(contexts.split(",")),
        counts=counts,
        least_args=min(counts),
        most_args=None if is_endless else max(counts),
        is_flag=kind == "flag",
        is_once=kind not in {"", "block"},
        is_block=kind == "block",
        value=kind if kind in {*VALUES, _BUFFERS} else "",
        inheritance=Inheritance(inheritance),
        default=default or None,
        since=since,
        until=until,
    )


def _counts(arguments: str) -> Iterable[int]:
    """Return the numbers in "1", "1-3" or "1,3"; of "2-", which has no end, only the first."""
    least, dash, most = arguments.partition("-")
    return range(int(least), int(most or least) + 1) if dash else map(int, arguments.split(","))
