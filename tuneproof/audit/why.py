"""The facts about a directive or a claim: keep, change or remove it; the verdict per version; the page."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tuneproof.audit.advice import State
from tuneproof.audit.conditions import WHERE
from tuneproof.audit.recorded import every_recorded
from tuneproof.conf.directives import Directive, known, rows_of
from tuneproof.errors import BadInputError
from tuneproof.lines import Concern, Line, every_line
from tuneproof.wording import as_numbers, close_to

# By state, if the row has no replacement for the directive.
_WORDS: Final = {
    State.HARMFUL: "change",
    State.WITHOUT_EFFECT: "do not count on it",
    State.EXPIRED: "not needed",
    State.IN_EFFECT: "keep",
    State.MISSING: "consider it",
    State.CANNOT_TELL: "check",
}
_NAMED: Final[Mapping[str, str]] = {
    "=ssl": "`listen … ssl;`",
    "=next upstream": "the same without `http_5xx`",
    "=zone": "`zone NAME 64k;`",
}
_GOES_ON: Final = re.compile(r"\w\{found\}")


def is_known(word: str) -> bool:
    """Tell whether it is the name of a directive, a scenario or a claim."""
    return word in known() or any(word in {key, *key.split("/")} for key in every_recorded())


def why(word: str) -> str:
    """Return the facts about a directive, a scenario or a claim, as text.

    Raises BadInputError: The name is unknown.
    """
    parts = [*_of_directive(word), *_of_claims(word)]
    if not parts:
        if any(line.claim == word for line in every_line()):
            raise BadInputError(f"{word}: declared, not measured yet", remedy=f"./lab run -k {word}")
        names = {*known(), *(name for key in every_recorded() for name in key.split("/"))}
        raise BadInputError(
            f"{word}: no directive and no claim", remedy=close_to(word, names) or "./lab matrix lists all"
        )
    return "\n\n".join(parts)


def _of_directive(word: str) -> Iterator[str]:
    rows = rows_of(word)
    if rows:
        yield "\n".join([word, *dict.fromkeys(map(_known, rows))])
    for line in every_line():
        for concern in line.audit:
            if word in {concern.directive, named(concern)}:
                condition = f" ({concern.where})" if concern.where in WHERE else ""
                what = f"{written(concern)}{condition}: {to_do(concern)}{_since(line)}"
                yield "\n".join([what, f"  {reason(line, concern)}"])
                yield from _of_claims(line.claim)


def _known(row: Directive) -> str:
    default = f"; default: {row.default}" if row.default else ""
    since = f"; since nginx {row.since}" if row.since else ""
    until = f"; until nginx {row.until}" if row.until else ""
    return f"  {row.module}, in {', '.join(sorted(row.contexts))}; {row.inheritance.value}{default}{since}{until}"


def _of_claims(word: str) -> Iterator[str]:
    for key, cell in every_recorded().items():
        if word in {key, *key.split("/")}:
            threshold = f"threshold: {cell['threshold']}" if cell["threshold"] else ""
            more = [f"  {line}" for line in (threshold, cell["page"]) if line]
            yield "\n".join([f"{key}: {cell['claim']}", *_verdicts(cell), *more])


def _verdicts(cell: Mapping[str, Any]) -> Iterator[str]:
    for version in sorted(cell["versions"], key=as_numbers):
        found = cell["versions"][version]
        yield f"  nginx {version}: {found['verdict']} {found['effect']}".rstrip()


def named(concern: Concern) -> str:
    """Return the directive of a row: the one that it looks for, or the one that it adds."""
    if concern.directive:
        return concern.directive
    text = _NAMED.get(concern.patch or "", concern.patch or "").strip("`")
    return text.partition(" ")[0].replace("{kind}", "proxy") or concern.block


def written(concern: Concern) -> str:
    """Return a row's directive with its arguments or bounds."""
    if concern.block:
        return named(concern)
    bounds = f" {concern.value}" if concern.value else ""
    # Words without regular-expression syntax are literal arguments.
    words = f" {concern.args}" if concern.args.replace("_", "").replace(" ", "").isalnum() else ""
    return f"{concern.directive}{words}{bounds}"


def to_do(concern: Concern) -> str:
    """Return what to do about a row's directive: "remove", "add `…`", "change to `…`", or a word for its state."""
    if concern.patch == "":
        return "remove"
    if concern.patch:
        # The audit fills in the user's name.
        text = _NAMED.get(concern.patch, f"`{concern.patch.replace('{kind}', 'proxy').replace('{arg}', 'NAME')}`")
        return f"{'add' if concern.block else 'change to'} {text}"
    return _WORDS[State(concern.state)]


def reason(line: Line, concern: Concern) -> str:
    """Return the reason without what only a user's file shows: an ellipsis, or nothing inside a word."""
    return concern.why.format(version=line.version, found="" if _GOES_ON.search(concern.why) else "…")


def _since(line: Line) -> str:
    first = line.since or line.version
    return f", since nginx {first}" if first else ""
