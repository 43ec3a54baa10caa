"""The names of directives: nginx's own, those of other modules, and misspelt ones."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tuneproof.conf.directives import known
from tuneproof.conf.statements import TABLES, Problem, Statement
from tuneproof.nginx_modules import is_packaged

KNOWN: Final = known()
"""The names of the directives in any version of nginx."""
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz_"
# No directive's name has such a character. Slashes and tildes are in _JOINED, since other programs' templates use them.
_NO_NAME: Final = re.compile(r"\w+[(=:].*", re.DOTALL)
# Web pages and word processors put other spaces than nginx's between words.
_JOINED: Final = re.compile(r"(\w+)(?:[~/,^]|[^\S \t\r\n]|[\u200b\ufeff]).*", re.DOTALL)
# nginx has no "else"; the other words follow an unquoted semicolon in copied headers, or one too many.
_NEVER: Final = frozenset(
    {*("else", "elseif", "elsif", "elif"), *("includeSubDomains", "includeSubdomains", "preload", "HttpOnly", "Secure")}
    | {"last", "permanent", "always"}
)
# Directives of Angie and of a module for health checks, with names that are similar to nginx's.
_OF_OTHERS: Final = frozenset({"client", "healthcheck"})
# nginx had these before 1.18, and no other product has them.
_REMOVED: Final = frozenset({"limit_zone", "optimize_server_names", "satisfy_any", "open_file_cache_retest"})
_LONG: Final = 6
_LONGEST: Final = max(map(len, KNOWN)) + 1


def slips(statements: Sequence[Statement]) -> Iterator[Problem]:
    """Yield the directives that were removed or must be misspelt, with nginx's message.

    Names of other modules' directives, except _OF_OTHERS, are not similar enough to nginx's to be reported.
    """
    for statement in statements:
        name, is_removed = statement.name, statement.name in _REMOVED
        is_other = name in KNOWN or name in _OF_OTHERS or name.startswith("$") or is_packaged(name)
        joined = _JOINED.fullmatch(name)
        is_torn = name in _NEVER or _NO_NAME.fullmatch(name) or (joined and joined[1] in KNOWN)
        is_slip = is_removed or (not is_other and (is_torn or _meant(name)))
        if is_slip:
            message = f'unknown directive "{name}"'
            yield Problem(file=statement.file, line=statement.line, message=message)
        # Another module's block has its own directives.
        if statement.block and (is_slip or name in KNOWN) and name not in TABLES:
            yield from slips(statement.block)


def _meant(name: str) -> bool:
    """Tell whether one removed, added, changed or swapped letter makes a name that of a directive.

    Short names, and names with digits such as http2, are too similar to each other.
    """
    if not _LONG <= len(name) <= _LONGEST or not name.replace("_", "").isalpha():
        return False
    halves = [(name[:at], name[at:]) for at in range(len(name) + 1)]
    less = (before + after[1:] for before, after in halves if after)
    swapped = (before + after[1] + after[0] + after[2:] for before, after in halves if len(after) > 1)
    other = (before + letter + after[1:] for before, after in halves if after for letter in _LETTERS)
    more = (before + letter + after for before, after in halves for letter in _LETTERS)
    return any(candidate in KNOWN for variants in (less, swapped, other, more) for candidate in variants)
