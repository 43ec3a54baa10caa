"""Row conditions about upstreams: names over TLS, resolvers, protocols, peers, buffering and caching."""

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tuneproof.conf.buffers import refusal_on_x86
from tuneproof.conf.facts import Facts
from tuneproof.conf.reuse import Reuse
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.upstreams import DEFAULT_SINCE, Target
from tuneproof.conf.values import is_address, size_bytes, time_ms, whole_number
from tuneproof.conf.variables import definitions, variables
from tuneproof.wording import each_once

_TLS: Final = frozenset({"https", "grpcs", "suwsgi"})
_LONG_MS: Final = 10 * 60 * 1000
_PAGE_BYTES: Final = 4 << 10
# The whole host, with or without a port.
_CLIENTS: Final = re.compile(r"(\$\{?(?:host|(?:arg|http|cookie)_\w+)\}?)(?::.*)?", re.IGNORECASE)
_CLIENTS_OF_STREAMS: Final = re.compile(r"(\$\{?(?:ssl_preread_server_name|ssl_server_name)\}?)(?::.*)?", re.IGNORECASE)
_NAME: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE)


def _tls_names(target: Target, facts: Facts) -> tuple[str, list[str]] | None:
    """Return the host in a TLS upstream's address, and the host names of its servers; None without TLS."""
    names, schemes = target.names(), target.schemes()
    if names is None or len(names) != 1 or schemes is None or not schemes & _TLS:
        return None
    (name,) = names
    upstream = facts.upstreams.get(name)
    hosts = [_host(server) for server in (upstream.servers if upstream else (name,))]
    return name, [host for host in dict.fromkeys(hosts) if _NAME.fullmatch(host) and not is_address(host)]


def _host(address: str) -> str:
    return address if address.startswith(("unix:", "[")) else address.partition(":")[0]


def _lacks_sni(at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return the host name of a TLS upstream to which nginx does not send SNI; empty if it does."""
    target = facts.target_of(at)
    if target is None or block.lacks_includes:
        return ""
    found = _tls_names(target, facts)
    if found is None or not found[1] or block.is_on(f"{target.kind}_ssl_server_name"):
        return ""
    return found[1][0]


def _sends_wrong_name(at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return the wrong name that is sent as SNI to the named servers of an upstream block; empty for none."""
    target = facts.target_of(at)
    found = _tls_names(target, facts) if target is not None else None
    is_sent = target is not None and block.is_on(f"{target.kind}_ssl_server_name")
    return _name_of_block(target, block, facts) if is_sent and found is not None and found[1] else ""


def _checks_wrong_name(at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return the wrong name that an upstream's certificate must have; empty if that name is also sent as SNI."""
    target = facts.target_of(at)
    is_checked = target is not None and block.is_on(f"{target.kind}_ssl_verify")
    return _name_of_block(target, block, facts) if is_checked and not _sends_wrong_name(at, block, facts) else ""


def _name_of_block(target: Target | None, block: Block, facts: Facts) -> str:
    """Return the upstream block's name, if nginx uses it as the TLS name of its servers.

    Empty if it is a host name: it may have been chosen for the host's certificate.
    """
    found = _tls_names(target, facts) if target is not None else None
    if target is None or found is None or block.lacks_includes or block.setting(f"{target.kind}_ssl_name"):
        return ""
    return found[0] if found[0] in facts.upstreams and not _NAME.fullmatch(found[0]) else ""


def _cannot_be_looked_up(at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return a host to which a request may go, and for which nginx has no resolver; empty for none.

    Source: ngx_http_upstream_init_request looks for the host among upstream blocks and addresses without variables.
    """
    target = facts.target_of(at)
    is_known = facts.configuration.is_whole and all(one.is_given for one in facts.configuration.filled)
    if target is None or "$" not in target.to or not is_known or block.setting("resolver"):
        return ""
    known = {*facts.upstreams, *(one.target.host.lower() for one in facts.proxied if "$" not in one.target.to)}
    names = [name for name in sorted(target.names() or ()) if name not in known and not name.startswith(("unix:", "["))]
    return next((host for name in names if (host := _host(name)) and not is_address(host)), "")


def _is_chosen_by_client(at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return the variable in an address through which a client chooses the host; empty for none."""
    target = facts.target_of(at)
    found = _CLIENTS.fullmatch(target.host) if target is not None else None
    tests = (one for level in block.within() for one in level.blocks if one.name == "if")
    location = block.around("location")
    is_internal = location is not None and bool(location.local("internal"))
    name = found[1].strip("${}").lower() if found is not None else ""
    if found is None or is_internal:
        return ""
    if any(word in "".join(one.args).lower() for one in tests for word in ("host", name)):
        return ""
    return found[1] if name != "host" or _takes_any_host(block, facts) else ""


def _is_chosen_in_handshake(at: Statement | Block, block: Block, _facts: Facts) -> str:
    """Return the variable through which a client of stream{} chooses the host; empty for none."""
    found = _CLIENTS_OF_STREAMS.fullmatch("".join(at.args[:1]))
    # A server with server_name possibly gets only connections for these names.
    return found[1] if found is not None and not block.local("server_name") else ""


def _takes_any_host(block: Block, facts: Facts) -> bool:
    """Tell whether a server also gets requests for hosts that are in no server_name."""
    server = block.around("server")
    return server is not None and any(socket.default is server for socket in facts.sockets.of(server))


def _protocols(_at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return the protocols spoken to an upstream block that keeps connections; empty if there is only one."""
    upstream = facts.upstreams.get(block.args[0].lower()) if block.args else None
    if upstream is None or not upstream.keepalive or upstream.is_local:
        return ""
    users = [one for one in facts.passing_to(upstream.name) if one.target.names() == frozenset({upstream.name.lower()})]
    spoken = {_protocol(one.target) for one in users if one.reuse.reuse is Reuse.YES}
    return each_once(sorted(spoken)) if len(spoken) > 1 and "" not in spoken else ""


def _protocol(target: Target) -> str:
    schemes = target.schemes()
    if schemes is None or len(schemes) != 1:
        return ""
    (scheme,) = schemes
    if target.kind != "proxy":
        return scheme or target.kind
    version = target.block.setting("proxy_http_version")
    return f"{scheme}, HTTP/2" if version is not None and version.value == "2" else scheme


def _down_for_long(at: Statement | Block, block: Block, _facts: Facts) -> str:
    """Return which failures eject a server, and for how long; empty for a lone server, or for less than ten minutes."""
    if "down" in at.args:
        return ""
    options = dict(arg.split("=", 1) for arg in at.args[1:] if "=" in arg)
    failures, avoided = whole_number(options.get("max_fails", "1")), options.get("fail_timeout", "")
    if len(block.local("server")) < 2 or not failures or (time_ms(avoided) or 0) < _LONG_MS:  # noqa: PLR2004 - one server
        return ""
    avoided += "s" * avoided.isdecimal()
    if failures == 1:
        return f"one failed request takes it out for {avoided}"
    return f"{failures} failed requests within {avoided} take it out for {avoided}"


def _asks_for_idle_connections(at: Statement | Block, _block: Block, facts: Facts) -> str:
    """Return the ``keepalive`` of the upstream block that requests are passed to, with its place; empty for none."""
    target = facts.target_of(at)
    names = target.names() or () if target is not None else ()
    said = [facts.upstreams[name].statement for name in names if name in facts.upstreams]
    return next((f"keepalive {one.value} ({one.file}:{one.line})" for one in said if one and one.value != "0"), "")


def _is_localhost(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    target = facts.target_of(at)
    host = "".join(at.args[:1]) if target is None else target.host
    is_block = target is not None and host.lower() in facts.upstreams
    return _host(host).lower() == "localhost" and not is_block


def _mixed_resolvers(at: Statement | Block, _block: Block, _facts: Facts) -> str:
    """Return the private and the public resolvers of a list, in words; empty if all are of the same kind."""
    addresses = [ipaddress.ip_address(one) for one in _addresses(at)]
    private = [str(one) for one in addresses if one.is_private]
    public = [str(one) for one in addresses if not one.is_private]
    return f"{', '.join(private)} and {', '.join(public)}" if private and public else ""


def _addresses(at: Statement | Block) -> Iterator[str]:
    for arg in at.args:
        host = arg.partition("]")[0].lstrip("[") if arg.startswith("[") else arg.partition(":")[0]
        if "=" not in arg and is_address(host):
            yield host


def _keeps_default_buffer(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether there are large ``proxy_buffers`` but no ``proxy_buffer_size``, the size of the headers' buffer."""
    is_large = (size_bytes("".join(at.args[1:])) or 0) > _PAGE_BYTES
    first = f"{_kind(at)}_buffer_size"
    return is_large and any(not block.in_effect(first) for block in _targets_under(at, facts))


def _is_refused_on_x86(at: Statement | Block, block: Block, _facts: Facts) -> str:
    http = block.around("http")
    return refusal_on_x86(at, http) if isinstance(at, Statement) and http is not None and http.span else ""


def _speaks_http11(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether nginx speaks HTTP/1.1 to upstreams here or in an inner block."""
    inner = [said for said, _ in block.everything() if said.name == "proxy_http_version"]
    said = [*block.in_effect("proxy_http_version"), *inner]
    return any(one.value == "1.1" for one in said) if said else facts.version_numbers >= DEFAULT_SINCE


def _speaks_http10(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether nginx sends this header to an upstream in HTTP/1.0 requests."""
    for proxied in facts.proxied:
        block = proxied.target.block
        is_sent = proxied.target.kind == "proxy" and at in block.in_effect("proxy_set_header")
        said = block.setting("proxy_http_version")
        is_old = said.value == "1.0" if said is not None else facts.version_numbers < DEFAULT_SINCE
        if is_sent and is_old and not block.hides("proxy_http_version"):
            return True
    return False


def _mixes_slices(at: Statement | Block, _block: Block, facts: Facts) -> str:
    """Return the module that caches slices under a key without their range; empty if none does."""
    for proxied in facts.proxied:
        block, kind = proxied.target.block, proxied.target.kind
        if block.setting("slice") is not at or block.lacks_includes or not _is_cached(block, kind):
            continue
        key = block.setting(f"{kind}_cache_key")
        # A variable that another directive defines may contain the range.
        enough = {"slice_range", *(name for _, name in definitions(facts.configuration.main))}
        if key is None or enough.isdisjoint(variables(key.value)):
            return kind
    return ""


def _kind(at: Statement | Block) -> str:
    return at.name.partition("_")[0]


def _targets_under(at: Statement | Block, facts: Facts, kind: str = "") -> Iterator[Block]:
    """Yield the blocks that proxy requests and in which a directive is in effect.

    ``kind``: the module that proxies (default: the directive's own).
    """
    for proxied in facts.proxied:
        block = proxied.target.block
        if proxied.target.kind == (kind or _kind(at)) and block.setting(at.name) is at and not block.lacks_includes:
            yield block


def _is_unbuffered(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether none of the responses that a directive applies to is buffered.

    Source: ngx_http_upstream_send_response frees the cache entry of unbuffered responses.
    """
    blocks = list(_targets_under(at, facts))
    return bool(blocks) and all(block.is_off(f"{_kind(at)}_buffering") for block in blocks)


def _passes_uploads_unbuffered(at: Statement | Block, _block: Block, facts: Facts) -> str:
    """Return why a location with a directive does not buffer uploads, in parentheses; empty if each buffers them."""
    for kind in ("proxy", "fastcgi", "uwsgi", "scgi"):
        if any(block.is_off(f"{kind}_request_buffering") for block in _targets_under(at, facts, kind)):
            return f" ({kind}_request_buffering off)"
    return ""


def _caches(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether responses that a directive applies to are cached, or whether the files proxy no request at all."""
    return not facts.proxied or any(_is_cached(block, _kind(at)) for block in _targets_under(at, facts))


def _is_cached(block: Block, kind: str) -> bool:
    return block.in_use(f"{kind}_cache") is not None and not block.is_off(f"{kind}_buffering")


def _caches_cookies(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether responses that set a cookie are cached somewhere, and nothing hides it from other clients."""
    kind = _kind(at)
    for block in _targets_under(at, facts):
        is_cached = _is_cached(block, kind)
        hidden = any(one.value.lower() == "set-cookie" for one in block.in_effect(f"{kind}_hide_header"))
        # Headers of a subrequest, such as that of auth_request, are not sent to clients.
        if is_cached and not hidden and not block.local("internal") and not block.in_effect(f"{kind}_no_cache"):
            return True
    return False


WHERE: Final[Mapping[str, Callable[[Statement | Block, Block, Facts], str | bool]]] = {
    "no SNI": _lacks_sni,
    "SNI of the block": _sends_wrong_name,
    "certificate of the block": _checks_wrong_name,
    "no resolver": _cannot_be_looked_up,
    "chosen by the client": _is_chosen_by_client,
    "chosen in the TLS handshake": _is_chosen_in_handshake,
    "several protocols": _protocols,
    "down for long": _down_for_long,
    "localhost": _is_localhost,
    "mixed resolvers": _mixed_resolvers,
    "proxied without buffering": _is_unbuffered,
    "unbuffered uploads": _passes_uploads_unbuffered,
    "asks for idle connections": _asks_for_idle_connections,
    "caches": _caches,
    "cached with cookies": _caches_cookies,
    "headers keep the default buffer": _keeps_default_buffer,
    "refused on x86": _is_refused_on_x86,
    "HTTP/1.0 to the upstream": _speaks_http10,
    "HTTP/1.1 to the upstream": _speaks_http11,
    "key without the slice": _mixes_slices,
}
