"""The status of each line of a configuration: tested here, nginx's default, the site's own, or not tested yet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tuneproof.audit.advice import Advised
from tuneproof.audit.auditing import Audit
from tuneproof.conf.directives import directive
from tuneproof.conf.statements import Statement, parse_file
from tuneproof.conf.values import size_bytes, time_ms
from tuneproof.lines import Line, every_line
from tuneproof.wording import as_numbers

_UPSTREAM: Final = "upstream"
_TABLES: Final = frozenset({"map", "types", "geo"})
# Directives with the site's names, its files' paths, and its responses.
_NAMING: Final = frozenset(
    {
        *("alias", "allow", "daemon", "deny", "error_log", "error_page", "include", "index", "internal", "log_format"),
        *("pid", "return", "root", "server", "server_name", "set", "stub_status", "try_files", "user"),
        *("ssl_certificate", "ssl_certificate_key", "ssl_dhparam", "ssl_trusted_certificate"),
        *(f"{kind}_temp_path" for kind in ("client_body", "proxy", "fastcgi", "scgi", "uwsgi")),
        *("proxy_pass", "fastcgi_pass", "fastcgi_param", "fastcgi_index"),
    }
)


class Status(StrEnum):
    """The status of a line, as pages name it."""

    TESTED = "tested here"
    DEFAULT = "as nginx's default"
    OWN = "the site's own"
    UNTESTED = "not tested yet"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A directive with its status."""

    line: int
    within: str  # the block around it; "main" if there is none
    text: str
    status: Status
    advised: Sequence[Advised] = ()  # the audit's findings
    claims: Sequence[Line] = ()  # the measurements of this very line that the audit does not cover


@dataclass(frozen=True, kw_only=True)
class _Level:
    text: str
    said: Sequence[Statement]

    @property
    def name(self) -> str:
        return self.text.partition(" ")[0]


def judged(text: str, audit: Audit) -> list[Judged]:
    """Return every directive in a configuration, in the order of the lines; each must be on a line of its own."""
    lines = text.splitlines()
    main = _Level(text="main", said=parse_file("", text).statements)
    return [_judged(said, lines[said.line - 1].strip(), levels, audit) for said, levels in _everything((main,))]


def _everything(levels: tuple[_Level, ...]) -> Iterator[tuple[Statement, tuple[_Level, ...]]]:
    """Yield every directive with the blocks around it, the innermost first."""
    for said in levels[0].said:
        yield said, levels
        if said.block is not None:
            inner = _Level(text=" ".join((said.name, *said.args)), said=said.block)
            yield from _everything((inner, *levels))


def _judged(said: Statement, text: str, levels: tuple[_Level, ...], audit: Audit) -> Judged:
    advised = [advised for advised in audit.advice if advised.at.line == said.line]
    spoken_for = {one.name for one in advised}
    claims = [line for line in every_line() if line.line == text and not line.audit and line.scenario not in spoken_for]
    if claims or any(not one.source for one in advised):
        status = Status.TESTED
    elif said.block is not None or said.name in _NAMING or levels[0].name in _TABLES:
        status = Status.OWN
    elif _is_default(said.name, levels, audit.facts.version):
        status = Status.DEFAULT
    else:
        status = Status.UNTESTED
    return Judged(line=said.line, within=levels[0].text, text=text, status=status, advised=advised, claims=claims)


def _is_default(name: str, levels: tuple[_Level, ...], version: str) -> bool:
    """Return whether a directive sets a version's default, and no outer block sets anything else."""
    # An upstream block inherits nothing.
    is_of_upstream = levels[0].name == _UPSTREAM
    found = directive(name, as_numbers(version), context=_UPSTREAM if is_of_upstream else "")
    default = found.default if found is not None else None
    said = [one for level in levels[: 1 if is_of_upstream else None] for one in level.said if one.name == name]
    return default is not None and all(_same(one.args, default.split()) for one in said)


def _same(given: Sequence[str], default: Sequence[str]) -> bool:
    return len(given) == len(default) and all(map(_mean_the_same, given, default))


def _mean_the_same(one: str, other: str) -> bool:
    return one == other or any(
        (value := read(one)) is not None and value == read(other) for read in (size_bytes, time_ms)
    )
