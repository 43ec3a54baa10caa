"""Named conditions in rows (:mod:`tuneproof.lines`), for facts that no single setting shows."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tuneproof.audit import block_conditions, http3_conditions, path_conditions, tls_conditions, upstream_conditions
from tuneproof.conf.directives import rows_of
from tuneproof.conf.facts import Facts, Proxied
from tuneproof.conf.reuse import Reuse
from tuneproof.conf.statements import TABLES, Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.upstreams import Target
from tuneproof.conf.values import size_bytes, time_ms, whole_number
from tuneproof.wording import size

_ADDRESS: Final = re.compile(r"unix:|\[|(?:\d+\.){3}\d+(?::|$)")
_OF_PHP: Final = re.compile(r"php|fpm")
# https://nginx.org/en/docs/http/ngx_http_upstream_module.html#server
_NEVER_EJECTED: Final = frozenset({"max_fails=0", "fail_timeout=0", "fail_timeout=0s"})
# sizeof(ngx_connection_t) + 2 * sizeof(ngx_event_t) on 64-bit machines, in builds with --with-compat such as packages;
# start_time and quic added 8 bytes each. A claim in worker_connections measures the 424 bytes.
_SLOT_BYTES: Final[Mapping[tuple[int, ...], int]] = {(): 424, (1, 19, 10): 432, (1, 25, 0): 440}
_LARGE_BYTES: Final = 4 << 20
_EVENT_STREAM: Final = "text/event-stream"
_WITH_BUFFER: Final = frozenset({"proxy", "fastcgi", "uwsgi", "scgi"})
# Names of locations and backends: server-sent events, chats, and servers of language models.
_STREAMS: Final = re.compile(
    r"(?<![a-z])(?:events?|sse|streams?|streaming|subscribe|chat|completions|ollama|vllm|litellm|llama)(?![a-z])"
)

# Names of locations with downloads that are usually large.
_DOWNLOADS: Final = re.compile(
    r"(?<![a-z])(?:downloads?|releases?|artifacts?|videos?|backups?|blobs?|dumps?|iso|tar|zip|mp4|deb|rpm)(?![a-z])"
)


def connections_bytes(facts: Facts) -> int:
    """Return the memory that a worker allocates for worker_connections at its start; 0 if their number is unknown."""
    slot = max(each for since, each in _SLOT_BYTES.items() if since <= facts.version_numbers)
    return (facts.worker_connections or 0) * slot


def _memory_of_workers(_at: Statement | Block, _block: Block, facts: Facts) -> str:
    """Return a sentence with the least memory that a worker allocates at start; a space if little: "" is false."""
    held = (facts.worker_connections or 0) * min(_SLOT_BYTES.values())
    return f". Each worker allocates at least {size(held)} at start" if held >= _LARGE_BYTES else " "


def _has_larger_first_buffer(at: Statement | Block, block: Block, _facts: Facts) -> bool:
    """Tell whether some headers fit into the first buffer, but not into a large one."""
    first = block.setting("client_header_buffer_size")
    return first is not None and (size_bytes(first.value) or 0) > (size_bytes("".join(at.args[1:])) or 0)


def _shares_a_queue(_at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether several workers may accept connections from one queue."""
    queues = [one for one in facts.sockets.found if one.is_bound and not one.address.is_udp]
    # Few clients connect from the machine itself: status pages, health checks.
    outside = [one for one in queues if not one.address.host.startswith(("127.", "::1"))]
    of_streams = facts.configuration.main.all("stream")
    apart = [socket.reuseport for socket in outside or queues]
    apart += ["reuseport" in said.args for block in of_streams for said, _ in block.everything() if _is_tcp(said)]
    return facts.workers != 1 and not (apart and all(apart))


def _is_tcp(listen: Statement) -> bool:
    return listen.name == "listen" and "udp" not in listen.args and not listen.value.startswith(("127.", "[::1]"))


def _lacks_descriptors(at: Statement | Block, block: Block, facts: Facts) -> bool:
    return not _has_no_files(block) and _is_limit_below(2, at, facts)


def _lacks_descriptors_of_streams(at: Statement | Block, block: Block, facts: Facts) -> bool:
    return _has_no_files(block) and _is_limit_below(1, at, facts)


def _is_limit_below(each: int, at: Statement | Block, facts: Facts) -> bool:
    """Tell whether a limit is below this many descriptors for each of a worker's connections."""
    limit = whole_number("".join(at.args[:1]))
    return limit is not None and facts.worker_connections is not None and limit < each * facts.worker_connections


def _has_no_files(main: Block) -> bool:
    """Tell whether there is only stream{} or mail{}: without temporary files, a connection needs one descriptor."""
    names = {block.name for block in main.blocks}
    return "http" not in names and bool(names & {"stream", "mail"})


def _ejected_peers(at: Statement | Block, _block: Block, facts: Facts) -> str:
    """Return, after a colon, how failures eject several peers; empty for a lone peer, which is always tried.

    A peer with a backup is not alone, and both can be ejected (ngx_http_upstream_init_round_robin).
    """
    ejected = [target for target in _tried_twice(at, facts) if _has_peers(target, facts, never=_NEVER_EJECTED)]
    if not ejected:
        return ""
    names = [name for target in ejected for name in target.names() or ()]
    servers = [server for name in names if name in facts.upstreams for server in _servers(facts.upstreams[name].block)]
    if any(arg.startswith("max_fails=") and arg != "max_fails=1" for server in servers for arg in server.args):
        return ": each peer after max_fails of them within fail_timeout"
    if fewest := min(filter(None, (_tries(target, at) for target in ejected)), default=0):
        return f": each of these requests ejects up to {fewest - 1} of them ({at.name}_tries)"
    return ": the first request ejects all but the last, the second request the last one"


def _named_peers(at: Statement | Block, _block: Block, facts: Facts) -> str:
    """Return a host name that may resolve to several peers; empty for none, or if there are several peers anyway."""
    tried = _tried_twice(at, facts)
    if any(_has_peers(target, facts, never=_NEVER_EJECTED) for target in tried):
        return ""
    return next((name for target in tried if (name := _one_name(target, facts, never=_NEVER_EJECTED))), "")


def _named_other(at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return a host name that may resolve to several peers; empty for none, or if requests are repeated anyway."""
    if _is_tried_again(at, block, facts):
        return ""
    return next((name for target in _tried_twice(at, facts) if (name := _one_name(target, facts))), "")


def _tried_twice(at: Statement | Block, facts: Facts) -> list[Target]:
    return [one.target for one in _proxied_under(at, facts) if _tries(one.target, at) != 1]


def _proxied_under(at: Statement | Block, facts: Facts) -> list[Proxied]:
    """Return the places that proxy with the same module as a directive, and to which it applies."""
    kind = at.name.partition("_")[0]
    places = [one for one in facts.proxied if one.target.kind == kind and not one.target.block.hides(at.name)]
    return [one for one in places if one.target.block.setting(at.name) is at]


def _connects_to_hosts(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether a directive applies to an upstream that is not a Unix socket, or to none in these files."""
    targets = [one.target for one in _proxied_under(at, facts)]
    addresses = [address for one in targets for peers in _addresses(one, facts, never=frozenset()) for address in peers]
    return not targets or not all(address.startswith("unix:") for address in addresses)


def _tries(target: Target, at: Statement | Block) -> int:
    """Return how many peers a request may reach; 0 for all (ngx_http_upstream_test_next, ngx_http_upstream_next)."""
    said = target.block.setting(f"{at.name}_tries")
    return whole_number(said.value) or 0 if said is not None else 0


def _is_tried_again(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether a request may be sent twice: to another peer, or after a reused connection has failed."""
    is_kept = any(one.reuse.reuse is not Reuse.NO for one in _proxied_under(at, facts))
    return not facts.proxied or is_kept or any(_has_peers(target, facts) for target in _tried_twice(at, facts))


def _has_peers(target: Target, facts: Facts, *, never: frozenset[str] = frozenset()) -> bool:
    return any(len(one) > 1 for one in _addresses(target, facts, never=never))


def _one_name(target: Target, facts: Facts, *, never: frozenset[str] = frozenset()) -> str:
    """Return a lone host name, which may have several addresses; empty for none."""
    single = [one[0] for one in _addresses(target, facts, never=never) if len(one) == 1]
    return next((one.partition(":")[0] for one in single if one and not _ADDRESS.match(one)), "")


def _addresses(target: Target, facts: Facts, *, never: frozenset[str]) -> Iterator[list[str]]:
    """Yield the addresses of each upstream block or host that requests may go to.

    never: parameters; a block is left out if one of its servers has any of them.
    """
    for name in target.names() or {target.host}:
        servers = _servers(facts.upstreams[name].block) if name in facts.upstreams else []
        if not any(never.intersection(server.args) for server in servers):
            yield [server.value for server in servers] or [name]


def _keeps_http(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    upstream = facts.upstreams.get(block.args[0].lower()) if block.args else None
    if upstream is None or not upstream.keepalive:
        return False
    users = facts.passing_to(upstream.name)
    # By default, PHP-FPM and most gRPC servers never close an idle connection; memcached requests are repeated.
    keeping = [one for one in users if one.reuse.reuse is not Reuse.NO and one.target.kind == "proxy"]
    is_of_php = any(map(_OF_PHP.search, upstream.servers))
    return bool(keeping) or (not users and not is_of_php and _is_for_others(facts))


def _is_unused(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether no directive of a complete configuration names an upstream block; an unknown one might."""
    if not facts.configuration.is_whole or not block.args or block.path[:1] != ("http",):
        return False
    everything = facts.configuration.main.everything()
    return not facts.passing_to(block.args[0]) and all(
        rows_of(said.name) for said, inner in everything if inner.name not in TABLES
    )


def _is_for_others(facts: Facts) -> bool:
    """Tell whether unused upstream blocks may be used in missing files."""
    return not facts.configuration.is_whole and not facts.servers


def _is_looked_up_once(at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether a host name in an upstream block or an address is resolved only when nginx starts or reloads."""
    if isinstance(at, Block):
        return any(_is_name(server.value) and "resolve" not in server.args for server in _servers(block))
    target = facts.target_of(at)
    if target is None or "$" in target.to:
        return False
    is_elsewhere = not facts.configuration.is_whole and re.fullmatch(r"[\w-]+", target.host)
    return target.host.lower() not in facts.upstreams and _is_name(target.host) and not is_elsewhere


def _is_name(address: str) -> bool:
    return not _ADDRESS.match(address) and address.partition(":")[0] != "localhost"


def _reloads_end_idle(_at: Statement | Block, block: Block, _facts: Facts) -> bool:
    """Tell whether reloads under traffic are expected, and clients have idle connections."""
    keepalive = block.setting("keepalive_timeout")
    has_none = keepalive is not None and time_ms(keepalive.value) == 0
    return block.setting("worker_shutdown_timeout") is not None and not has_none


def _streams(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    # A list of types to compress also affects other responses.
    said = [one for one in block.own if len(one.args) == 1 or not one.name.endswith("_types")]
    return _is_buffered(block, facts) and any(_EVENT_STREAM in one.args for one in said)


def _may_stream(at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return the module that buffers a location's responses, if its name or its upstream's looks like event streams."""
    targets = [
        proxied.target for proxied in facts.proxied_in(block) if proxied.target.block is block and proxied.is_buffered
    ]
    names = [*block.args, *(target.to for target in targets)]
    # A location that passes Upgrade on is for WebSockets, which nginx does not buffer.
    headers = block.local("proxy_set_header")
    upgrades = any(said.value.lower() == "upgrade" and said.args[1:] != ("",) for said in headers)
    if not targets or upgrades or _streams(at, block, facts) or not _STREAMS.search(" ".join(names)):
        return ""
    return targets[0].kind


def _may_download(_at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return the directive that would limit the bytes read per loop iteration, if a location seems to serve downloads.

    Empty if a directive already limits them, or if the server has no other location.
    """
    target = next((proxied.target for proxied in facts.proxied_in(block) if proxied.target.block is block), None)
    if target is None or target.kind not in _WITH_BUFFER or not _DOWNLOADS.search(" ".join(block.args)):
        return ""
    buffer = f"{target.kind}_socket_rcvbuf"
    server = block.around("server")
    others = server is not None and any(one is not block for one in server.all("location"))
    bounded = any(block.setting(name) for name in (buffer, f"{target.kind}_limit_rate"))
    return buffer if others and not bounded else ""


def _is_buffered(block: Block, facts: Facts) -> bool:
    return any(proxied.is_buffered for proxied in facts.proxied_in(block) if proxied.target.block is block)


def _has_bounds_in_several_workers(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    said = [arg.partition("=") for server in _servers(block) for arg in server.args]
    has_bounds = any(name == "max_conns" and whole_number(bound) for name, _, bound in said)
    return has_bounds and _is_used(block, facts) and facts.workers != 1 and _is_nginx_alone(block)


def _servers(upstream: Block) -> list[Statement]:
    return [server for server in upstream.local("server") if "down" not in server.args]


def _counts_failures_apart(at: Statement | Block, block: Block, facts: Facts) -> bool:
    counts = any(_NEVER_EJECTED.isdisjoint(server.args) for server in _servers(block))
    return facts.workers != 1 and counts and _is_nginx_alone(block) and _has_several_servers(at, block, facts)


def _balances_in_several_workers(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    primary = [server for server in _servers(block) if "backup" not in server.args]
    return facts.workers != 1 and _is_nginx_alone(block) and _is_used(block, facts) and len(primary) > 1


def _is_nginx_alone(upstream: Block) -> bool:
    """Tell whether no other module's directive checks the servers of a block, or chooses one for a request."""
    return not upstream.blocks and all(rows_of(said.name) for said in upstream.own)


def _has_several_servers(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    return _is_used(block, facts) and len(_servers(block)) > 1


def _is_used(upstream: Block, facts: Facts) -> bool:
    return bool(upstream.args and facts.passing_to(upstream.args[0])) or _is_for_others(facts)


WHERE: Final[Mapping[str, Callable[[Statement | Block, Block, Facts], str | bool]]] = {
    **block_conditions.WHERE,
    **http3_conditions.WHERE,
    **path_conditions.WHERE,
    **tls_conditions.WHERE,
    **upstream_conditions.WHERE,
    "memory of a worker": _memory_of_workers,
    "larger first buffer": _has_larger_first_buffer,
    "workers share a queue": _shares_a_queue,
    "connects to hosts": _connects_to_hosts,
    "another try": _is_tried_again,
    "another try if a name has several addresses": _named_other,
    "fewer descriptors than twice worker_connections": _lacks_descriptors,
    "fewer descriptors than worker_connections": _lacks_descriptors_of_streams,
    "peers that may be ejected": _ejected_peers,
    "peers if a name has several addresses": _named_peers,
    "reloads end idle connections": _reloads_end_idle,
    "never used": _is_unused,
    "keeps HTTP connections": _keeps_http,  # an upstream block keeps connections, explicitly or by default
    "looked up once": _is_looked_up_once,
    "streams": _streams,  # a buffered proxied location that names text/event-stream
    "may stream": _may_stream,
    "may download": _may_download,  # a proxied location named like large files, in a server with other locations
    "several servers": _has_several_servers,
    "several servers and workers": _balances_in_several_workers,
    "failures count in several workers": _counts_failures_apart,
    "max_conns and several workers": _has_bounds_in_several_workers,
}
"""Conditions by name; any other text in a row is a setting in effect, such as "sendfile on"."""
