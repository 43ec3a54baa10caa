"""Facts about a directive or a claim: whether to keep, change or remove it, its verdict on each version, its page."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tuneproof.audit.advice import State
from tuneproof.audit.conditions import WHERE
from tuneproof.audit.recorded import every_recorded
from tuneproof.conf.directives import Directive, Inheritance, known, rows_of
from tuneproof.conf.statements import Statement, parse_file
from tuneproof.errors import BadInputError
from tuneproof.lines import Concern, Line, every_line
from tuneproof.nginx_changes import BACKPORTED, LAB_VERSIONS, Kind, of_directive
from tuneproof.nginx_modules import is_packaged, module_of
from tuneproof.wording import VERDICT_WORDS, as_numbers, close_to

_APART: Final = "removed before, from a module that comes separately (njs, OpenTelemetry, ACME), or from nginx Plus"
# The words for each state, for rows without a replacement for the directive.
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
_ANY: Final = ".*"
_GOES_ON: Final = re.compile(r"\w\{found\}")
_SYSCTL: Final = re.compile(r"(?:net|kernel|fs|vm)\.")
_INHERITED: Final = {
    Inheritance.INHERITED: "inherited",
    Inheritance.REPLACED: "inherited, unless the block has any of its own",
    Inheritance.NEVER: "not inherited",
}
# Claims use these words only for the directives; others, such as `if`, also occur in other meanings.
_ONLY_DIRECTIVES: Final = frozenset({"aio", "keepalive", "ssi"})
# In a longer list, important claims would be hard to find.
_MOST_CLAIMS: Final = 8


def is_known(word: str) -> bool:
    """Tell whether a word is the name of a directive, a scenario or a claim."""
    return word in known() or any(word in {key, *key.split("/")} for key in every_recorded())


def why(word: str) -> str:
    """Return the facts about a directive, a scenario or a claim as text; for other words, claims that mention them.

    A line of nginx.conf means its directive. Raises BadInputError: The name is unknown.
    """
    first, _, rest = word.rstrip("; ").partition(" ")
    parts = [*_of_directive(word), *_of_claims(word)] or list(_of_module(word))
    if not parts and (rest or word.endswith(";")) and is_directive(first):
        return why(first)
    if not parts or (len(parts) == 1 and ("_" in word or word in _ONLY_DIRECTIVES) and word in known()):
        parts += mentions(word)
    if not parts:
        if word.startswith("$"):
            raise BadInputError(f"{word}: variables are not looked up", remedy="name the directive that contains it")
        if any(line.claim == word for line in every_line()):
            raise BadInputError(f"{word}: declared, not measured yet", remedy=f"./lab run -k {word}")
        names = {*known(), *(name for key in every_recorded() for name in key.split("/"))}
        raise BadInputError(
            f"{word}: no directive, claim or message",
            remedy=close_to(word, names) or "docs/README.md finds pages by symptom, directive and tool",
        )
    return "\n\n".join(parts)


def is_directive(word: str) -> bool:
    """Tell whether nginx or a packaged module has a directive of this name."""
    return word in known() or is_packaged(word)


def mentions(word: str) -> list[str]:
    """Return the claims with a word in their sentence, one per line, up to a maximum; empty for none.

    A kernel setting is found with or without its path. Variables are not looked up.
    """
    meant = word.rpartition(".")[2] if _SYSCTL.match(word) else word
    if not meant or meant.startswith("$"):
        return []
    # netstat(8) writes TIME_WAIT, ss(8) TIME-WAIT.
    has = re.compile(rf"(?<![\w.]){re.escape(meant).replace('_', '[-_]')}s?(?!\w)", re.IGNORECASE)
    found = [f"  {key}: {cell['claim']}" for key, cell in every_recorded().items() if has.search(cell["claim"])]
    more = [f"  and {len(found) - _MOST_CLAIMS} more"] if len(found) > _MOST_CLAIMS else []
    return ["\n".join([f"Claims that mention {meant}:", *found[:_MOST_CLAIMS], *more])] if found else []


def _of_module(word: str) -> Iterator[str]:
    """Yield the origin of a directive that is not in nginx's own sources."""
    module = module_of(word, in_stream=False) or module_of(word, in_stream=True)
    if module is not None:
        yield f"{word}\n  of the module {module.name}, which Debian packages as {module.packages[0]}"
    elif word in known():
        yield f"{word}\n  in nginx's documentation, but not in the sources since {LAB_VERSIONS[0]}: {_APART}"


def _of_directive(word: str) -> Iterator[str]:
    rows = rows_of(word)
    if rows:
        yield "\n".join([word, *dict.fromkeys(map(_known, rows)), *_changes(word)])
    for line in every_line():
        for concern in line.audit:
            if word in {*concern.directives, named(concern)}:
                name = word if word in concern.directives else named(concern)
                condition = f" ({concern.where})" if concern.where in WHERE else ""
                what = f"{written(concern, name)}{condition}: {to_do(concern, name)}{_versions(line, concern)}"
                yield "\n".join([what, f"  {reason(line, concern, name)}"])
                yield from _of_claims(line.claim)


def _known(row: Directive) -> str:
    default = f"; default: {row.default}" if row.default else ""
    backported = " or a security update of a distribution" if row.name in BACKPORTED else ""
    since = f"; since nginx {row.since}{backported}" if row.since else ""
    until = f"; until nginx {row.until}" if row.until else ""
    how = f"; {_INHERITED[row.inheritance]}" if not row.is_block and row.inheritance in _INHERITED else ""
    return f"  {row.module}, in {', '.join(sorted(row.contexts))}{how}{default}{since}{until}"


def _changes(word: str) -> Iterator[str]:
    """Yield the changes between nginx versions that the table of directives does not show."""
    for change in of_directive(word):
        if change.kind is Kind.NEW and change.parameter:
            what = "variables" if change.parameter == "$" else change.parameter
            yield f"  nginx {change.version}: new: {what}{f' in {change.block}' if change.block else ''}"
        elif change.meaning and change.kind is not Kind.NEW:
            yield f"  nginx {change.version}: {f'{change.parameter}: ' if change.parameter else ''}{change.meaning}"


def _of_claims(word: str) -> Iterator[str]:
    for key, cell in every_recorded().items():
        if word in {key, *key.split("/")}:
            threshold = f"threshold: {cell['threshold']}" if cell["threshold"] else ""
            more = [f"  {line}" for line in (threshold, cell["page"]) if line]
            yield "\n".join([f"{key}: {cell['claim']}", *_verdicts(cell), *more])


def _verdicts(cell: Mapping[str, Any]) -> Iterator[str]:
    for version in sorted(cell["versions"], key=as_numbers):
        found = cell["versions"][version]
        verdict = VERDICT_WORDS.get(found["verdict"], found["verdict"])
        yield f"  nginx {version}: {verdict} {found['effect']}".rstrip()


def named(concern: Concern) -> str:
    """Return the directive of a row: the one that it looks for, or the one that it adds."""
    if concern.directive:
        return concern.directives[0]
    text = _NAMED.get(concern.patch or "", concern.patch or "").strip("`")
    return text.partition(" ")[0].replace("{kind}", "proxy") or concern.block


def written(concern: Concern, name: str = "") -> str:
    """Return a row's directive with its arguments or bounds; for a regular expression, with arguments that match.

    ``name``: one of its directives (default: the first).
    """
    name = name or named(concern)
    if concern.block:
        return name
    bounds = f" {concern.value}" if concern.value else ""
    if concern.args == _ANY:
        return f"{name}{bounds}"
    # Words without regular-expression syntax are literal arguments.
    is_literal = concern.args.replace("_", "").replace(" ", "").isalnum()
    return f"{name} {concern.args}{bounds}" if is_literal else f"{_example(concern, name)}{bounds}"


def _example(concern: Concern, name: str) -> str:
    """Return the first matching directive in the row's examples; the name alone if there is none."""
    for text in concern.trips:
        for said in _everything(parse_file("", text).statements):
            if said.name == name and re.fullmatch(concern.args, " ".join(said.args), re.DOTALL):
                return text[said.span.start : said.span.end].rstrip("; ")
    return name


def _everything(statements: Iterable[Statement]) -> Iterator[Statement]:
    for said in statements:
        yield said
        yield from _everything(said.block or ())


def to_do(concern: Concern, name: str = "") -> str:
    """Return the advice on a row's directive: "remove", "add `…`", "change to `…`", or a word for its state.

    ``name``: one of its directives (default: the first).
    """
    if concern.patch == "":
        return "remove"
    if concern.patch:
        # The audit fills in the name from the user's file.
        kind = name.partition("_")[0] if concern.directive and name else "proxy"
        text = _NAMED.get(concern.patch, f"`{concern.patch.replace('{kind}', kind).replace('{arg}', 'NAME')}`")
        return f"{'add' if concern.block else 'change to'} {text}"
    return _WORDS[State(concern.state)]


def reason(line: Line, concern: Concern, name: str = "") -> str:
    """Return the reason, without what only a user's file shows: an ellipsis takes its place, except after a letter.

    ``name``: one of the row's directives (default: the first).
    """
    kind = (name or named(concern)).partition("_")[0]
    return concern.why.format(version=line.version, kind=kind, found="" if _GOES_ON.search(concern.why) else "…")


def _versions(line: Line, concern: Concern) -> str:
    first = line.since or line.version
    until = f", before nginx {concern.until}" if concern.until else ""
    return f", since nginx {first}{until}" if first else until
