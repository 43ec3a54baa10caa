"""From a configuration to everything that can be told about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuneproof.audit.advice import Advised
from tuneproof.audit.patches import Edit, Replace, apply, diff, unified
from tuneproof.audit.rules import every_rule
from tuneproof.audit.version_choice import Choice, choose_version
from tuneproof.conf.facts import Facts, facts_of
from tuneproof.conf.sources import Changed, Source, open_source
from tuneproof.conf.tree import read_configuration
from tuneproof.errors import BadInputError
from tuneproof.wording import as_numbers

if TYPE_CHECKING:
    from tuneproof.conf.statements import Statement

NEWEST: Final = "1.30"
"""The newest version of nginx whose defaults are known here."""
# One change may leave something to be changed again, such as another option of the same socket.
_MOST_ROUNDS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What was found."""

    facts: Facts
    advice: tuple[Advised, ...]  # what advice comes to in it, the most urgent first
    source: Source
    choice: Choice | None = None  # of the version; None where it was given

    def shown(self, file: str) -> str:
        """Return a file's name as a reader sees it: relative to the folder that was named."""
        return file.removeprefix(f"{self.source.folder.rstrip('/')}/") if self.source.folder else file

    def patch(self, edits: Sequence[Edit]) -> str:
        """Return some changes as a unified diff; the empty string for a configuration that nginx would refuse."""
        configuration = self.facts.configuration
        return "" if configuration.is_broken else diff(edits, configuration.texts, shown=self.shown)

    def whole_patch(self) -> str:
        """Return one unified diff of all that is advised; the empty string where nothing is."""
        return unified(self.facts.configuration.texts, self.patched(), shown=self.shown)

    def patched(self) -> Mapping[str, str]:
        """Return the files with all that is advised, as if patch after patch were applied."""
        now = self
        for _ in range(_MOST_ROUNDS):
            texts = now.facts.configuration.texts
            changed = apply(_compatible(now.advice), texts)
            if now.facts.configuration.is_broken or changed.items() <= texts.items():
                break
            now = audit_source(Changed(self.source, {**texts, **changed}), version=self.facts.version)
        return now.facts.configuration.texts


def audit(named: str, *, version: str | None = None, prefix: str = "") -> Audit:
    """Audit a file, a folder, or ``-`` for standard input; ``prefix`` is as for :func:`open_source`.

    Raises BadInputError: It cannot be read, is a template, or the version is none.
    """
    return audit_source(open_source(named, prefix=prefix), version=version)


def audit_source(source: Source, *, version: str | None = None) -> Audit:
    """Audit a configuration that was opened, for the oldest version that knows its directives unless one is given.

    Raises BadInputError: As for :func:`audit`.
    """
    if version is not None:
        numbers_of(version)
    configuration = read_configuration(source)
    choice = None
    if version is None:
        choice = choose_version(configuration)
        version = choice.version
    facts = facts_of(configuration, version)
    if not any(configuration.main.blocks) and not configuration.main.own:
        what = str(configuration.problems[0].message) if configuration.problems else "nothing in it is a directive"
        where = next(iter(configuration.texts), "")
        raise BadInputError(f"no nginx configuration: {what}", where=where, remedy="nginx -T prints a whole one")
    found = [advised for rule in every_rule() for advised in rule(facts)]
    advice = tuple(sorted(found, key=lambda advised: advised.urgency))
    return Audit(facts=facts, advice=advice, source=source, choice=choice)


def numbers_of(version: str, *, option: str = "--nginx") -> tuple[int, ...]:
    """Return the version that an option names as numbers, which compare as versions do.

    Raises BadInputError: It is none.
    """
    try:
        return as_numbers(version)
    except ValueError as error:
        raise BadInputError(f"{option} {version}: no version", remedy="such as 1.22 or 1.29.7") from error


def _compatible(advice: Sequence[Advised]) -> list[Edit]:
    """Return the edits of all advice that does not replace what other advice, more urgent, replaces otherwise."""
    replaced: dict[Statement, str] = {}
    edits: list[Edit] = []
    for advised in advice:
        own = {edit.old: edit.text for edit in advised.edits if isinstance(edit, Replace)}
        if all(replaced.get(old, text) == text for old, text in own.items()):
            replaced |= own
            edits += advised.edits
    return edits
