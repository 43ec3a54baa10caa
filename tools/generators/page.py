"""A generator's page: what to change and the gain, then the facts about each line."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from tools.docs.cells import plain
from tools.docs.gains import gains_of
from tools.generators.described import Generator
from tools.generators.judged import Judged, Status, judged
from tuneproof.audit.advice import Advised, State
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.audit.recorded import recorded_of
from tuneproof.conf.sources import Dump
from tuneproof.report.results.files import write_atomically
from tuneproof.report.results.run_file import load
from tuneproof.report.terminal.markdown import head, row
from tuneproof.report.words import measured
from tuneproof.wording import count

_LONGEST: Final = 100
_OWN: Final = "*The site's own*: names, addresses, paths and responses, which only you can know."
_QUIET: Final = frozenset({State.IN_EFFECT, State.CANNOT_TELL})


def audited(generator: Generator) -> Audit:
    """Return the audit of a generator's output for its version."""
    source = Dump({generator.file.name: generator.nginx_conf()}, is_complete=True)
    return audit_source(source, version=generator.nginx)


def write(generator: Generator) -> None:
    """Write a generator's configuration, and its page."""
    write_atomically(generator.file, generator.nginx_conf())
    write_atomically(generator.file.with_suffix(".md"), page(generator))


def page(generator: Generator) -> str:
    """Return the page, in Markdown."""
    audit = audited(generator)
    lines = judged(generator.nginx_conf(), audit)
    numbers = Counter(line.status for line in lines)
    totals = ", ".join(f"{numbers[status]} {status.value}" for status in Status)
    parts = [
        f"# {generator.name}: its nginx.conf, line by line",
        "\n".join(_about(generator)),
        "## What to change, and what it gains",
        *_measured(generator),
        *_further(audit),
        "## Line by line",
        f"{count(len(lines), 'directive')}: {totals}. {_OWN}",
        "\n".join([*head(("line", "in", "directive", "what is known")), *(_row(line, generator) for line in lines)]),
    ]
    return "\n\n".join(parts) + "\n"


def _measured(generator: Generator) -> Iterator[str]:
    run = f"`./lab run --nginx-conf docs/generators/{generator.file.name} --nginx {generator.nginx}`"
    if not generator.results.exists():
        yield f"Not measured yet; {run} does it."
        return
    own = load(generator.results)
    yield f"Measured on this configuration by {run}:"
    yield gains_of(own)
    if others := [cell for cell in own.cells if cell.remedy is None]:
        yield "Without changes:"
        yield "\n".join(f"- *{plain(cell.claim)}* {cell.verdict}: {plain(measured(cell))}" for cell in others)


def _about(generator: Generator) -> Iterator[str]:
    yield f"What [{generator.name}]({generator.source}) writes by default: {generator.rendered}."
    yield f"Version: {generator.version}; licence: {generator.licence}."
    yield f"Audited for nginx {generator.nginx}, the newest stable version in the lab" + (
        f" that is not newer than its {generator.targets}." if generator.targets else ", since it names no version."
    )
    yield ""
    yield f"[{generator.slug}.toml]({generator.slug}.toml) has its directives and their values, but none of its text;"
    yield f"[{generator.file.name}]({generator.file.name}) is made from them, in our own order."
    if generator.left_out:
        yield f"Left out: {'; '.join(generator.left_out)}."


def _further(audit: Audit) -> Iterator[str]:
    """Yield the audit's advice, with measurements on the catalogue's own configurations."""
    wanted = [one for one in audit.advice if one.state not in _QUIET]
    if not wanted:
        return
    yield "The advice of `./lab audit`, with patches; its figures are from the catalogue's own configurations:"
    items = []
    for _, group in groupby(wanted, key=lambda one: (one.state, one.claim)):
        ones = list(group)
        places = ", ".join(str(line) for line in sorted({one.at.line for one in ones}))
        lines = f"line{'s' if ',' in places else ''} {places}"
        items.append(f"- {lines}: {_advice(ones[0], audit.facts.version)}")
    yield "\n".join(items)


def _row(one: Judged, generator: Generator) -> str:
    # The section above has the reason for each change.
    parts = [_advice(advised, generator.nginx, why=advised.state in _QUIET) for advised in one.advised]
    parts += [_verdict(claim.scenario, claim.claim, generator.nginx) for claim in one.claims]
    return row([str(one.line), _code(one.within), _code(one.text), "<br>".join(parts) or one.status.value])


def _code(text: str) -> str:
    shown = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…").replace("|", r"\|")
    return f"`{shown}`"


def _advice(advised: Advised, version: str, *, why: bool = True) -> str:
    reason = f"{plain(advised.why)}. " if why else ""
    return f"**{advised.state.value}**: {reason}{_verdict(advised.name, advised.claim, version)}"


def _verdict(scenario: str, claim: str, version: str) -> str:
    recorded = recorded_of(scenario, claim, version)
    if recorded is None:
        return f"`{claim}` is not measured yet"
    effect = f": {recorded.effect}" if recorded.effect else ""
    where = recorded.page.removeprefix("docs/")
    return (
        f"*{plain(recorded.claim)}* {recorded.verdict} on nginx {recorded.nginx}{plain(effect)} ([{where}](../{where}))"
    )
