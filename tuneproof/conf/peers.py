"""nginx's error messages about upstream blocks and their servers (ngx_http_upstream.c, ngx_stream_upstream.c)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from tuneproof.conf.directives import rows_of
from tuneproof.conf.statements import Problem, Statement
from tuneproof.conf.tree import Block, is_given, problem_at
from tuneproof.conf.upstreams import DEFAULT_SINCE, is_without_port
from tuneproof.conf.values import is_address, time_ms, whole_number

_WITHOUT_BACKUP: Final = frozenset({"hash", "ip_hash", "random"})
_WORDS: Final = frozenset({"backup", "down", "drain", "resolve"})
_PARAMETERS: Final[Mapping[str, Callable[[str], bool]]] = {
    "weight": lambda value: bool(whole_number(value)),
    "fail_timeout": lambda value: time_ms(value) is not None,
    **dict.fromkeys(("max_fails", "max_conns"), lambda value: whole_number(value) is not None),
    # These come from newer versions, nginx Plus, Angie and Tengine.
    **dict.fromkeys(("route", "service", "slow_start", "sid", "id", "srun_id"), lambda _: True),
}
_RESOLVED_SINCE: Final = (1, 27, 3)


def upstream_problems(http: Block) -> Iterator[Problem]:
    """Yield the errors about upstream blocks with the same name, and about those without servers."""
    seen = set()
    for block in _upstreams(http):
        name = block.args[0].lower()
        if name in seen:
            yield problem_at(block, f'duplicate upstream "{block.args[0]}"')
        seen.add(name)
        # In nginx Plus, its API may add the servers of a block with a zone.
        if _is_own(block) and not block.local("server") and not block.local("zone"):
            yield problem_at(block, "no servers are inside upstream")


def peer_problems(level: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield the errors about the servers and the idle connections of upstream blocks in http{} or stream{}."""
    for block in _upstreams(level):
        yield from _run_time_names(block, level) if version >= _RESOLVED_SINCE and not block.unseen else ()
        if not _is_own(block):
            continue
        servers = block.local("server")
        yield from _parameters(block)
        # In http{}, the default port is 80.
        yield from _without_port(servers) if level.name == "stream" else ()
        if servers and all("backup" in server.args and "resolve" not in server.args for server in servers):
            yield problem_at(block, f'no servers in upstream "{block.args[0]}"')
        for said in block.local("keepalive"):
            number = whole_number(said.value)
            if is_given(said) and (number is None or (number == 0 and version < DEFAULT_SINCE)):
                yield problem_at(said, f'invalid value "{said.value}" in "keepalive" directive')


def _upstreams(level: Block) -> Iterator[Block]:
    return (block for block in level.blocks if block.name == "upstream" and block.args and is_given(block))


def _is_own(block: Block) -> bool:
    """Tell whether no directive of a block is unknown: other modules' directives may add servers and parameters."""
    return not block.unseen and not block.blocks and all(rows_of(said.name) for said in block.own)


def _parameters(block: Block) -> Iterator[Problem]:
    """Yield the errors of ngx_http_upstream_server about a server's parameters."""
    method = ""
    for said in block.own:
        method = said.name if said.name in _WITHOUT_BACKUP else method
        for parameter in said.args[1:] if said.name == "server" and is_given(said) else ():
            name, equals, value = parameter.partition("=")
            if parameter == "backup" and method:
                yield problem_at(said, f'balancing method does not support parameter "{parameter}"')
            elif parameter not in _WORDS and (name not in _PARAMETERS or not equals or not _PARAMETERS[name](value)):
                yield problem_at(said, f'invalid parameter "{parameter}"')
                break


def _without_port(servers: Iterable[Statement]) -> Iterator[Problem]:
    for said in filter(is_given, servers):
        has_service = any(arg.startswith("service=") for arg in said.args)
        if is_without_port(said.value) and not has_service:
            yield problem_at(said, f'no port in upstream "{said.value}"')


def _run_time_names(block: Block, level: Block) -> Iterator[Problem]:
    """Yield the error of ngx_http_upstream_init_round_robin about names resolved at run time."""
    if not any(map(_is_resolved, block.local("server"))):
        return
    place = f'upstream "{block.args[0]}" in {block.file}:{block.line}'
    if not block.local("zone"):
        yield problem_at(block, f"resolving names at run time requires {place} to be in shared memory")
    elif not block.local("resolver") and not level.local("resolver"):
        yield problem_at(block, f"no resolver defined to resolve names at run time in {place}")


def _is_resolved(server: Statement) -> bool:
    host = (
        server.value.partition("]")[0].lstrip("[") if server.value.startswith("[") else server.value.partition(":")[0]
    )
    is_name = host != "unix" and not is_address(host)
    return is_given(server) and is_name and any(one == "resolve" or one.startswith("service=") for one in server.args)
