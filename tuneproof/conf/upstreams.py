"""Upstream blocks, and the locations that are proxied to them."""

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tuneproof.conf.statements import GUESSED, Problem, Statement
from tuneproof.conf.tree import Block, is_given, problem_at
from tuneproof.conf.values import is_address, whole_number
from tuneproof.conf.variables import pattern_of, possible_values
from tuneproof.nginx_changes import since
from tuneproof.wording import as_numbers

KINDS: Final = ("proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached")
"""Modules that proxy, each with a directive "<kind>_pass"."""
KEPT_SINCE: Final = since("default", "keepalive")
DEFAULT_SINCE: Final = as_numbers(KEPT_SINCE)
"""From this version of nginx on, HTTP/1.1 and ``keepalive 32 local`` are the default for every upstream{}."""
_DEFAULT_KEEPALIVE: Final = 32
METHODS: Final = frozenset({"hash", "ip_hash", "least_conn", "random"})
"""Balancing methods; before DEFAULT_SINCE, each replaces an earlier ``keepalive``."""
_URL: Final = re.compile(r"(?:(?P<scheme>[a-z]+|\$\w+|\$\{\w+\})://)?(?P<rest>.*)", re.DOTALL | re.IGNORECASE)
_HOST: Final = re.compile(r"unix:[^:]+|(?:\[[^\]]*\]|(?:\$\{\w+\}|[^/:?])*)(?::[^/?]*)?")
_SPEAKERS: Final = frozenset({"proxy", "grpc", "uwsgi"})
_NO_PORT: Final = re.compile(r"[\w.-]+|\[[^]$]+\]")
_LAST_PORT: Final = 65535
# Variables that contain the request's path or arguments, and may directly follow the address.
_PATHS: Final = re.compile(r"(?:\$\{?(?:request_uri|uri|document_uri|is_args|args|query_string)\}?)+$")


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """An ``upstream`` block in http{}."""

    name: str
    block: Block
    servers: tuple[str, ...]  # its servers' addresses, as written
    keepalive: int  # the number of idle connections that each worker keeps
    statement: Statement | None  # the ``keepalive`` that sets this number; None for nginx's default
    discarded_by: Statement | None = None  # a balancing method after ``keepalive`` that replaces it
    is_local: bool = False  # whether a location reuses only connections that it opened itself


@dataclass(frozen=True, kw_only=True)
class Target:
    """A block that proxies, such as a location or a server in stream{}."""

    kind: str  # one of :data:`KINDS`, or "stream"
    block: Block
    statement: Statement
    host: str  # the host in its address, with the port if there is one, and with variables as written
    scheme: str  # the scheme of its address, as written; empty for none

    @property
    def to(self) -> str:
        """The address, as written."""
        return self.statement.value

    @property
    def location(self) -> str:
        """The arguments of the location around the directive; outside of locations, the name of its block."""
        found = self.block.around("location")
        return " ".join(found.args) if found is not None else self.block.name

    def names(self) -> frozenset[str] | None:
        """Return the possible addresses, in lower case and without a scheme; None if they are unknown.

        An address with a port, or a socket's path, does not name an upstream block.
        """
        values = possible_values(self.host, self.block)
        if values is None:
            return None
        return frozenset(_parts(value, has_scheme=self.kind in _SPEAKERS)[1].lower() for value in values)

    def schemes(self) -> frozenset[str] | None:
        """Return the possible schemes, in lower case and "" for none; None if they are unknown."""
        values = possible_values(self.scheme or self.host, self.block)
        if values is None:
            return None
        if not self.scheme:
            values = frozenset(_parts(value, has_scheme=self.kind in _SPEAKERS)[0] for value in values)
        return frozenset(map(str.lower, values))

    def may_be(self, name: str) -> bool:
        """Tell whether the address is this name for some values of its variables."""
        return pattern_of(self.host).fullmatch(name) is not None


def upstreams_of(main: Block, version: tuple[int, ...]) -> dict[str, Upstream]:
    """Return the upstream blocks of http{} by name in lower case, as nginx compares them.

    Sources: ngx_http_upstream_keepalive_module.c of 1.29.6 and 1.29.7, and the change log of the latter.
    """
    found = {}
    for block in main.all("upstream"):
        if "stream" in block.path or not block.args:
            continue
        said = block.local("keepalive")
        number = whole_number(said[-1].value) if said else _DEFAULT_KEEPALIVE * (version >= DEFAULT_SINCE)
        names = [one.name for one in block.own]
        later = [one for one in block.own[names.index("keepalive") :] if one.name in METHODS] if said else []
        is_discarded = later and version < DEFAULT_SINCE
        found[block.args[0].lower()] = Upstream(
            name=block.args[0],
            block=block,
            servers=tuple(server.value for server in block.local("server")),
            keepalive=0 if is_discarded else number or 0,
            statement=said[-1] if said else None,
            discarded_by=later[-1] if is_discarded else None,
            is_local=version >= DEFAULT_SINCE and (not said or "local" in said[-1].args),
        )
    return found


def port_problems(targets: Iterable[Target], upstreams: Container[str], *, is_whole: bool) -> Iterator[Problem]:
    """Yield errors for addresses with a missing host, a missing or invalid port, or a port after an upstream's name.

    ``is_whole``: all upstream blocks are known. Sources: ngx_http_upstream_add, ngx_http_upstream_init_round_robin.
    """
    for target in targets:
        is_ipv6 = target.host.startswith("[")
        name, colon, port = target.host.rpartition(":") if is_ipv6 else target.host.partition(":")
        address = target.to.partition("://")[2] if target.scheme else target.to
        message = ""
        if not name and not is_ipv6 and is_given(target.statement) and "$" not in target.to:
            message = f'no host in upstream "{address}"'
        elif colon and _is_wrong_port(target, port):
            message = f'invalid port in upstream "{address}"'
        elif colon and port.isdecimal() and name.lower() in upstreams and is_given(target.statement):
            message = f'upstream "{name}" may not have port {port}'
        elif target.kind != "proxy" and _lacks_port(target) and target.host.lower() not in upstreams:
            is_certain = is_whole or is_address(target.host.strip("[]"))
            message = f'no port in upstream "{target.host}"' if is_certain else ""
        if message:
            yield problem_at(target.statement, message)


def stream_port_problems(main: Block, *, is_whole: bool) -> Iterator[Problem]:
    """Yield the errors of :func:`port_problems` for ``proxy_pass`` in stream{}."""
    for stream in (block for block in main.blocks if block.name == "stream"):
        names = {block.args[0].lower() for block in stream.all("upstream") if block.args}
        passed = ((said, block) for said, block in stream.everything() if said.name == "proxy_pass" and said.args)
        # An address with a path has its own error.
        targets = (
            Target(kind="stream", block=block, statement=said, host=said.value, scheme="")
            for said, block in passed
            if not said.value.startswith("unix:") and not {"/", "?"} & set(said.value)
        )
        yield from port_problems(targets, names, is_whole=is_whole)


def _is_wrong_port(target: Target, port: str) -> bool:
    is_port = port.isdecimal() and 0 < int(port) <= _LAST_PORT
    is_known = is_given(target.statement) and "$" not in target.to
    return is_known and not is_port and not target.host.startswith("unix:") and not port.endswith("]")


def _lacks_port(target: Target) -> bool:
    return is_given(target.statement) and is_without_port(target.host)


def is_without_port(address: str) -> bool:
    """Tell whether an address is a host without a port."""
    return _NO_PORT.fullmatch(address) is not None


def targets_of(main: Block) -> Iterator[Target]:
    """Yield every place that proxies HTTP requests, in the order of the files."""
    for block in main.blocks:
        if block.name not in {"stream", GUESSED}:
            yield from _targets(block)


def _targets(block: Block) -> Iterator[Target]:
    for statement in block.own:
        kind = statement.name.removesuffix("_pass")
        if statement.name.endswith("_pass") and kind in KINDS and statement.args:
            scheme, host = _parts(statement.value, has_scheme=kind in _SPEAKERS)
            yield Target(kind=kind, block=block, statement=statement, host=_PATHS.sub("", host), scheme=scheme)
    for inner in block.blocks:
        yield from _targets(inner)


def _parts(text: str, *, has_scheme: bool) -> tuple[str, str]:
    """Return the scheme and the address of a target: "http" and "app:8080" for "http://app:8080/path".

    The whole of "unix:/run/php.sock" is an address.
    """
    url = _URL.match(text) if has_scheme else None
    scheme, rest = (url["scheme"] or "", url["rest"]) if url else ("", text)
    match = _HOST.match(rest)
    return scheme, match[0] if match else rest
