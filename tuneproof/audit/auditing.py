"""Audits a configuration."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tuneproof.audit.advice import Advised
from tuneproof.audit.patches import Edit, Replace, apply, diff, unified
from tuneproof.audit.rules import every_rule
from tuneproof.audit.version_choice import Choice, choose_version, installed_version
from tuneproof.conf.facts import Facts, facts_of
from tuneproof.conf.modules import has_known
from tuneproof.conf.refusals import of_later_versions
from tuneproof.conf.sources import Changed, Source, open_source
from tuneproof.conf.statements import Problem, Statement
from tuneproof.conf.tree import Configuration, read_configuration
from tuneproof.errors import BadInputError
from tuneproof.wording import each_once

# Versions as people write them, as nginx -v prints them, and as packages name them, with an epoch and a revision.
_VERSION: Final = re.compile(r"(?:nginx[/ -])?(?:v|\d+:)?([0-9]{1,4}(?:\.[0-9]{1,4}){1,3})(?:[-+~ ].*)?", re.IGNORECASE)
# One change may require another, such as a further option of the same socket.
_MOST_ROUNDS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The result of an audit."""

    facts: Facts
    advice: tuple[Advised, ...]  # the findings, the most urgent first
    source: Source
    choice: Choice | None = None  # how the versions were chosen; None if nginx's version is known
    versions: tuple[str, ...] = ()  # those compared if nginx's version is unknown; the last one's facts are shown
    older_problems: tuple[Problem, ...] = ()  # errors that only the older of these versions report
    is_installed: bool = False  # whether the version is that of this machine's nginx

    def shown(self, file: str) -> str:
        """Return a file's name for display: relative to the given folder."""
        return file.removeprefix(f"{self.source.folder.rstrip('/')}/") if self.source.folder else file

    def reason(self, advised: Advised) -> str:
        """Return the reason for a piece of advice, with files named as :meth:`shown` does."""
        return (
            advised.reason.replace(f"{self.source.folder.rstrip('/')}/", "") if self.source.folder else advised.reason
        )

    @property
    def patched_from(self) -> str:
        """The folder in which to apply a patch: the given one; / if files are outside the current one, else empty."""
        is_elsewhere = any(root.startswith(("/", "../")) for root in self.source.roots)
        return self.source.folder or ("/" if is_elsewhere else "")

    def _in_patch(self, file: str) -> str:
        """Return a file's name for use in a patch: git rejects names that begin with ``..``."""
        shown = self.shown(file)
        return str(Path(shown).resolve()) if shown.startswith("../") else shown

    def patch(self, edits: Sequence[Edit]) -> str:
        """Return changes as a unified diff; empty for a configuration that nginx would refuse."""
        configuration = self.facts.configuration
        return "" if configuration.is_broken else diff(edits, configuration.texts, shown=self._in_patch)

    def whole_patch(self) -> str:
        """Return all advised changes as one unified diff; empty if there are none."""
        return unified(self.facts.configuration.texts, self.patched(), shown=self._in_patch)

    def patched(self) -> Mapping[str, str]:
        """Return the files after all advised changes, including those that only an audit of the changed files finds."""
        now = self
        for _ in range(_MOST_ROUNDS):
            texts = now.facts.configuration.texts
            changed = apply(compatible(now.advice), texts)
            if now.facts.configuration.is_broken or changed.items() <= texts.items():
                break
            version = None if self.versions else self.facts.version
            now = audit_source(Changed(self.source, {**texts, **changed}), version=version)
        return now.facts.configuration.texts


def audit(
    named: str, *, version: str | None = None, prefix: str = "", values: Mapping[str, str] | None = None
) -> Audit:
    """Audit a file, a folder, or ``-`` for standard input; ``prefix`` and ``values`` are as for :func:`open_source`.

    Raises BadInputError: The version is invalid, or the files are unreadable, not nginx's, or non-envsubst templates.
    """
    source = open_source(named, prefix=prefix, values=values)
    installed = installed_version(named) if version is None else ""
    found = audit_source(source, version=version or installed or None)
    if version is None:
        return replace(found, is_installed=bool(installed))
    configuration = found.facts.configuration
    later = of_later_versions(configuration.main, found.facts.version_numbers)
    configuration = replace(configuration, problems=(*configuration.problems, *later))
    return replace(found, facts=replace(found.facts, configuration=configuration))


def audit_source(source: Source, *, version: str | None = None) -> Audit:
    """Audit an opened configuration for a version; default: all stable versions that support it, or else mainline.

    Raises BadInputError: As for :func:`audit`.
    """
    version = version if version is None else version_of(version)
    configuration = read_configuration(source)
    if not any(configuration.main.blocks) and not configuration.main.own:
        what = str(configuration.problems[0].message) if configuration.problems else "it contains no directives"
        where = next(iter(configuration.texts), "")
        raise BadInputError(
            f"not an nginx configuration: {what}", where=where, remedy="give the output of nginx -T, which is complete"
        )
    # Programs contain braces in such words, too.
    unknown = (one.message for one in configuration.problems if one.message.startswith("unknown directive"))
    is_misspelt = any("}" not in message for message in unknown)
    if not has_known(configuration) and not is_misspelt:
        raise BadInputError(
            "not an nginx configuration: none of its directives is nginx's or a known module's",
            where=next(iter(configuration.texts), ""),
            remedy="name an nginx.conf, or a file that it includes; for a log: ./lab explain FILE",
        )
    if version is not None:
        return _audit(configuration, source, version)
    choice = choose_version(configuration)
    audits = [_audit(configuration, source, one) for one in choice.versions]
    advice = tuple(sorted(_of_versions(audits), key=lambda advised: advised.urgency))
    versions = choice.versions if len(audits) > 1 else ()
    found = _problems_of_versions(audits)
    last = audits[-1].facts.configuration.problems
    configuration = replace(configuration, problems=tuple(found[problem] for problem in last))
    facts = replace(audits[-1].facts, configuration=configuration)
    older = tuple(problem for key, problem in found.items() if key not in last)
    return replace(audits[-1], facts=facts, advice=advice, choice=choice, versions=versions, older_problems=older)


def _audit(configuration: Configuration, source: Source, version: str) -> Audit:
    facts = facts_of(configuration, version)
    found = [advised for rule in every_rule() for advised in rule(facts)]
    return Audit(facts=facts, advice=tuple(sorted(found, key=lambda advised: advised.urgency)), source=source)


def _problems_of_versions(audits: Sequence[Audit]) -> Mapping[Problem, Problem]:
    """Return the problems on any version, each with a text that names the versions if only some have the problem."""
    seen: dict[Problem, list[str]] = {}
    for audit_ in audits:
        for problem in audit_.facts.configuration.problems:
            seen.setdefault(problem, []).append(audit_.facts.version)
    found = {}
    for problem, versions in seen.items():
        only = f" (on nginx {each_once(versions)})" if len(versions) < len(audits) else ""
        found[problem] = replace(problem, message=f"{problem.message}{only}")
    return found


def _of_versions(audits: Sequence[Audit]) -> Iterator[Advised]:
    """Yield the findings of all versions; one that applies to only some has no patch, unless ``breaks`` is true."""
    seen: dict[tuple[object, ...], list[tuple[str, Advised]]] = {}
    for audit_ in audits:
        for one in audit_.advice:
            seen.setdefault((one.claim, one.state, id(one.at), one.reason), []).append((audit_.facts.version, one))
    for found in seen.values():
        versions, (*_, newest) = zip(*found, strict=True)
        if len(versions) == len(audits):
            yield newest
        elif newest.breaks or not newest.edits:
            yield replace(newest, versions=versions)
        else:
            why = f"{newest.why}; --nginx {versions[-1]} shows a patch"
            yield replace(newest, why=why, edits=(), versions=versions)


def version_of(written: str, *, option: str = "--nginx") -> str:
    """Return the version that an option names: "1.22.1" for "v1.22.1", "nginx/1.22.1" and "1.22.1-9+deb12u8".

    Raises BadInputError: The text is not a version.
    """
    found = _VERSION.fullmatch(written.strip())
    if found is None:
        raise BadInputError(f"{option} {written}: not a version", remedy="give a version such as 1.22 or 1.29.7")
    return found[1]


def compatible(advice: Sequence[Advised]) -> list[Edit]:
    """Return the edits of all advice, except advice that conflicts with more urgent advice in any edit."""
    replaced: dict[Statement, str] = {}
    edits: list[Edit] = []
    for advised in advice:
        own = {edit.old: edit.text for edit in advised.edits if isinstance(edit, Replace)}
        if all(replaced.get(old, text) == text for old, text in own.items()):
            replaced |= own
            edits += advised.edits
    return edits
