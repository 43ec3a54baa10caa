"""The defaults that another version of nginx changes for a configuration."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from tuneproof.audit.differences import Difference, Effect, place_in_files
from tuneproof.audit.patches import Edit, Insert
from tuneproof.audit.spoken import deciding, speaks_plainly, speaks_tls
from tuneproof.conf.facts import Facts
from tuneproof.conf.locations import Kind as Match
from tuneproof.conf.locations import locations_in
from tuneproof.conf.reuse import Reuse
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.upstreams import Target
from tuneproof.conf.values import time_ms
from tuneproof.nginx_changes import Change, Kind, changes_between
from tuneproof.wording import as_numbers, each_once

_IN_UPSTREAM: Final = "upstream"
_IN_LOCATION: Final = "location"
_OR_FIXED: Final = ". Distributions' security updates added it to some older packages, too"


def changed_defaults(facts: Facts, newer: Facts, *, old: str, new: str) -> Iterator[Difference]:
    """Yield the changed defaults; one that changed twice is reported once."""
    is_upgrade = as_numbers(old) <= as_numbers(new)
    facts = replace(facts, version=old if is_upgrade else new)
    moved: dict[tuple[str, str], list[Change]] = {}
    for change in changes_between(*((old, new) if is_upgrade else (new, old))):
        if change.kind is Kind.DEFAULT:
            moved.setdefault((change.directive, change.block), []).append(change)
    for (directive, _), changes in moved.items():
        before, after = changes[0].before, changes[-1].after
        if not is_upgrade:
            before, after = after, before
        now = f"{after} unless set" if after else "no limit"
        was = f", {before} {'before' if is_upgrade else f'in nginx {old}'}" if before else ""
        since = each_once(change.version for change in changes)
        fixed = _OR_FIXED if changes[0].is_backported else ""
        for place, around in dict.fromkeys(_places_without(changes[0], facts, newer)):
            meaning = "; ".join(filter(None, (part for change in changes for part in _meanings(change, place, newer))))
            meaning = meaning if is_upgrade else f"no longer so: {meaning}"
            yield Difference(
                effect=Effect.DEFAULT,
                what=directive,
                at=place,
                why=f"{now}{was}: {meaning}{fixed}",
                since=since,
                edits=_kept(place, around, f"{directive} {before};") if before and is_upgrade else (),
            )


def _kept(place: Statement | Block, around: Block, text: str) -> tuple[Edit, ...]:
    """Return the change that sets the old default; in an upstream block, it goes last, after any balancing method."""
    if around.name == _IN_UPSTREAM and around.own:
        return (Insert(after=around.own[-1], text=text),)
    after = place if place in around.own else next(iter(around.local(place.name)), around)
    return (Insert(after=after, text=text),) if after.span is not None else ()


def _meanings(change: Change, place: Statement | Block, newer: Facts) -> Iterator[str]:
    yield change.meaning
    places = [proxied for proxied in newer.proxied if place_in_files(proxied.target.statement) == place_in_files(place)]
    headers = [said.value.lower() for one in places for said in one.target.block.in_effect("proxy_set_header")]
    if "connection" not in headers:
        yield change.without_header
    if isinstance(place, Block) and place.name == _IN_UPSTREAM and place.args:
        kept = [one.reuse.reuse for one in newer.passing_to(place.args[0])]
        if change.directive == "keepalive" and Reuse.YES not in kept:
            yield "whether it does depends on the Connection header of each request"


def _places_without(change: Change, facts: Facts, newer: Facts) -> Iterator[tuple[Statement | Block, Block]]:
    """Yield the places at which a default applies, each with the block that may set it.

    A place is a directive that proxies, an upstream block, http{}, or a server.
    """
    if change.block == _IN_LOCATION:
        for target in _targets_without(change.directive, facts):
            # The directive is not allowed in an "if" or a limit_except.
            yield target.statement, target.block.around("location") or target.block
        yield from _streams_without(change.directive, facts)
    elif change.block == _IN_UPSTREAM:
        yield from ((block, block) for block in _upstreams_without(change.directive, facts, newer))
    else:
        for server in _servers_without(change.directive, facts):
            http = server.around("http")
            is_for_all = http is not None and http.span is not None and change.directive != "ssl_protocols"
            is_in_servers = http is not None and any(one.setting(change.directive) for one in http.all("server"))
            place = http if http is not None and is_for_all and not is_in_servers else server
            yield place, place


def _targets_without(name: str, facts: Facts) -> Iterator[Target]:
    for proxied in facts.proxied:
        target = proxied.target
        is_meant = "_ssl_" not in name or bool({"https", "grpcs", "suwsgi"} & (target.schemes() or set()))
        if name.startswith(f"{target.kind}_") and is_meant and _is_unset(name, target.block):
            yield target


def _streams_without(name: str, facts: Facts) -> Iterator[tuple[Statement, Block]]:
    """Yield each ``proxy_pass`` of stream{} over TLS for which a directive is not set, with its server."""
    for server in facts.configuration.main.all("server"):
        is_meant = name == "proxy_ssl_protocols" and "stream" in server.path and server.is_on("proxy_ssl")
        if is_meant and _is_unset(name, server):
            yield from ((said, server) for said in server.local("proxy_pass"))


def _upstreams_without(name: str, facts: Facts, newer: Facts) -> Iterator[Block]:
    for upstream in facts.upstreams.values():
        # On a connection that is not kept open, the number of requests does not matter.
        counts = name == "keepalive" or upstream.statement is not None
        is_kept = any(one.reuse.reuse is not Reuse.NO for one in newer.passing_to(upstream.name))
        if is_kept and counts and not upstream.block.local(name) and not upstream.block.unseen:
            yield upstream.block


def _servers_without(name: str, facts: Facts) -> Iterator[Block]:
    for block in facts.configuration.main.all("server"):
        if "http" not in block.path and name not in _OF_STREAMS:
            continue
        unset = [level for level in _ends(block) if _is_unset(name, level)]
        if any(name not in _NEEDED or _NEEDED[name](level, facts) for level in unset):
            yield block


def _is_unset(name: str, block: Block) -> bool:
    """Tell whether a directive is certainly not set for a block; a missing file might set it."""
    return block.setting(name) is None and not block.hides(name)


def _ends(server: Block) -> Iterator[Block]:
    """Yield the blocks that handle requests: locations, and the server unless a location takes every path."""
    yield from server.all("location")
    names = [one.name for one in locations_in(server) if one.kind in {Match.PREFIX, Match.PREFIX_ONLY}]
    if "/" not in names:
        yield server


def _server_of(level: Block) -> Block:
    return level.around("server") or level


def _sends_files(level: Block, facts: Facts) -> bool:
    """Tell whether sendfile(2) sends files there; over TLS, it does so only if the kernel encrypts."""
    by_kernel = any("KTLS" in " ".join(said.args) for said in level.in_effect("ssl_conf_command"))
    return level.is_on("sendfile") and (by_kernel or speaks_plainly(_server_of(level), facts))


def _keeps_clients(level: Block, _facts: Facts) -> bool:
    """Tell whether a client may send a second request on its connection."""
    said = level.setting("keepalive_timeout")
    return said is None or time_ms(said.value) != 0


def _speaks_default_tls(level: Block, facts: Facts) -> bool:
    server = _server_of(level)
    others = deciding(server, facts, facts.version_numbers)
    return speaks_tls(server, facts) and (server in others or any(_is_unset("ssl_protocols", one) for one in others))


# https://nginx.org/en/docs/stream/ngx_stream_ssl_module.html
_OF_STREAMS: Final = frozenset({"ssl_protocols"})
_NEEDED: Final[Mapping[str, Callable[[Block, Facts], bool]]] = {
    "ssl_protocols": _speaks_default_tls,
    "sendfile_max_chunk": _sends_files,
    "keepalive_requests": _keeps_clients,
    "keepalive_time": _keeps_clients,
}
