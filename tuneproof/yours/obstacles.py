"""Obstacles between requests and a location's upstream that the files show: redirects, accounts, addresses."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from tuneproof.conf.regexes import ForeignRegexError, as_bytes_read, compiled
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.values import whole_number
from tuneproof.conf.variables import entries, table_of, variables
from tuneproof.yours.refusers import LIMITING, limits

_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ABROAD: Final = ("http://", "https://", "$scheme")
# Variables with the same value in all requests of a trial.
_COMMON: Final = frozenset({"server_name", "host", "http_host", "uri", "request_uri", "scheme", "server_port"})
# More than a trial's simultaneous requests: slow readers, and the requests before them.
_MOST_AT_ONCE: Final = 128
# Parameters in geo that change the meaning of its addresses, or take them from elsewhere.
_GEO_MORE: Final = frozenset({"delete", "include", "proxy", "ranges"})
_NO: Final = frozenset({"", "0"})
_OF_FILES: Final = frozenset({"-f", "!-f", "-d", "!-d", "-e", "!-e", "-x", "!-x"})
_SENT: Final = frozenset({"http_host", "http_user_agent", "http_accept", "http_connection", "http_x_forwarded_proto"})
_OF_CLIENTS: Final = ("arg_", "cookie_", "http_")
# Engines give their networks IPv4 addresses from these ranges (RFC 1918), and no IPv6 addresses.
_OF_ENGINES: Final = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
# https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#if
ABSENT: Final = frozenset({"!-f", "!-e"})
"""Conditions of an ``if`` that hold for a file that does not exist."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request from the lab's client."""

    tls: bool
    port: int  # the port that nginx listens on
    host: str
    target: str  # as in the request line
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Further header fields."""

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def value(self, text: str) -> str | None:
        """Return a text with the values of its variables; None if some are unknown."""
        values = [self._variable((match[0] or match[1]).lower()) for match in _VARIABLE.findall(text)]
        if None in values:
            return None
        rest = iter(values)
        return _VARIABLE.sub(lambda _: next(rest) or "", text)

    def _variable(self, name: str) -> str | None:
        query = self.target.partition("?")[2]
        known = {
            "scheme": "https" if self.tls else "http",
            "https": "on" if self.tls else "",
            "server_port": str(self.port),
            "host": self.host,
            "http_host": self.host,
            "request_method": "GET",
            "request_uri": self.target,
            "uri": self.path,
            "args": query,
            "query_string": query,
            # The client has no certificate.
            "ssl_client_verify": "NONE" if self.tls else "",
            **{f"http_{key.lower().replace('-', '_')}": value for key, value in self.headers.items()},
        }
        if name in known:
            return known[name]
        # The client sends no cookies and no certificate; without a query, there are no arguments.
        is_empty = name.startswith(("http_", "cookie_", "ssl_client_"))
        is_empty = is_empty or (not query and (name.startswith("arg_") or name == "secure_link"))
        return "" if is_empty else None


def holds(condition: Block, request: Request) -> bool | None:
    """Return whether the condition of an ``if`` holds for a request; None if the files do not show it."""
    first, *rest = condition.args or ("",)
    value = _value(first, condition, request)
    if value is None or first in _OF_FILES:
        return None
    if not rest:
        return value not in _NO
    # If the second operand is empty, it is missing.
    operator, other = (*rest, "")[:2]
    if operator in {"=", "!="}:
        wanted = request.value(other)
        return None if wanted is None else (value == wanted) == (operator == "=")
    try:
        regex = compiled(other, ignores_case=operator.endswith("*"))
    except ForeignRegexError:
        return None
    return (regex.search(as_bytes_read(value)) is not None) != operator.startswith("!")


def _value(text: str, block: Block, request: Request) -> str | None:
    """Return a text with the values of its variables; only a lone variable may come from map, geo or valid_referers."""
    names = variables(text)
    is_one = len(names) == 1 and text.strip("${}").lower() == names[0]
    if is_one and names[0] == "invalid_referer":
        allowed = block.in_effect("valid_referers")
        return "" if not allowed or any("none" in said.args for said in allowed) else "1"
    table = table_of(names[0], block) if is_one else None
    if table is not None and table.name == "geo":
        return _of_address(table)
    if table is None or table.name != "map":
        return request.value(text)
    source = request.value(table.args[0])
    if source is None or table.unseen or any(said.name in {"include", "hostnames"} for said in table.own):
        return None
    return _mapped(source, entries(table), request)


def _mapped(source: str, known: Mapping[str, str], request: Request) -> str | None:
    """Return a map's value for a text: of an equal text, else of the first regex that matches, else the default.

    Texts are compared without regard to case (ngx_http_map_find).
    """
    for key, value in known.items():
        if key.lower().removeprefix("\\") == source.lower() and key != "default" and not key.startswith("~"):
            return request.value(value)
    for key, value in known.items():
        if key.startswith("~"):
            try:
                regex = compiled(key.lstrip("~").removeprefix("*"), ignores_case=key.startswith("~*"))
            except ForeignRegexError:
                return None
            if regex.search(as_bytes_read(source)):
                return request.value(value)
    return request.value(known.get("default", ""))


def _of_address(table: Block) -> str | None:
    """Return a geo's value for the lab's client; None if it depends on the client's address or on a missing file."""
    known = entries(table)
    is_plain = len(table.args) == 1 and not table.unseen and not any(said.name in _GEO_MORE for said in table.own)
    is_abroad = not any(_may_be_in_lab(network) for network in known if network != "default")
    return known.get("default", "") if is_plain and is_abroad else None


def diversion(levels: Sequence[Block], request: Request) -> Statement | Block | None:
    """Return the directive that certainly answers or diverts a request before its location proxies it, or None.

    levels: the request's server and location.
    """
    for level in levels:
        for said in (*level.local("return"), *level.local("rewrite")):
            if _diverts(said, request):
                return said
        for inner in level.blocks:
            is_taken = inner.name == "if" and bool(inner.args) and holds(inner, request)
            if is_taken and any(said.name.endswith("_pass") or _diverts(said, request) for said in inner.own):
                return inner
    return None


def _diverts(said: Statement, request: Request) -> bool:
    if said.name != "rewrite":
        return said.name == "return"
    if len(said.args) < 2:  # noqa: PLR2004 - regex and replacement
        return False
    try:
        is_meant = compiled(said.value, ignores_case=False).search(as_bytes_read(request.path))
    except ForeignRegexError:
        return False
    return is_meant is not None and (said.args[1].startswith(_ABROAD) or said.args[-1] != "break")


def refusing(block: Block, *, tls: bool) -> list[Statement]:
    """Return the directives with which nginx certainly rejects GET requests to a location; empty if none does."""
    server = block.around("server")
    verifies = server.in_effect("ssl_verify_client") if server is not None and tls else []
    accounts = [said for said in (block.in_use("auth_basic"),) if said is not None]
    denied, satisfy = _denied(block), block.setting("satisfy")
    may_pass = bool(block.in_effect("auth_request")) or (any(map(_rules, block.within())) and not denied)
    is_enough = satisfy is not None and satisfy.value == "any" and may_pass
    found = [] if is_enough else [*accounts, *denied]
    found += [
        said
        for inner in block.blocks
        if inner.name == "limit_except" and "GET" not in map(str.upper, inner.args)
        for said in _denied(inner)
    ]
    return [*(said for said in verifies[:1] if said.value == "on"), *found]


def common_limit(block: Block) -> Statement | None:
    """Return a limit for all clients together that the trials' requests may exceed; None if there is none."""
    for said in (*block.in_effect("limit_req"), *block.in_effect("limit_conn")):
        key = _key(said, block)
        is_common = key is not None and set(variables(key)) <= _COMMON
        if is_common and not _has_room(said) and not block.is_on(f"{said.name}_dry_run"):
            return said
    return None


def _key(said: Statement, block: Block) -> str | None:
    """Return the key of a limit's zone; None if nothing defines the zone."""
    name = next((arg.removeprefix("zone=") for arg in said.args if arg.startswith("zone=")), said.value)
    everything = (one for one, _ in list(block.within())[-1].everything())
    zones = (one for one in everything if one.name == f"{said.name}_zone" and f"zone={name}:" in " ".join(one.args))
    return next((one.value for one in zones), None)


def tested_under(block: Block) -> str:
    """Return the limits and accounts in effect for the trials of a location, in words; empty for none.

    nginx counts no request for which a limit's key is empty.
    """
    limiting = limits(block)
    if not limiting:
        return ""
    counting = [one for one in limiting if one.name in LIMITING and not _lacks(_key(one, block))]
    lacking = [f"{one.name} {one.args[0]}" for one in limiting if one.name in LIMITING and one not in counting]
    by = ", ".join(f"{one.name} ({one.file}:{one.line})" for one in limiting)
    how = ", each request from a different address" if counting else "; --location PATH tests another"
    none = f"; none of these requests counts for {' and '.join(lacking)}: the key is empty" if lacking else ""
    return f"{by} in effect{how}{none}"


def _lacks(key: str | None) -> bool:
    """Return whether a key consists of headers, cookies and arguments that the lab's requests do not have."""
    names = set(variables(key or ""))
    is_of_clients = all(name.startswith(_OF_CLIENTS) and name not in _SENT for name in names)
    return bool(names) and is_of_clients and not _VARIABLE.sub("", key or "")


def cache_of(block: Block, kind: str) -> Statement | None:
    """Return the cache that keeps a stand-in's responses despite their no-store; None if there is none."""
    ignored = block.setting(f"{kind}_ignore_headers")
    is_kept = ignored is not None and "cache-control" in map(str.lower, ignored.args)
    return block.in_use(f"{kind}_cache") if is_kept else None


def _has_room(said: Statement) -> bool:
    """Return whether a limit is too high to matter in the trials."""
    if said.name == "limit_conn":
        return (whole_number(said.args[-1]) or 0) >= _MOST_AT_ONCE
    bursts = [whole_number(arg.removeprefix("burst=")) or 0 for arg in said.args if arg.startswith("burst=")]
    return "nodelay" in said.args and max(bursts, default=0) >= _MOST_AT_ONCE


def _denied(block: Block) -> list[Statement]:
    """Return the ``deny all`` that certainly applies to the lab's client: ngx_http_access_module."""
    for said in next((rules for level in block.within() if (rules := _rules(level))), []):
        if said.name == "deny":
            # Other ranges may or may not contain the client.
            return [said] if said.value == "all" else []
        if _may_be_in_lab(said.value):
            break
    return []


def _rules(level: Block) -> list[Statement]:
    return [said for said in level.own if said.name in {"allow", "deny"}]


def _may_be_in_lab(address: str) -> bool:
    """Return whether an engine's network, which is private, may have addresses in a range."""
    try:
        network = ipaddress.ip_network(address, strict=False)
    except ValueError:
        return address != "unix:"
    return any(isinstance(network, ipaddress.IPv4Network) and network.overlaps(one) for one in _OF_ENGINES)


def shown(said: Statement | Block) -> str:
    """Return a directive's name and place."""
    return f"{said.name} at {said.file}:{said.line}"


def is_up_to_clients(host: str, block: Block) -> bool:
    """Return whether a client's request, and no directive, determines an upstream's address."""
    everything = list(list(block.within())[-1].everything())
    made = {said.value.lower() for said, _ in everything}
    groups = {arg for said, around in everything for arg in (*said.args, *around.args) if "<" in arg}
    for name in variables(host):
        is_own = f"${name}" in made or table_of(name, block) is not None
        is_known = name.isdecimal() or name == "host" or name.startswith(_OF_CLIENTS)
        if not is_own and (is_known or any(f"<{name}>" in one for one in groups)):
            return True
    return False
