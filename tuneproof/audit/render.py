"""An audit as text: what to change first, then why, then the changes."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.auditing import Audit
from tuneproof.audit.recorded import recorded_of
from tuneproof.audit.upgrade import Upgrade
from tuneproof.nginx_changes import LAB_VERSIONS
from tuneproof.wording import as_numbers, count, one_line

_PLACES: Final = 4
_NOT_YET: Final = "1.31"
_WIDEST: Final = 100
_QUIET: Final = frozenset({State.IN_EFFECT, State.CANNOT_TELL})


def render(audit: Audit, *, width: int, details: bool = False, patches: bool = True) -> str:
    """Return an audit for a person."""
    width = min(width, _WIDEST)
    told = [advised for advised in audit.advice if details or advised.state not in _QUIET]
    parts = [
        _summary(audit),
        *_problems(audit, width),
        *(
            _group(list(group), audit, width)
            for _, group in groupby(told, key=lambda one: (one.state, one.name, one.why))
        ),
        *_rest(audit, width=width, details=details),
        *(_patches(told, audit) if patches else ()),
    ]
    return "\n\n".join(parts)


def _summary(audit: Audit) -> str:
    facts = audit.facts
    parts = [count(len(facts.servers), "server"), count(len(facts.upstreams), "upstream block")]
    if facts.stream_servers:
        parts.append(count(facts.stream_servers, "stream server"))
    reuse = Counter(proxied.reuse.reuse.value for proxied in facts.proxied)
    answers = ", ".join(f"{answer}: {number}" for answer, number in reuse.most_common())
    passed = count(len(facts.proxied), "place that passes requests on", "places that pass requests on")
    kept = f" (connections kept: {answers})" if answers else ""
    return f"Read for nginx {facts.version}{_chosen(audit)}: {', '.join(parts)}, {passed}{kept}."


def _chosen(audit: Audit) -> str:
    if audit.choice is None:
        return ""
    oldest = f" (the oldest of {', '.join(LAB_VERSIONS)}"
    if (because := audit.choice.because) is not None:
        oldest += f" that knows {because.what}, {audit.shown(because.said.file)}:{because.said.line}"
    return f"{oldest}; yours: --nginx VERSION)"


def _problems(audit: Audit, width: int) -> Iterator[str]:
    configuration = audit.facts.configuration
    lines = [
        f"{audit.shown(problem.file)}:{problem.line}: {one_line(problem.message)}" for problem in configuration.problems
    ]
    if lines:
        yield "\n".join(["Problems", *(f"  {line}" for line in lines)])
    if configuration.unseen:
        unseen = f"Not here, so nothing is said of them: {', '.join(map(one_line, configuration.unseen))}"
        yield _wrapped(f"{unseen}. `nginx -T` prints them all.", width)
    elif configuration.is_fragment:
        yield _wrapped("This is a part of a configuration: what the rest says may change the answers.", width)


def _group(group: Sequence[Advised], audit: Audit, width: int) -> str:
    first, version = group[0], audit.facts.version
    places = [f"{audit.shown(advised.at.file)}:{advised.at.line}" for advised in group]
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    lines = [
        f"{first.state.value}: {first.name}, {', '.join(places[:_PLACES])}{more}",
        _wrapped(first.why, width, "  "),
    ]
    if (recorded := recorded_of(first.name, first.claim, version)) is not None and recorded.effect:
        measured = f'"{recorded.claim}" {recorded.verdict} on nginx {recorded.nginx}: {recorded.effect}'
        page = f" ({recorded.page})" if recorded.page else ""
        lines.append(_wrapped(f"{measured}{page}", width, "  "))
    return "\n".join(lines)


def _rest(audit: Audit, *, width: int, details: bool) -> Iterator[str]:
    if not audit.advice:
        yield "No advice of the catalogue concerns anything here."
    elif not details and (quiet := Counter(one.state.value for one in audit.advice if one.state in _QUIET)):
        said = ", ".join(f"{state}: {number}" for state, number in quiet.items())
        yield f"Besides, {said}; --details says which."
    recorded = [recorded_of(advised.name, advised.claim, audit.facts.version) for advised in audit.advice]
    if machines := dict.fromkeys(found.machine for found in recorded if found):
        yield _wrapped(f"Measured on: {'; '.join(machines)}", width)


def _patches(told: Sequence[Advised], audit: Audit) -> Iterator[str]:
    if audit.facts.configuration.is_broken:
        yield "No patch: nginx would not start with this configuration; see the problems above."
    for name in dict.fromkeys(advised.name for advised in told):
        if patch := audit.patch([edit for advised in told if advised.name == name for edit in advised.edits]):
            yield f"Patch for {name}:\n{patch.rstrip()}"


def render_upgrade(found: Upgrade, *, width: int) -> str:
    """Return what an upgrade changes for a person."""
    width = min(width, _WIDEST)
    audit, new = found.before, found.after.facts.version
    parts = [
        f"From nginx {audit.facts.version} to {new}: {count(len(found.differences), 'difference')} in these files."
    ]
    if as_numbers(new) >= as_numbers(_NOT_YET):
        parts.append(f"What came with {_NOT_YET} and later is not known here.")
    parts += _problems(audit, width)
    for _, group in groupby(found.differences, key=lambda one: (one.effect, one.what, one.since, one.why)):
        ones = list(group)
        first = ones[0]
        places = [f"{audit.shown(one.at.file)}:{one.at.line}" for one in ones]
        more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        since = f"since {first.since}: " if first.since else ""
        parts.append(
            f"{first.effect.value}: {first.what}, {', '.join(places[:_PLACES])}{more}\n"
            + _wrapped(f"{since}{first.why}", width, "  ")
        )
    for title, defaults in ((f"Patch for nginx {new}", False), ("Only to keep the old defaults", True)):
        if patch := found.patch(defaults=defaults):
            parts.append(f"{title}:\n{patch.rstrip()}")
    return "\n\n".join(parts)


def _wrapped(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(
        one_line(text),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
