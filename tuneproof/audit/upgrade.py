"""What another version of nginx changes for a configuration: errors, ignored lines, defaults, and advice."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from tuneproof.audit.advice import State
from tuneproof.audit.auditing import Audit, audit_source, numbers_of
from tuneproof.audit.patches import Edit, Insert, Replace
from tuneproof.audit.remedies import tls_by_listen
from tuneproof.audit.version_choice import Concern, concerns
from tuneproof.conf.facts import Facts
from tuneproof.conf.reuse import Reuse
from tuneproof.conf.sources import Source
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.upstreams import Target
from tuneproof.conf.values import time_ms
from tuneproof.errors import BadInputError
from tuneproof.nginx_changes import LAB_VERSIONS, Change, Kind, changes_between
from tuneproof.wording import each_once

_IN_UPSTREAM: Final = "upstream"
_IN_LOCATION: Final = "location"


class Effect(StrEnum):
    """How an upgrade affects a line, the most urgent first."""

    REFUSED = "nginx does not start"
    IGNORED = "ignored"
    DEPRECATED = "deprecated"
    DEFAULT = "another default"
    BEHAVIOUR = "behaves differently"
    ADVICE = "advice changes"


_EFFECTS: Final[Mapping[Kind, Effect]] = {
    Kind.REMOVED: Effect.REFUSED,
    Kind.IGNORED: Effect.IGNORED,
    Kind.DEPRECATED: Effect.DEPRECATED,
    Kind.NEW: Effect.REFUSED,
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing that changes at one place."""

    effect: Effect
    what: str  # the directive, or the scenario of the advice
    at: Statement | Block
    why: str
    since: str = ""
    edits: tuple[Edit, ...] = ()  # what the new version needs, or for a default what keeps the old one
    breaks: bool = False  # whether requests start to fail

    @property
    def is_new_danger(self) -> bool:
        """Whether something breaks in a block because it lacks something, whatever else changes in the block."""
        return self.breaks and isinstance(self.at, Block)

    @property
    def urgency(self) -> tuple[bool, int]:
        """The order: what is refused and what breaks first, then by effect."""
        return not (self.breaks or self.effect is Effect.REFUSED), list(Effect).index(self.effect)


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """All that changes."""

    before: Audit
    after: Audit
    differences: tuple[Difference, ...]  # the most urgent first

    @property
    def is_refused(self) -> bool:
        """Whether the new version does not start with the configuration."""
        return any(one.effect is Effect.REFUSED for one in self.differences)

    def patch(self, *, defaults: bool) -> str:
        """Return the changes that the new version needs, or those that keep the old defaults, as a unified diff."""
        chosen = [one for one in self.differences if (one.effect is Effect.DEFAULT) == defaults]
        return self.before.patch([edit for one in chosen for edit in one.edits])


def upgrade(source: Source, *, old: str, new: str) -> Upgrade:
    """Compare a configuration on two versions of nginx; the new one may be older.

    Raises BadInputError: A version is invalid, or older than the known ones.
    """
    for option, version in (("--from", old), ("--to", new)):
        if numbers_of(version, option=option) < numbers_of(LAB_VERSIONS[0]):
            raise BadInputError(
                f"{option} {version}: changes before {LAB_VERSIONS[0]} are not covered",
                remedy=f"use {LAB_VERSIONS[0]} or later",
            )
    before, after = audit_source(source, version=old), audit_source(source, version=new)
    found = list(_of_directives(before, old=old, new=new))
    told = {_place(one.at) for one in found}
    newer = after if numbers_of(old) <= numbers_of(new) else before
    found += _of_defaults(before, newer.facts, old=old, new=new)
    found += _of_behaviour(before, old=old, new=new)
    found += [one for one in _of_advice(before, after) if one.is_new_danger or _place(one.at) not in told]
    return Upgrade(before=before, after=after, differences=tuple(sorted(found, key=lambda one: one.urgency)))


def _of_directives(audit: Audit, *, old: str, new: str) -> Iterator[Difference]:
    low, high = sorted((numbers_of(old), numbers_of(new)))
    is_upgrade = numbers_of(old) <= numbers_of(new)
    passed = [one for one in concerns(audit.facts.configuration) if low < one.change.numbers <= high]
    for concern in passed:
        change = concern.change
        # Additions matter only for a downgrade, removals only for an upgrade.
        if change.kind is Kind.BEHAVIOUR or (change.kind is Kind.NEW) == is_upgrade:
            continue
        instead = f"; instead: {change.instead}" if change.instead else ""
        why = change.meaning or (f"nginx {new} does not know it" if change.kind is Kind.NEW else "it does nothing")
        yield Difference(
            effect=_EFFECTS[change.kind],
            what=concern.what,
            at=concern.said,
            why=f"{why}{instead}" if change.kind is not Kind.DEPRECATED else why,
            since=change.version,
            edits=tuple(_remedy(concern, audit.facts)),
        )


def _of_behaviour(audit: Audit, *, old: str, new: str) -> Iterator[Difference]:
    """Yield the changed effects of unchanged lines."""
    low, high = sorted((numbers_of(old), numbers_of(new)))
    found = [one for one in concerns(audit.facts.configuration) if one.change.kind is Kind.BEHAVIOUR]
    for one in sorted(found, key=lambda one: (one.change.numbers, one.change.meaning)):
        if low < one.change.numbers <= high:
            why = one.change.meaning if low == numbers_of(old) else f"no longer so: {one.change.meaning}"
            yield Difference(effect=Effect.BEHAVIOUR, what=one.what, at=one.said, why=why, since=one.change.version)


def _remedy(concern: Concern, facts: Facts) -> Iterator[Edit]:
    said, block, change = concern.said, concern.block, concern.change
    if change.kind is Kind.IGNORED:
        yield Replace(old=said, text="")
    elif change.kind is Kind.REMOVED:
        yield from tls_by_listen(said, block, facts)
    elif change.kind is Kind.DEPRECATED:
        # The parameter applies to the socket: every server that listens on it speaks HTTP/2 there.
        sockets = [socket for socket in facts.sockets.found if change.parameter in socket.protocols]
        yield Replace(old=said, text=f"listen {' '.join(arg for arg in said.args if arg != change.parameter)};")
        around = block.around("http")
        for server in around.all("server") if around is not None else [block]:
            is_one = server is block or any(server in socket.servers for socket in sockets)
            if is_one and server.setting("http2") is None and server.span is not None:
                listens = server.local("listen")
                yield Insert(after=listens[-1] if listens else server, text=change.instead)


def _of_defaults(audit: Audit, newer: Facts, *, old: str, new: str) -> Iterator[Difference]:
    """Yield the changed defaults; one that changed twice is reported once.

    ``newer``: the facts on the newer version.
    """
    is_upgrade = numbers_of(old) <= numbers_of(new)
    moved: dict[tuple[str, str], list[Change]] = {}
    for change in changes_between(*((old, new) if is_upgrade else (new, old))):
        if change.kind is Kind.DEFAULT:
            moved.setdefault((change.directive, change.block), []).append(change)
    for (directive, _), changes in moved.items():
        before, after = changes[0].before, changes[-1].after
        if not is_upgrade:
            before, after = after, before
        was = f", {before} before" if before else ""
        since = each_once(change.version for change in changes)
        for place in dict.fromkeys(_places_without(changes[0], audit, newer)):
            meaning = "; ".join(filter(None, (part for change in changes for part in _meanings(change, place, newer))))
            meaning = meaning if is_upgrade else f"no longer so: {meaning}"
            yield Difference(
                effect=Effect.DEFAULT,
                what=directive,
                at=place,
                why=f"{after or 'no limit'} unless set{was}: {meaning}",
                since=since,
                edits=_kept(place, f"{directive} {before};") if before and is_upgrade else (),
            )


def _kept(place: Statement | Block, text: str) -> tuple[Edit, ...]:
    """Return the change that sets the old default. In an upstream block it goes last, after the method."""
    if place.span is None:
        return ()
    is_upstream = isinstance(place, Block) and place.name == _IN_UPSTREAM and place.own
    return (Insert(after=place.own[-1] if is_upstream and isinstance(place, Block) else place, text=text),)


def _meanings(change: Change, place: Statement | Block, newer: Facts) -> Iterator[str]:
    yield change.meaning
    places = [proxied for proxied in newer.proxied if _place(proxied.target.statement) == _place(place)]
    headers = [said.value.lower() for one in places for said in one.target.block.in_effect("proxy_set_header")]
    if "connection" not in headers:
        yield change.without_header
    if isinstance(place, Block) and place.name == _IN_UPSTREAM and place.args:
        kept = [one.reuse.reuse for one in newer.passing_to(place.args[0])]
        if change.directive == "keepalive" and Reuse.YES not in kept:
            yield "only a request shows whether it does"


def _places_without(change: Change, audit: Audit, newer: Facts) -> Iterator[Statement | Block]:
    """Yield the places where a default applies: proxied locations, upstream blocks, the outermost block of servers."""
    if change.block == _IN_LOCATION:
        yield from (target.statement for target in _targets_without(change.directive, audit))
    elif change.block == _IN_UPSTREAM:
        yield from _upstreams_without(change.directive, audit, newer)
    else:
        for server in _servers_without(change.directive, audit):
            http = server.around("http")
            is_for_all = http is not None and http.span is not None and change.directive != "ssl_protocols"
            is_said = http is not None and any(one.setting(change.directive) for one in http.all("server"))
            yield http if http is not None and is_for_all and not is_said else server


def _targets_without(name: str, audit: Audit) -> Iterator[Target]:
    for proxied in audit.facts.proxied:
        target = proxied.target
        is_meant = "_ssl_" not in name or bool({"https", "grpcs", "suwsgi"} & (target.schemes() or set()))
        if name.startswith(f"{target.kind}_") and is_meant and target.block.setting(name) is None:
            yield target


def _upstreams_without(name: str, audit: Audit, newer: Facts) -> Iterator[Block]:
    for upstream in audit.facts.upstreams.values():
        # The number of requests does not matter for a connection that is not kept.
        counts = name == "keepalive" or upstream.statement is not None
        is_kept = any(one.reuse.reuse is not Reuse.NO for one in newer.passing_to(upstream.name))
        if is_kept and counts and not upstream.block.local(name):
            yield upstream.block


def _servers_without(name: str, audit: Audit) -> Iterator[Block]:
    for block in audit.facts.configuration.main.all("server"):
        if "http" not in block.path and name not in _OF_STREAMS:
            continue
        is_meant = name not in _NEEDED or _NEEDED[name](block)
        if is_meant and block.setting(name) is None:
            yield block


def _sends_files(server: Block) -> bool:
    return server.is_on("sendfile") or any(location.is_on("sendfile") for location in server.all("location"))


def _keeps_clients(server: Block) -> bool:
    """Tell whether a client's connection may carry a second request, as HTTP/2 does even with keepalive_timeout 0."""
    said = [block.setting("keepalive_timeout") for block in (server, *server.all("location"))]
    return server.speaks_http2 or any(one is None or time_ms(one.value) != 0 for one in said)


def _place(at: Statement | Block) -> tuple[object, ...]:
    """Return the advice that is the same in two audits of the same files."""
    return at.file, at.line, at.name, at.args


def _of_advice(before: Audit, after: Audit) -> Iterator[Difference]:
    """Yield the changed advice: what nginx now does by default, and what now matters."""
    then, now = (
        {(advised.name, advised.claim, _place(advised.at)): advised for advised in audit.advice}
        for audit in (before, after)
    )
    for place in dict.fromkeys([*now, *then]):
        one, other = then.get(place), now.get(place)
        if one is not None and other is not None and one.state is other.state:
            continue
        advised = other or one
        if advised is not None:
            was, becomes = (item.state.value if item else "nothing to say" for item in (one, other))
            is_needed = advised.breaks or advised.state in {State.EXPIRED, State.HARMFUL}
            edits = advised.edits if advised is other and is_needed else ()
            why = advised.why if other is not None else "nginx does it by itself, or no longer has it"
            yield Difference(
                effect=Effect.ADVICE,
                what=advised.name,
                at=advised.at,
                why=f"{was} -> {becomes}: {why}",
                edits=tuple(edits),
                breaks=other is not None and other.breaks,
            )


# https://nginx.org/en/docs/stream/ngx_stream_ssl_module.html
_OF_STREAMS: Final = frozenset({"ssl_protocols"})
_NEEDED: Final[Mapping[str, Callable[[Block], bool]]] = {
    "ssl_protocols": lambda server: server.listens_with("ssl"),
    "sendfile_max_chunk": _sends_files,
    "keepalive_requests": _keeps_clients,
    "keepalive_time": _keeps_clients,
}


def as_document(found: Upgrade) -> dict[str, Any]:
    """Return the changes as JSON values."""
    return {
        "schema": 1,
        "from": found.before.facts.version,
        "to": found.after.facts.version,
        "starts": not found.is_refused,
        "differences": [
            {
                "effect": one.effect.value,
                "what": one.what,
                "file": one.at.file,
                "line": one.at.line,
                "since": one.since or None,
                "why": one.why,
                "patch": found.before.patch(one.edits) or None,
            }
            for one in found.differences
        ],
    }
