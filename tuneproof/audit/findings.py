"""The findings of an audit for programs: new ones since a baseline, SARIF, and annotations."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.auditing import Audit
from tuneproof.audit.recorded import recorded_of
from tuneproof.errors import BadInputError
from tuneproof.own_version import VERSION
from tuneproof.user_files import read_json
from tuneproof.wording import one_line

BASELINE_SCHEMA: Final = 1
REFUSED: Final = "nginx-refuses-it"
REFUSED_BY_OLDER: Final = "older-nginx-refuses-it"
_LEVELS: Final[Mapping[State, str]] = {
    State.HARMFUL: "error",
    State.WITHOUT_EFFECT: "warning",
    State.EXPIRED: "warning",
    State.MISSING: "note",
}
_GITHUB: Final[Mapping[str, str]] = {"error": "error", "warning": "warning", "note": "notice"}
_IDENTITY: Final = "tuneproof/v1"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding that needs an action."""

    rule: str  # scenario and claim; for an error, REFUSED or REFUSED_BY_OLDER
    state: State | None  # None for an error with which nginx, or an older version, does not start
    file: str
    line: int
    text: str  # text of the directive; for an error, its message
    why: str
    is_new: bool = True  # not in the baseline

    @property
    def level(self) -> str:
        """The finding's level in SARIF: error, warning or note."""
        if self.state is not None:
            return _LEVELS[self.state]
        return "warning" if self.rule == REFUSED_BY_OLDER else "error"

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """The identity of a finding, which stays the same when lines move; several findings may share it."""
        return self.rule, self.state or "", self.file, self.text


def findings(audit: Audit, baseline: Mapping[tuple[str, ...], int] | None = None) -> list[Finding]:
    """Return the findings that need an action, the most urgent first.

    ``baseline``: how often known findings occur, by identity.
    """
    refused = [(REFUSED, one) for one in audit.facts.configuration.problems]
    refused += [(REFUSED_BY_OLDER, one) for one in audit.older_problems]
    found = [
        Finding(rule=rule, state=None, file=audit.shown(one.file), line=one.line, text=one.message, why=one.message)
        for rule, one in refused
    ]
    found += [_finding(advised, audit) for advised in _advised(audit).values()]
    left = Counter(dict(baseline or {}))
    marked = []
    for one in found:
        is_new = left[one.identity] < 1
        left[one.identity] -= 1
        marked.append(replace(one, is_new=is_new))
    return marked


def _advised(audit: Audit) -> dict[tuple[object, ...], Advised]:
    """Return the advice that needs an action, by finding and place; if versions have different reasons, the first."""
    found: dict[tuple[object, ...], Advised] = {}
    for advised in audit.advice:
        if advised.state in _LEVELS:
            found.setdefault(_key(advised), advised)
    return found


def _key(advised: Advised) -> tuple[object, ...]:
    return advised.name, advised.claim, advised.state, id(advised.at)


def _finding(advised: Advised, audit: Audit) -> Finding:
    return Finding(
        rule=f"{advised.name}/{advised.claim}",
        state=advised.state,
        file=audit.shown(advised.at.file),
        line=advised.at.line,
        text=" ".join((advised.at.name, *advised.at.args)),
        why=one_line(audit.reason(advised)),
    )


def without_old(audit: Audit, found: Sequence[Finding]) -> Audit:
    """Return an audit without the advice in the baseline."""
    judged = [one.is_new for one in found if one.state is not None]
    is_new = dict(zip(_advised(audit), judged, strict=True))
    advice = [advised for advised in audit.advice if is_new.get(_key(advised), True)]
    return replace(audit, advice=tuple(advice))


def states_of(text: str) -> frozenset[State]:
    """Return the states that ``--fail-on`` names, such as "harmful,without-effect".

    Raises BadInputError: One of them is not a state that needs an action.
    """
    known = {state.value.replace(" ", "-"): state for state in _LEVELS}
    words = [word.strip() for word in text.split(",")]
    if unknown := [word for word in words if word not in known]:
        raise BadInputError(
            f"--fail-on {unknown[0]}: not a state that can fail",
            remedy=f"some of {','.join(known)} (shown as consider)",
        )
    return frozenset(known[word] for word in words)


def baseline_text(found: Sequence[Finding]) -> str:
    """Return the findings as the text of a baseline file, which people can review."""
    entries = [dict(zip(("rule", "state", "file", "text"), one.identity, strict=True)) for one in found]
    ordered = sorted(entries, key=lambda entry: (entry["file"], entry["rule"], entry["text"]))
    return json.dumps({"schema": BASELINE_SCHEMA, "findings": ordered}, indent=2) + "\n"


def read_baseline(text: str, *, name: str) -> Counter[tuple[str, ...]]:
    """Return how often each finding is in a baseline, by identity.

    Raises BadInputError: The text is not a baseline.
    """
    try:
        content = read_json(text)
        known = Counter(
            tuple(str(entry[field]) for field in ("rule", "state", "file", "text")) for entry in content["findings"]
        )
        is_ours = content["schema"] == BASELINE_SCHEMA
    except (ValueError, KeyError, TypeError, RecursionError):
        is_ours = False
    if not is_ours:
        raise BadInputError(f"{name} is not a baseline that audit wrote", remedy="write one: --write-baseline FILE")
    return known


def sarif(audit: Audit, found: Sequence[Finding], *, has_baseline: bool, below: PurePath) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log (https://docs.oasis-open.org/sarif/sarif/v2.1.0/).

    ``has_baseline``: whether new findings were separated from known ones.
    ``below``: the folder to which paths are relative.
    """
    rules = list(dict.fromkeys(one.rule for one in found))
    results = []
    for one in found:
        result: dict[str, Any] = {
            "ruleId": one.rule,
            "ruleIndex": rules.index(one.rule),
            "level": one.level,
            "message": {"text": _message(one)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": _uri(path_of(audit, one.file, below))},
                        "region": {"startLine": one.line},
                    }
                }
            ],
            "partialFingerprints": {_IDENTITY: _digest("\0".join(one.identity))},
        }
        if has_baseline:
            result["baselineState"] = "new" if one.is_new else "unchanged"
        results.append(result)
    driver = {"name": "tuneproof", "version": VERSION, "rules": [_rule(rule, audit) for rule in rules]}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _digest(text: str) -> str:
    # Text from a file that is not UTF-8 contains lone surrogates.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def annotations(audit: Audit, found: Sequence[Finding], *, below: PurePath) -> Iterator[str]:
    """Yield new findings as GitHub's workflow commands, which show them next to their lines.

    https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
    """
    for one in found:
        if one.is_new:
            file = _escaped(one_line(path_of(audit, one.file, below)), ":,")
            yield (
                f"::{_GITHUB[one.level]} file={file},line={one.line},title={_escaped(one.rule, ':,')}"
                f"::{_escaped(_message(one))}"
            )


def path_of(audit: Audit, shown: str, below: PurePath) -> str:
    """Return the path of a file relative to a folder, if it is inside."""
    path = PurePath(audit.source.folder) / shown
    return str(path.relative_to(below)) if path.is_relative_to(below) else str(path)


def _message(one: Finding) -> str:
    return one_line(one.why) if one.state is None else f"{one.state.value}: {one.why}"


def _uri(path: str) -> str:
    return f"file://{quote(path)}" if path.startswith("/") else quote(path)


def _rule(rule: str, audit: Audit) -> dict[str, Any]:
    if rule in {REFUSED, REFUSED_BY_OLDER}:
        which = "an older version of nginx" if rule == REFUSED_BY_OLDER else "nginx"
        return {"id": rule, "shortDescription": {"text": f"{which} would not start with this configuration"}}
    name, _, claim = rule.partition("/")
    recorded = recorded_of(name, claim, audit.facts.version)
    if recorded is None:
        source = next((one.source for one in audit.advice if one.source and one.claim == claim), "")
        documented = {"help": {"text": f"Documented: {source}"}} if source else {}
        return {"id": rule, "shortDescription": {"text": claim.replace("_", " ")}, **documented}
    measured = f"{recorded.verdict} on nginx {recorded.nginx}: {recorded.effect}"
    more = f" More: {recorded.page}" if recorded.page else ""
    return {
        "id": rule,
        "shortDescription": {"text": recorded.claim},
        "help": {"text": f'"{recorded.claim}" {measured}.{more}'},
    }


def _escaped(text: str, more: str = "") -> str:
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
