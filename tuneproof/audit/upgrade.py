"""Compares a configuration on two versions of nginx: errors, ignored lines, defaults, and advice."""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tuneproof.audit.advice import State
from tuneproof.audit.auditing import Audit, audit_source, version_of
from tuneproof.audit.changed_defaults import changed_defaults
from tuneproof.audit.differences import Difference, Effect, place_in_files
from tuneproof.audit.patches import Edit, Insert, Replace, setting
from tuneproof.audit.remedies import tls_by_listen
from tuneproof.audit.spoken import OWN_PROTOCOLS_SINCE, deciding, protocols, speaks_tls
from tuneproof.audit.version_choice import Concern, concerns
from tuneproof.conf.facts import Facts, Proxied
from tuneproof.conf.modules import foreign
from tuneproof.conf.refusals import of_later_versions
from tuneproof.conf.sources import Source
from tuneproof.conf.statements import Problem, Statement
from tuneproof.conf.tree import Block
from tuneproof.errors import BadInputError
from tuneproof.lines import DOCUMENTED
from tuneproof.nginx_changes import LAB_VERSIONS, Change, Kind, of_directive
from tuneproof.wording import as_numbers, each_once

_EFFECTS: Final[Mapping[Kind, Effect]] = {
    Kind.REMOVED: Effect.REFUSED,
    Kind.IGNORED: Effect.IGNORED,
    Kind.DEPRECATED: Effect.DEPRECATED,
    Kind.NEW: Effect.REFUSED,
}


_MOST_NAMES: Final = 6


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """All changes between two versions."""

    before: Audit
    after: Audit
    differences: tuple[Difference, ...]  # the most urgent first

    @property
    def is_refused(self) -> bool:
        """Whether a change makes the new version refuse the configuration."""
        return any(one.effect is Effect.REFUSED for one in self.differences)

    @property
    def starts(self) -> bool | None:
        """Whether the new version starts; None if that depends on its package."""
        if self.is_refused or self.after.facts.configuration.is_broken:
            return False
        return None if any(one.effect is Effect.MAY_BE_REFUSED for one in self.differences) else True

    def patch(self, *, defaults: bool) -> str:
        """Return the changes that the new version needs, or those that keep the old defaults, as a unified diff."""
        chosen = [one for one in self.differences if (one.effect is Effect.DEFAULT) == defaults]
        return self.before.patch([edit for one in chosen for edit in one.edits])


def upgrade(source: Source, *, old: str, new: str) -> Upgrade:
    """Compare a configuration on two versions of nginx; the new one may be older.

    Raises BadInputError: A version is invalid, or older than the known ones.
    """
    old, new = version_of(old, option="--from"), version_of(new, option="--to")
    for option, version in (("--from", old), ("--to", new)):
        if as_numbers(version) < as_numbers(LAB_VERSIONS[0]):
            raise BadInputError(
                f"{option} {version}: changes before {LAB_VERSIONS[0]} are not covered",
                remedy=f"use {LAB_VERSIONS[0]} or later",
            )
    before, after = audit_source(source, version=old), audit_source(source, version=new)
    found = list(_of_directives(before, old=old, new=new))
    reported = {place_in_files(one.at) for one in found}
    found += _of_problems(before, after, reported={(one.at.file, one.at.line) for one in found})
    found += _of_modules(before, old=old, new=new)
    newer = after if as_numbers(old) <= as_numbers(new) else before
    found += changed_defaults(before.facts, newer.facts, old=old, new=new)
    found += _of_behaviour(before, old=old, new=new)
    found += _of_sockets(after, old=old, new=new)
    found += _of_names(before, old=old, new=new)
    found += [one for one in _of_advice(before, after) if one.is_new_danger or place_in_files(one.at) not in reported]
    # Several servers may include the same line.
    once = {(one.effect, one.what, one.why, one.edits, place_in_files(one.at)): one for one in found}
    ordered = sorted(once.values(), key=lambda one: one.urgency)
    return Upgrade(before=before, after=after, differences=tuple(ordered))


def _of_directives(audit: Audit, *, old: str, new: str) -> Iterator[Difference]:
    before, after = as_numbers(old), as_numbers(new)
    later = {(said.file, said.line) for said in of_later_versions(audit.facts.configuration.main, after)}
    for concern in concerns(audit.facts.configuration):
        change = concern.change
        if change.kind is Kind.NEW:
            # Also if the old version lacks the directive: its package may have it as a backport.
            is_meant = before != after < change.numbers
        elif change.kind is Kind.REMOVED:
            # The old version may refuse the directive as well.
            is_meant = change.numbers <= after != before
        else:
            is_meant = before < change.numbers <= after and change.kind is not Kind.BEHAVIOUR
        if change.kind is Kind.IGNORED and after < change.numbers <= before:
            yield Difference(
                effect=Effect.BEHAVIOUR,
                what=concern.what,
                at=concern.said,
                why=f"it takes effect again: nginx {old} ignores it",
                since=change.version,
            )
        if not is_meant:
            continue
        instead = f"; instead: {change.instead}" if change.instead else ""
        # A directive that the old version cannot have either is from nginx Plus, Angie or a patched package.
        is_others = before < change.numbers > after and (
            (concern.said.file, concern.said.line) not in later or bool(change.parameter)
        )
        unless = _UNLESS_FIXED if change.is_backported else f", nor does {old}: {_OF_OTHERS}" if is_others else ""
        unknown = f"nginx {new} does not know it{unless}"
        why = change.meaning or (unknown if change.kind is Kind.NEW else "it does nothing")
        yield Difference(
            effect=Effect.MAY_BE_REFUSED if change.is_backported or is_others else _EFFECTS[change.kind],
            what=concern.what,
            at=concern.said,
            why=f"{why}{instead}" if change.kind is not Kind.DEPRECATED else why,
            since=change.version,
            edits=tuple(_remedy(concern, audit.facts)),
        )


def _of_problems(before: Audit, after: Audit, *, reported: Container[tuple[str, int]]) -> Iterator[Difference]:
    """Yield the errors that only the new version prints, except at files and lines already reported."""
    known = set(map(_kind, before.facts.configuration.problems))
    main = before.facts.configuration.main
    places: defaultdict[tuple[str, int], list[Statement | Block]] = defaultdict(list)
    everything: list[Statement | Block] = [*main.below(), *(said for said, _ in main.everything())]
    for place in everything:
        places[place.file, place.line].append(place)
    for problem in after.facts.configuration.problems:
        here = places[problem.file, problem.line]
        if here and _kind(problem) not in known and (problem.file, problem.line) not in reported:
            at = next((one for one in here if re.search(rf"\b{re.escape(one.name)}\b", problem.message)), here[0])
            yield Difference(effect=Effect.REFUSED, what=at.name, at=at, why=problem.message)


def _kind(problem: Problem) -> tuple[str, str]:
    """Return the part of an error message that stays the same when versions name different lines or directives."""
    return problem.file, problem.message.partition(" for ")[0]


def _of_modules(audit: Audit, *, old: str, new: str) -> Iterator[Difference]:
    """Yield foreign directives, and loaded modules: ngx_add_module refuses other versions' builds."""
    if as_numbers(old) != as_numbers(new):
        why = f"nginx refuses a module that was built for another version: install its build for {new} at the same time"
        for said in audit.facts.configuration.main.local("load_module"):
            yield Difference(effect=Effect.MODULE, what=said.name, at=said, why=why)
        if others := list(foreign(audit.facts.configuration)):
            what = each_once(list(dict.fromkeys(one.name for one in others))[:_MOST_NAMES])
            why = f"not nginx's own: install the build for {new} of the module or product that provides it"
            yield Difference(effect=Effect.MODULE, what=what, at=others[0], why=why)


def _of_behaviour(audit: Audit, *, old: str, new: str) -> Iterator[Difference]:
    """Yield the changed effects of unchanged lines."""
    low, high = sorted((as_numbers(old), as_numbers(new)))
    found: list[tuple[Change, Statement | Block]] = [
        (one.change, one.said)
        for one in concerns(audit.facts.configuration)
        if one.change.kind is Kind.BEHAVIOUR and _matters(one, audit.facts, as_numbers(old), as_numbers(new))
    ]
    for server in audit.facts.servers:
        if not server.block.local("listen") and not server.block.unseen:
            found += [(one, server.block) for one in of_directive("listen") if one.concerns(server.listens)]
    for change, at in sorted(found, key=lambda one: (one[0].numbers, one[0].meaning)):
        if change.kind is Kind.BEHAVIOUR and low < change.numbers <= high:
            why = change.meaning if low == as_numbers(old) else f"no longer so: {change.meaning}"
            yield Difference(effect=Effect.BEHAVIOUR, what=change.directive, at=at, why=why, since=change.version)


def _matters(one: Concern, facts: Facts, *versions: tuple[int, ...]) -> bool:
    """Tell whether a change in behaviour shows here, and no other setting prevents that."""
    if one.said.name in _INHERITED and one.block.path[:1] == ("http",):
        passed = [place for place in facts.proxied if one.said in place.target.block.in_effect(one.said.name)]
        is_meant = _INHERITED[one.said.name].get(one.change.version, _always)
        return any(map(is_meant, passed)) if passed else not facts.configuration.is_whole
    if (one.said.name, one.change.version) == _CHUNKS:
        spoken = one.block.setting("proxy_http_version")
        return spoken is None or spoken.value != "2"
    if (one.said.name, one.change.version) == _HTTP1_AS_WELL:
        return not speaks_tls(one.block, facts)
    if (one.said.name, one.change.version) == _COMPRESSION:
        # A missing file may switch compression on.
        is_off = not one.block.is_on(_COMPRESSES) and not one.block.hides(_COMPRESSES)
        return is_off and all(_speaks_tls_1_3(one, facts, version) for version in versions)
    return True


def _speaks_tls_1_3(one: Concern, facts: Facts, version: tuple[int, ...]) -> bool:
    """Tell whether clients that connect to a ``listen`` and name its server may use TLSv1.3."""
    listen = one.said if isinstance(one.said, Statement) else None
    spoken = [protocols(server, version) for server in deciding(one.block, facts, version, listen=listen)]
    return any(found is not None and "TLSv1.3" in found[0] for found in spoken)


def _always(_place: Proxied) -> bool:
    return True


def _sends_no_connection(place: Proxied) -> bool:
    return "connection" not in [said.value.lower() for said in place.target.block.in_effect("proxy_set_header")]


def _speaks_http11(place: Proxied) -> bool:
    said = place.target.block.setting("proxy_http_version")
    return said is None or said.value == "1.1"


def _of_sockets(audit: Audit, *, old: str, new: str) -> Iterator[Difference]:
    """Yield the listens about which a newer nginx warns, since others on the same socket have other protocols."""
    if as_numbers(old) < as_numbers(_REDEFINED_SINCE) <= as_numbers(new):
        for socket in audit.facts.sockets.found:
            for place in socket.redefined:
                yield Difference(
                    effect=Effect.BEHAVIOUR,
                    what="listen",
                    at=place,
                    why=f"nginx warns at each start: protocol options redefined for {socket.address.name}; as before, "
                    f"all servers on this socket have {each_once(sorted(socket.protocols))}",
                    since=_REDEFINED_SINCE,
                )


def _of_names(audit: Audit, *, old: str, new: str) -> Iterator[Difference]:
    """Yield servers with other TLS versions: since 1.29.2, their own ssl_protocols apply, not the default server's."""
    numbers, since = (as_numbers(old), as_numbers(new)), as_numbers(OWN_PROTOCOLS_SINCE)
    if not min(numbers) < since <= max(numbers):
        return
    for server in (one.block for one in audit.facts.servers):
        for other in deciding(server, audit.facts, min(numbers)):
            found = [protocols(other if version < since else server, version) for version in numbers]
            if other is server or None in found:
                continue
            (before, was), (after, becomes) = (one for one in found if one is not None)
            if before != after and (was or becomes):
                default, own = f"the default server ({other.file}:{other.line})", "this server"
                owners = (default, own) if numbers[0] < since else (own, default)
                yield Difference(
                    effect=Effect.BEHAVIOUR,
                    what="ssl_protocols",
                    at=server,
                    why=f"clients that name this server (SNI){_on_sockets(server, other, audit.facts)} get "
                    f"the TLS versions of {owners[1]}, {' '.join(after)}; before, those of {owners[0]}, "
                    f"{' '.join(before)}",
                    since=OWN_PROTOCOLS_SINCE,
                )


def _on_sockets(server: Block, default: Block, facts: Facts) -> str:
    """Return the sockets on which a server has this default server; empty if it has no other."""
    found = [socket for socket in facts.sockets.of(server) if "ssl" in socket.protocols]
    named = each_once(socket.address.name for socket in found if socket.default is default)
    return f" on {named}" if any(socket.default is not default for socket in found) else ""


def _remedy(concern: Concern, facts: Facts) -> Iterator[Edit]:
    said, block, change = concern.said, concern.block, concern.change
    if isinstance(said, Block):
        return
    if change.kind is Kind.IGNORED:
        yield Replace(old=said, text="")
    elif change.kind is Kind.REMOVED and change.parameter:
        yield _without_parameter(said, change)
    elif change.kind is Kind.REMOVED:
        yield from tls_by_listen(said, block, facts)
    elif change.kind is Kind.DEPRECATED:
        yield _without_parameter(said, change)
        # The parameter applies to the socket: every server that listens on it speaks HTTP/2 there.
        around = block.around("http")
        for server in around.all("server") if around is not None else [block]:
            is_one = server is block or facts.speaks_http2(server)
            if is_one and not server.is_on("http2") and server.span is not None:
                listens = server.local("listen")
                is_first = not server.local("http2") and listens
                yield Insert(after=listens[-1], text=change.instead) if is_first else setting(server, change.instead)


def _without_parameter(said: Statement, change: Change) -> Edit:
    return Replace(old=said, text=f"{said.name} {' '.join(arg for arg in said.args if arg != change.parameter)};")


def _of_advice(before: Audit, after: Audit) -> Iterator[Difference]:
    """Yield the changed advice: on nginx's new defaults, and on lines that matter to only one version."""
    then, now = (
        {(advised.name, advised.claim, place_in_files(advised.at)): advised for advised in audit.advice}
        for audit in (before, after)
    )
    is_refused = len({frozenset(map(_kind, audit.facts.configuration.problems)) for audit in (before, after)}) > 1
    for place in dict.fromkeys([*now, *then]):
        one, other = then.get(place), now.get(place)
        # If a version refuses the files, its findings are incomplete.
        if is_refused and (one is None or other is None):
            continue
        if one is not None and other is not None and one.state is other.state:
            continue
        advised = other or one
        if advised is not None:
            was, becomes = (item.state.value if item else "no advice" for item in (one, other))
            is_needed = advised.breaks or advised.state in {State.EXPIRED, State.HARMFUL}
            edits = advised.edits if advised is other and is_needed else ()
            why = advised.why if other is not None else f"it does not apply to nginx {after.facts.version}"
            yield Difference(
                effect=Effect.ADVICE,
                what=advised.claim if advised.name == DOCUMENTED else advised.name,
                at=advised.at,
                why=f"{was} -> {becomes}: {why}",
                edits=tuple(edits),
                breaks=other is not None and other.breaks,
            )


_REDEFINED_SINCE: Final = "1.23.4"
# Changes that some settings hide: HTTP/2 has no chunks, TLSv1.2 compresses no certificates, and over TLS, clients could
# already choose HTTP/1 before 1.25.1.
_CHUNKS: Final = ("proxy_pass", "1.29.4")
_COMPRESSION: Final = ("listen", "1.29.1")
_COMPRESSES: Final = "ssl_certificate_compression"
_HTTP1_AS_WELL: Final = ("listen", "1.25.1")
# Directives that matter only where a proxied location has or inherits them; some changes, only with other settings.
_INHERITED: Final[Mapping[str, Mapping[str, Callable[[Proxied], bool]]]] = {
    "proxy_http_version": {"1.29.7": _sends_no_connection},
    "proxy_set_header": {"1.31.4": _speaks_http11},
    "grpc_set_header": {},
}
_OF_OTHERS: Final = "nginx Plus, Angie and patched packages may"
# A security update added max_headers to Debian's 1.22.1, although nginx's own 1.22.1 does not have it.
_UNLESS_FIXED: Final = ", unless a distribution's security update added it"


def as_document(found: Upgrade) -> dict[str, Any]:
    """Return the changes as JSON values."""
    return {
        "schema": 1,
        "from": found.before.facts.version,
        "to": found.after.facts.version,
        "starts": found.starts,
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
