"""An audit as text: first what breaks, then what is costly, what has no effect, and the patches."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.auditing import Audit, compatible
from tuneproof.audit.differences import Effect
from tuneproof.audit.recorded import recorded_of
from tuneproof.audit.upgrade import Upgrade
from tuneproof.conf.directives import newest
from tuneproof.conf.modules import foreign
from tuneproof.conf.refusals import of_later_versions
from tuneproof.conf.reuse import Reuse
from tuneproof.conf.statements import Problem, Statement
from tuneproof.conf.tree import Block
from tuneproof.lines import DOCUMENTED
from tuneproof.nginx_changes import LAB_VERSIONS
from tuneproof.nginx_modules import is_packaged
from tuneproof.wording import as_numbers, count, each_once, one_line, plain

_MEASURED: Final = "measured: "
_PLACES: Final = 4
_WIDEST: Final = 100
_TITLES: Final = ("BREAKS OR LEAKS", "COSTS", "NO EFFECT", "FINE OR ROUTINE")
_SOME: Final = "OLDER VERSIONS DO NOT START"
_FINE: Final = 3
_LABELS: Final = {State.CANNOT_TELL: "depends", State.MISSING: "consider"}


def render(audit: Audit, *, width: int, details: bool = False, patches: bool = True) -> str:
    """Return an audit as text; ``details`` adds settings that are fine and routine hints."""
    width = min(width, _WIDEST)
    shown = [advised for advised in audit.advice if details or advised.urgency[0] != _FINE]
    parts = [
        _summary(audit, width),
        *_problems(audit, width, more=audit.older_problems),
        *_sections(shown, audit, width),
        *_rest(audit, shown, width=width, details=details),
        *(_patches(shown, audit) if patches else ()),
    ]
    return "\n\n".join(parts)


def _summary(audit: Audit, width: int) -> str:
    facts = audit.facts
    parts = [count(len(facts.servers), "server"), count(len(facts.upstreams), "upstream block")]
    if facts.stream_servers:
        parts.append(count(facts.stream_servers, "stream server"))
    if mail := sum(server.path[:1] == ("mail",) for server in facts.configuration.main.all("server")):
        parts.append(count(mail, "mail server"))
    reuses: dict[int, list[bool]] = {}
    for proxied in facts.proxied:
        # An ``if`` belongs to its location.
        place = proxied.target.block.around("location") or proxied.target.block
        reuses.setdefault(id(place), []).append(proxied.reuse.reuse is Reuse.YES)
    reused = sum(map(all, reuses.values()))
    passed = count(len(reuses), "proxied location")
    if reuses and not audit.versions:
        passed += f", {reused or 'none'} of which {'reuses' if reused == 1 else 'reuse'} upstream connections"
    return _wrapped(f"{_version(audit)}: {', '.join(parts)}, {passed}.", width)


def _version(audit: Audit) -> str:
    if audit.choice is not None:
        because, last = audit.choice.because, audit.facts.version
        versions = f"{audit.versions[0]} to {last}" if audit.versions else last
        have = "have" if audit.versions else "has"
        because_of = f", which {have} {because.what} ({_at(audit, because.said)})" if because is not None else ""
        return f"Audited for nginx {versions}{because_of} (yours? --nginx VERSION)"
    where = ", which is installed here" if audit.is_installed else ""
    numbers, oldest = audit.facts.version_numbers, LAB_VERSIONS[0]
    if numbers > as_numbers(newest()) or numbers < as_numbers(oldest):
        bound = f"after {newest()}" if numbers > as_numbers(oldest) else f"before {oldest}"
        where += f" (changes {bound} are not known)"
    return f"Audited for nginx {audit.facts.version}{where}"


def _at(audit: Audit, at: Statement | Block) -> str:
    return f"{one_line(audit.shown(at.file))}:{at.line}"


def _problems(audit: Audit, width: int, *, nginx: str = "NGINX", more: Iterable[Problem] = ()) -> Iterator[str]:
    configuration = audit.facts.configuration
    if stand_ins := [f"{one.written} = {one.value}" for one in configuration.filled if not one.is_given]:
        filled = ", ".join(map(one_line, stand_ins))
        yield _wrapped(
            f"A template, filled in with placeholders: {filled}. Give yours with --set NAME=VALUE or --env FILE.", width
        )
    problems = (*configuration.problems, *more)
    lines = [
        f"{one_line(audit.shown(problem.file))}:{problem.line}: {one_line(problem.message)}" for problem in problems
    ]
    if lines:
        title = f"{nginx} DOES NOT START" if configuration.is_broken or not audit.older_problems else _SOME
        yield "\n".join([title, *(f"  {line}" for line in lines)])
        if configuration.is_broken and (other := _of_other_product(audit)):
            yield _wrapped(
                f"{other} is not nginx's own: a product or module that has it may accept these lines.", width
            )
    if configuration.unseen:
        missing = ", ".join(one_line(audit.shown(name)) for name in configuration.unseen)
        unread = (
            f"Not found, or not a regular file: {missing}. This may change the findings; `nginx -T` prints all files."
        )
        yield _wrapped(unread, width)
    elif configuration.is_fragment:
        yield _wrapped("This is part of a configuration: the rest may change the findings.", width)


def _of_other_product(audit: Audit) -> str:
    """Return a directive that neither nginx nor a packaged module has, with its place; empty for none."""
    found = next((said for said in foreign(audit.facts.configuration) if not is_packaged(said.name)), None)
    return f"{one_line(found.name)} ({_at(audit, found)})" if found is not None else ""


def _sections(shown: Sequence[Advised], audit: Audit, width: int) -> Iterator[str]:
    for rank, members in groupby(shown, key=lambda one: one.urgency[0]):
        groups: dict[tuple[object, ...], list[Advised]] = {}
        for one in members:
            groups.setdefault((one.state, one.claim, one.reason, one.versions), []).append(one)
        shown_before: set[str] = set()
        yield "\n".join([_TITLES[rank], *(_group(group, audit, width, shown_before) for group in groups.values())])


def _group(group: Sequence[Advised], audit: Audit, width: int, shown_before: set[str]) -> str:
    """Return a finding with its evidence, unless that is in ``shown_before``, the evidence shown in this section."""
    first = group[0]
    places = list(dict.fromkeys(_at(audit, advised.at) for advised in group))
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    on = f", on nginx {each_once(first.versions)}" if first.versions else ""
    label = _LABELS.get(first.state, first.state.value)
    name = first.claim if first.name == DOCUMENTED else first.name
    lines = [f"{', '.join(places[:_PLACES])}{more}: {label}, {name}{on}", _wrapped(audit.reason(first), width, "  ")]
    for line in _grounds(first, audit):
        is_repeated = line.startswith(_MEASURED) and line in shown_before
        lines.append(_wrapped(f"{_MEASURED}as above" if is_repeated else line, width, "  "))
        shown_before.add(line)
    return "\n".join(lines)


def _grounds(advised: Advised, audit: Audit) -> Iterator[str]:
    """Yield the evidence: a measurement or nginx's documentation, and the command that checks an uncertain finding."""
    recorded = recorded_of(advised.name, advised.claim, audit.facts.version)
    if recorded is not None and recorded.effect:
        page = f" ({recorded.page})" if recorded.page else ""
        yield f'{_MEASURED}"{recorded.claim}" {recorded.verdict} on nginx {recorded.nginx}: {recorded.effect}{page}'
    if advised.source:
        yield f"documented: {advised.source}"
    if advised.check and advised.state is State.CANNOT_TELL:
        yield f"to check: {advised.check}"


def _rest(audit: Audit, shown: Sequence[Advised], *, width: int, details: bool) -> Iterator[str]:
    if not shown and not audit.facts.configuration.problems and not audit.older_problems:
        yield "Nothing to change."
    if not details:
        # Each place counts once, even if versions need different patches.
        routine = Counter(name for name, _ in {(one.name, id(one.at)): one for one in audit.advice if one.routine})
        if routine:
            hints = ", ".join(f"{name} ({number})" for name, number in routine.items())
            yield _wrapped(f"Routine hints, true of most configurations: {hints}; --details shows them.", width)
        if fine := len(
            {(one.claim, id(one.at)) for one in audit.advice if one.urgency[0] == _FINE and not one.routine}
        ):
            yield f"{fine} more {'is' if fine == 1 else 'are'} fine (--details)."
    recorded = [recorded_of(advised.name, advised.claim, audit.facts.version) for advised in shown]
    if machines := dict.fromkeys(found.machine for found in recorded if found):
        yield _wrapped(f"Measured on: {'; '.join(machines)}", width)


def _patches(shown: Sequence[Advised], audit: Audit) -> Iterator[str]:
    if audit.facts.configuration.is_broken:
        yield "No patch: nginx does not start with this configuration; see the problems above."
    for names, advice in _together(shown):
        if patch := audit.patch(compatible(advice)):
            yield _patch(f"Patch for {each_once(names)}", patch)


def _together(shown: Sequence[Advised]) -> list[tuple[list[str], list[Advised]]]:
    """Return the advice for each patch, with its names: findings that need the same change share a patch."""
    groups: list[tuple[list[str], list[Advised]]] = []
    for name in dict.fromkeys(advised.name for advised in shown):
        names, advice = [name], [advised for advised in shown if advised.name == name]
        edits = {edit for advised in advice for edit in advised.edits}
        for group in [one for one in groups if any(not edits.isdisjoint(advised.edits) for advised in one[1])]:
            groups.remove(group)
            names, advice = [*group[0], *names], [*group[1], *advice]
        groups.append((names, advice))
    return groups


def _patch(title: str, patch: str) -> str:
    """Return a patch with its title, which mentions characters that were escaped for the terminal."""
    escaped = "" if plain(patch) == patch else " (some characters are escaped here; --patch FILE has them)"
    return f"{title}{escaped}:\n{patch.rstrip()}"


def render_upgrade(found: Upgrade, *, width: int) -> str:
    """Return the changes of an upgrade as text."""
    width = min(width, _WIDEST)
    audit, new = found.before, found.after.facts.version
    number = count(len(found.differences), "change affects these files", "changes affect these files")
    parts = [f"From nginx {_release(audit.facts.version)} to {_release(new)}: {number}."]
    if as_numbers(new) > as_numbers(newest()):
        parts.append(f"This version of Tuneproof does not know changes after {newest()}.")
    later = list(of_later_versions(audit.facts.configuration.main, audit.facts.version_numbers))
    nginx = "NGINX" if found.after.facts.configuration.is_broken else f"NGINX {audit.facts.version}"
    parts += _problems(audit, width, nginx=nginx, more=later)
    is_upgrade = audit.facts.version_numbers <= as_numbers(new)
    for _, group in groupby(found.differences, key=lambda one: (one.effect, one.what, one.since, one.why)):
        ones = list(group)
        first = ones[0]
        places = list(dict.fromkeys(_at(audit, one.at) for one in ones))
        more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        since = f"{'since' if is_upgrade else 'changed in'} {first.since}: " if first.since else ""
        parts.append(
            f"{first.effect.value}: {one_line(first.what)}, {', '.join(places[:_PLACES])}{more}\n"
            + _wrapped(f"{since}{first.why}", width, "  ")
        )
    for title, defaults in ((f"Patch for nginx {new}", False), ("Only to keep the old defaults", True)):
        left = [one for one in found.differences if one.effect is Effect.REFUSED and not one.edits and not defaults]
        still = " (nginx needs more changes to start: make the others by hand)" if left else ""
        if patch := found.patch(defaults=defaults):
            parts.append(_patch(f"{title}{still}", patch))
    return "\n\n".join(parts)


def _release(version: str) -> str:
    """Return a version; a mainline branch is followed by the release that it means."""
    release = ".".join(map(str, as_numbers(version)))
    return version if version == release else f"{version} ({release})"


def _wrapped(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(
        one_line(text),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
