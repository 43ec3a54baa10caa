"""From a configuration to everything that can be told about it."""

from dataclasses import dataclass
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.facts import Facts, facts_of
from tuneproof.audit.rules import every_rule
from tuneproof.audit.sources import Source, open_source
from tuneproof.audit.tree import read_configuration
from tuneproof.errors import BadInputError
from tuneproof.wording import as_numbers

NEWEST: Final = "1.30"
"""The newest version of nginx whose defaults are known here."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What was found."""

    facts: Facts
    advice: tuple[Advised, ...]  # what advice comes to in it, the most urgent first


def audit(named: str, *, version: str = NEWEST, prefix: str = "") -> Audit:
    """Audit a file, a folder, or ``-`` for standard input; ``prefix`` is as for :func:`open_source`.

    Raises:
        BadInputError: It cannot be read, is a template, or the version is none.
    """
    return audit_source(open_source(named, prefix=prefix), version=version)


def audit_source(source: Source, *, version: str = NEWEST) -> Audit:
    """Audit a configuration that was opened.

    Raises:
        BadInputError: As for :func:`audit`.
    """
    try:
        as_numbers(version)
    except ValueError as error:
        raise BadInputError(f"--nginx {version}: no version", remedy="such as 1.22 or 1.29.7") from error
    configuration = read_configuration(source)
    facts = facts_of(configuration, version)
    if not any(configuration.main.blocks) and not configuration.main.own:
        what = str(configuration.problems[0].message) if configuration.problems else "nothing in it is a directive"
        where = next(iter(configuration.texts), "")
        raise BadInputError(f"no nginx configuration: {what}", where=where, remedy="nginx -T prints a whole one")
    order = list(State)
    found = [advised for rule in every_rule() for advised in rule(facts)]
    return Audit(facts=facts, advice=tuple(sorted(found, key=lambda advised: order.index(advised.state))))
