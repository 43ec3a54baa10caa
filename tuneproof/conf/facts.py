"""The facts about a configuration: its servers, upstreams, and proxied locations."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from tuneproof.conf.certificates import certificate_problems
from tuneproof.conf.directives import known
from tuneproof.conf.hosts import ignored_names, never_chosen
from tuneproof.conf.refusals import refusals
from tuneproof.conf.reuse import Judgement, judge
from tuneproof.conf.sockets import Sockets, sockets_of
from tuneproof.conf.statements import Problem, Statement
from tuneproof.conf.tree import Block, Configuration, is_given
from tuneproof.conf.unknown_variables import fixed_variables, unknown_variables
from tuneproof.conf.unreachable import Unreachable, unreachable_in
from tuneproof.conf.upstreams import Target, Upstream, port_problems, stream_port_problems, targets_of, upstreams_of
from tuneproof.conf.values import size_bytes, whole_number
from tuneproof.wording import as_numbers

# https://nginx.org/en/docs/ngx_core_module.html#worker_connections
DEFAULT_WORKER_CONNECTIONS: Final = 512
# "8 4k|8k": the size is that of a memory page, assumed to be 4 KiB.
_DEFAULT_BUFFERS: Final = ("8", "4k")
_DEFAULT_BUFFER_SIZE: Final = "4k"
# https://nginx.org/en/docs/http/ngx_http_core_module.html#output_buffers: two buffers since 1.9.5.
_DEFAULT_OUTPUT_BUFFERS: Final = ("2", "32k")
_OLD_OUTPUT_BUFFERS: Final = ("1", "32k")
_SECOND_OUTPUT_BUFFER_SINCE: Final = (1, 9, 5)
_PARAMETER: Final = re.compile(r'invalid parameter "(\w+)"')
_PROXIED_ADDRESS: Final = re.compile(r"\$\{?proxy_(?:host|port)\b")
# The modules for gRPC and memcached forward each part as it arrives.
_NEVER_BUFFERED: Final = frozenset({"grpc", "memcached"})


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server of http{}."""

    block: Block
    listens: tuple[str, ...]  # its ``listen`` directives' arguments, as written
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Proxied:
    """A proxied location, and its properties."""

    target: Target
    reuse: Judgement  # whether upstream connections are reused
    is_buffered: bool  # whether nginx reads ahead of its client
    reader_bytes: int | None  # the most memory that a slow reader can hold; None if the configuration does not show it
    output_bytes: int  # how much of this memory holds parts of a temporary file; 0 with sendfile(2)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts about a configuration."""

    configuration: Configuration
    version: str
    servers: tuple[Server, ...]
    sockets: Sockets  # of http{}
    upstreams: Mapping[str, Upstream]  # its upstream blocks by name
    proxied: tuple[Proxied, ...]
    workers: int | None  # number of workers; None if the machine determines it, or a part is missing
    worker_connections: int | None  # connections per worker; None if a part is missing
    multi_accept: bool | None
    reuseport: bool
    stream_servers: int

    @property
    def version_numbers(self) -> tuple[int, ...]:
        """The version as comparable numbers."""
        return as_numbers(self.version)

    def speaks_http2(self, server: Block) -> bool:
        """Tell whether clients may use HTTP/2: a server's own directive, or any ``listen`` on its sockets, enables it.

        Without TLS, only ``listen`` is considered, since few clients use HTTP/2 without TLS.
        """
        protocols = frozenset[str]().union(*(socket.protocols for socket in self.sockets.of(server)))
        is_on = server.is_on("http2") and ("ssl" in protocols or bool(self.sockets.unknown))
        return is_on or "http2" in protocols or server.listens_with("http2")

    @cached_property
    def rivals(self) -> Mapping[int, Block]:
        """For each server that gets no requests, by its id: the server that gets those for its first name."""
        return {id(server): rival for server, rival in never_chosen(self.sockets)}

    @cached_property
    def ignored_names(self) -> Mapping[int, tuple[str, Block]]:
        """For each server with a name that an earlier server has, by its id: the first such name, and that server."""
        return {id(server): (name, earlier) for server, name, earlier in reversed(list(ignored_names(self.sockets)))}

    @cached_property
    def unreachable(self) -> Mapping[int, Unreachable]:
        """The reasons why no path reaches a location, by its id."""
        return {key: one for key, one in self._unreachable.items() if not one.is_partly}

    @cached_property
    def partly_unreachable(self) -> Mapping[int, Unreachable]:
        """The reasons why only paths in another letter case reach a location, by its id."""
        return {key: one for key, one in self._unreachable.items() if one.is_partly}

    @cached_property
    def _unreachable(self) -> Mapping[int, Unreachable]:
        servers = self.configuration.main.all("server")
        return {id(one.block): one for server in servers for one in unreachable_in(server)}

    @cached_property
    def names_proxied_address(self) -> bool:
        """Whether a variable is used that contains a proxied location's address, possibly an upstream block's name."""
        return any(map(_PROXIED_ADDRESS.search, self.configuration.texts.values()))

    def target_of(self, said: Statement | Block) -> Target | None:
        """Return what a directive such as ``proxy_pass`` proxies to; in a file included twice, at its first place."""
        return self._targets.get(id(said))

    def proxied_in(self, block: Block) -> Sequence[Proxied]:
        """Return the proxied locations in a block and in blocks inside it."""
        return self._proxied_in.get(id(block), ())

    @cached_property
    def _targets(self) -> Mapping[int, Target]:
        return {id(one.target.statement): one.target for one in reversed(self.proxied)}

    @cached_property
    def _proxied_in(self) -> Mapping[int, Sequence[Proxied]]:
        found: defaultdict[int, list[Proxied]] = defaultdict(list)
        for one in self.proxied:
            for level in one.target.block.within():
                found[id(level)].append(one)
        return found

    @cached_property
    def _by_name(self) -> Mapping[str | None, Mapping[int, Proxied]]:
        """The proxied locations by the upstream blocks that they may name, None for any; each with its number."""
        found: defaultdict[str | None, dict[int, Proxied]] = defaultdict(dict)
        for at, proxied in enumerate(self.proxied):
            names = proxied.target.names()
            for name in (None,) if names is None else names:
                found[name][at] = proxied
        return found

    def passing_to(self, upstream: str) -> list[Proxied]:
        """Return the locations proxied, or possibly proxied, to an upstream block, with its name in any letter case."""
        name = upstream.lower()
        possible = {at: one for at, one in self._by_name.get(None, {}).items() if one.target.may_be(name)}
        return [one for _, one in sorted({**self._by_name.get(name, {}), **possible}.items())]


def facts_of(configuration: Configuration, version: str) -> Facts:
    """Return the facts about a configuration."""
    main = configuration.main
    numbers = as_numbers(version)
    upstreams = upstreams_of(main, numbers)
    targets = list(targets_of(main))
    sockets = sockets_of(main, numbers)
    listens = [listen for block in main.all("server") for listen in block.local("listen")]
    # Which fragments in a folder are included together, and which values placeholders get, is unknown.
    is_known = not configuration.is_fragment and all(map(is_given, listens))
    refused = sockets.problems if is_known else tuple(filter(_is_torn, sockets.problems))
    problems = (
        *configuration.problems,
        *refusals(configuration, numbers),
        *unknown_variables(configuration),
        *fixed_variables(main),
        *port_problems(targets, upstreams, is_whole=configuration.is_whole),
        *stream_port_problems(main, is_whole=configuration.is_whole),
        *refused,
        *(certificate_problems(main, sockets, numbers) if configuration.is_whole and is_known else ()),
    )
    servers = [block for block in main.all("server") if "http" in block.path]
    events = next(iter(main.all("events")), None)
    return Facts(
        configuration=replace(configuration, problems=problems),
        version=version,
        servers=tuple(map(_server, servers)),
        sockets=sockets,
        upstreams=upstreams,
        proxied=tuple(
            _proxied(target, judge(target, upstreams, numbers, is_whole=configuration.is_whole), numbers)
            for target in targets
        ),
        workers=_number(main.setting("worker_processes"), default=1, known=not configuration.is_fragment),
        worker_connections=_number(
            events.setting("worker_connections") if events else None,
            default=DEFAULT_WORKER_CONNECTIONS,
            known=not configuration.is_fragment,
        ),
        multi_accept=None if configuration.is_fragment else events is not None and events.is_on("multi_accept"),
        reuseport=any("reuseport" in listen.args for listen in listens),
        stream_servers=sum("stream" in block.path for block in main.all("server")),
    )


def _is_torn(problem: Problem) -> bool:
    """Tell whether a ``listen`` lacks its semicolon, so that the next directive is its parameter."""
    word = _PARAMETER.fullmatch(problem.message)
    return word is not None and word[1] in known()


def _server(block: Block) -> Server:
    return Server(
        block=block,
        # https://nginx.org/en/docs/http/ngx_http_core_module.html#listen: port 80 if nginx starts as root.
        listens=tuple(" ".join(listen.args) for listen in block.local("listen")) or ("80",),
        names=tuple(name for statement in block.local("server_name") for name in statement.args),
    )


def _number(statement: Statement | None, *, default: int, known: bool) -> int | None:
    if statement is None:
        return default if known else None
    return whole_number(statement.value)


def _is_buffered(target: Target) -> bool:
    if target.kind in _NEVER_BUFFERED:
        return False
    return not target.block.is_off(f"{target.kind}_buffering")


def _proxied(target: Target, reuse: Judgement, version: tuple[int, ...]) -> Proxied:
    """Return a proxied location with the memory that a reader can hold, as the scenario proxy_buffering measures it."""
    block, kind = target.block, target.kind
    is_buffered = _is_buffered(target)
    first = block.setting(f"{kind}_buffer_size")
    parts = [size_bytes(first.value if first else _DEFAULT_BUFFER_SIZE)]
    output_bytes = None
    if is_buffered:
        parts.append(_buffers_bytes(block.setting(f"{kind}_buffers"), _DEFAULT_BUFFERS))
        if _reads_files(target):
            default = _DEFAULT_OUTPUT_BUFFERS if version >= _SECOND_OUTPUT_BUFFER_SINCE else _OLD_OUTPUT_BUFFERS
            output_bytes = _buffers_bytes(block.setting("output_buffers"), default)
            parts.append(output_bytes)
    known = [part for part in parts if part is not None]
    return Proxied(
        target=target,
        reuse=reuse,
        is_buffered=is_buffered,
        reader_bytes=sum(known) if len(known) == len(parts) else None,
        output_bytes=output_bytes or 0,
    )


def _reads_files(target: Target) -> bool:
    """Tell whether nginx reads the temporary files that it writes; without TLS, sendfile(2) makes that unnecessary."""
    block = target.block
    most = block.setting(f"{target.kind}_max_temp_file_size")
    is_sent = block.is_on("sendfile") and not any(server.listens_with("ssl") for server in block.servers())
    return not is_sent and (most is None or size_bytes(most.value) != 0)


def _buffers_bytes(said: Statement | None, default: tuple[str, str]) -> int | None:
    """Return the number of buffers times their size; None if either is unknown."""
    number, size = said.args[:2] if said and len(said.args) > 1 else default
    count, each = whole_number(number), size_bytes(size)
    return None if count is None or each is None else count * each
