"""The sockets that nginx opens for the ``listen`` directives of all servers in a block, and its error messages.

Sources: ngx_http_add_listen, ngx_http_init_listening, ngx_open_listening_sockets, and ngx_http_core_listen, which nginx
calls for each directive in the order of the files.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tuneproof.conf.listens import Address, Listen, ListenError
from tuneproof.conf.statements import Problem, Statement
from tuneproof.conf.tree import Block, problem_at

PROTOCOLS: Final = frozenset({"ssl", "http2", "proxy_protocol", "quic"})
"""Parameters that apply to a socket if any ``listen`` of its address has them."""
HTTPS_PORT: Final = 443
_IN_USE: Final = "bind() to {} failed (98: Address already in use)"


@dataclass(frozen=True, kw_only=True)
class Socket:
    """An address and port with its own servers: a socket in the kernel, or part of a wildcard socket."""

    address: Address
    servers: tuple[Block, ...]  # its servers, in the order of the files
    default: Block  # the server for unknown hosts
    protocols: frozenset[str]  # some of PROTOCOLS
    listens: tuple[Statement, ...]  # in the order of the files; empty for port 80 of a server without a listen
    options: Statement | None = None  # the listen that sets its options, such as backlog; None for the defaults
    redefined: tuple[Statement | Block, ...] = ()
    """Its listens (or servers without any) about which nginx has warned since 1.23.4: other listens have other
    PROTOCOLS."""
    is_bound: bool = True  # whether it exists in the kernel; if not, the wildcard socket takes its connections

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of the listen that sets its options, such as "backlog=4096"."""
        return self.options.args[1:] if self.options is not None else ()

    @property
    def reuseport(self) -> bool:
        """Whether each worker has its own queue."""
        return "reuseport" in self.parameters

    @property
    def takes_ipv4(self) -> bool:
        """Whether the socket covers all IPv6 addresses, and accepts IPv4 connections as well."""
        is_ipv6 = self.address.is_wildcard and self.address.family == "inet6"
        return is_ipv6 and "ipv6only=off" in self.parameters

    def excludes(self, other: "Socket") -> bool:
        """Tell whether the kernel refuses this socket because of another bound socket."""
        mine, theirs = self.address, other.address
        if "unix" in {mine.family, theirs.family}:
            return mine.host == theirs.host
        if mine.port != theirs.port or mine.is_udp or theirs.is_udp or (self.reuseport and other.reuseport):
            return False
        if mine.family == theirs.family:
            return mine == theirs or mine.is_wildcard or theirs.is_wildcard
        return self.takes_ipv4 or other.takes_ipv4


@dataclass(frozen=True, kw_only=True)
class Sockets:
    """All sockets of a block such as http{}."""

    found: tuple[Socket, ...]
    problems: tuple[Problem, ...]  # nginx's error message for each listen that it refuses; it stops at the first
    unknown: tuple[Statement, ...] = ()  # listens on host names, which need a resolver

    def of(self, server: Block) -> Iterator[Socket]:
        """Yield the sockets of a server."""
        return (socket for socket in self.found if server in socket.servers)

    def at(self, host: str, port: int) -> Socket | None:
        """Return the socket that serves a TCP connection to an address, such as "127.0.0.1"; None if none does."""
        here = [socket for socket in self.found if socket.address.port == port and not socket.address.is_udp]
        family = Address(host=host, port=port).family
        exact = (socket for socket in here if socket.address.host == host)
        wildcard = (socket for socket in here if socket.address.is_wildcard and socket.address.family == family)
        both = (socket for socket in here if socket.takes_ipv4)
        return next(exact, None) or next(wildcard, None) or (next(both, None) if family == "inet" else None)


@dataclass(eq=False, kw_only=True)
class _Merged:
    """A socket while its listens are read."""

    address: Address
    servers: list[Block]
    default: Block
    protocols: frozenset[str]
    listens: list[Statement]
    options: Statement | None = None
    has_default: bool = False
    redefined: list[Statement | Block] = field(default_factory=list)
    expected: frozenset[str] | None = None  # the protocols that the next listen may have without a warning
    has_changed: bool = False  # whether the protocols of its listens differ

    def add(self, server: Block, listen: Listen) -> None:
        """Merge another ``listen`` on this address, as ngx_http_add_addresses does.

        Raises ListenError: nginx refuses the ``listen``.
        """
        # Servers are read one after the other, so only the socket's last server can be this one.
        if server is self.servers[-1]:
            raise ListenError(f"a duplicate listen {self.address.name}")
        self.servers.append(server)
        if listen.has_options:
            if self.options is not None:
                raise ListenError(f"duplicate listen options for {self.address.name}")
            self.options = listen.statement
        if listen.is_default:
            if self.has_default:
                raise ListenError(f"a duplicate default server for {self.address.name}")
            self.default, self.has_default = server, True
        if self._is_redefined(listen):
            self.redefined.append(listen.statement or server)
        self.protocols |= listen.protocols
        if listen.statement is not None:
            self.listens.append(listen.statement)

    def _is_redefined(self, listen: Listen) -> bool:
        """Tell whether nginx warns: it does not if only one listen sets the protocols, which others need not repeat."""
        before, now = self.protocols, listen.protocols
        if now == before:
            is_other = (listen.has_options and self.has_changed) or self.expected not in {None, now}
            self.expected = now
        elif now < before:
            is_other = listen.has_options or self.expected not in {None, now}
            self.expected, self.has_changed = now, True
        else:
            had_options = self.options is not None and not listen.has_options
            is_other = had_options or self.has_changed or not before < now
            self.expected, self.has_changed = before, True
        return is_other


@dataclass(eq=False, kw_only=True)
class _Port:
    """Sockets of one family, type and port."""

    sockets: list[_Merged] = field(default_factory=list)

    def bound(self) -> Iterator[Socket]:
        """Yield the sockets in the order in which nginx binds them; the wildcard socket is last."""
        wildcards = [one for one in self.sockets if one.address.is_wildcard]
        singles = [one for one in self.sockets if not one.address.is_wildcard]
        for one in sorted(singles, key=lambda one: one.options is None) + wildcards:
            values = {**vars(one), "servers": tuple(one.servers), "listens": tuple(one.listens)}
            values["redefined"] = tuple(one.redefined)
            for name in ("has_default", "expected", "has_changed"):
                del values[name]
            yield Socket(**values, is_bound=one in wildcards or one.options is not None or not wildcards)


def sockets_of(main: Block, version: Sequence[int], *, protocol: str = "http") -> Sockets:
    """Return the sockets that a version of nginx opens for http{}, stream{} or mail{}.

    The problems are nginx's for http{}, and for stream{} since 1.25.5.
    """
    ports: dict[tuple[str, bool, int], _Port] = {}
    unknown: list[Statement] = []
    problems: list[Problem] = []
    for server, statement in _listens(main, protocol):
        try:
            listen = Listen.of(statement, tuple(version), protocol=protocol)
        except ListenError as error:
            problems.append(_problem(statement, server, str(error)))
            continue
        if not listen.addresses and statement is not None:
            unknown.append(statement)
        for address in listen.addresses:
            port = ports.setdefault((address.family, address.is_udp, address.port), _Port())
            try:
                _add(port, address, server, listen)
            except ListenError as error:
                problems.append(_problem(statement, server, str(error)))
    sockets = tuple(socket for port in ports.values() for socket in port.bound())
    if not problems:
        problems += _in_use(sockets)
    return Sockets(found=sockets, problems=tuple(problems), unknown=tuple(unknown))


def in_use_by_others(main: Block, version: Sequence[int]) -> Iterator[Problem]:
    """Yield the kernel's errors about sockets that several of these blocks open; nginx -t ignores them."""
    others: list[Socket] = []
    for block in main.blocks:
        if block.name in {"http", "stream", "mail"}:
            found = [
                one for one in sockets_of(main, version, protocol=block.name).found if one.is_bound and one.listens
            ]
            yield from (_bind_problem(one) for one in found if any(map(one.excludes, others)))
            others += found


def _add(port: _Port, address: Address, server: Block, listen: Listen) -> None:
    known = next((one for one in port.sockets if one.address == address), None)
    if known is not None:
        known.add(server, listen)
        return
    port.sockets.append(
        _Merged(
            address=address,
            servers=[server],
            default=server,
            protocols=listen.protocols,
            listens=[listen.statement] if listen.statement is not None else [],
            options=listen.statement if listen.has_options else None,
            has_default=listen.is_default,
        )
    )


def _listens(main: Block, protocol: str) -> Iterator[tuple[Block, Statement | None]]:
    """Yield each ``listen`` with its server; None for a server in http{} without any, which gets port 80."""
    for server in main.all("server"):
        if server.path == (protocol, "server"):
            found = server.local("listen")
            yield from ((server, statement) for statement in found)
            if not found and not server.unseen and protocol == "http":
                yield server, None


def _problem(statement: Statement | None, server: Block, message: str) -> Problem:
    return problem_at(server if statement is None else statement, message)


def _in_use(sockets: Iterable[Socket]) -> Iterator[Problem]:
    """Yield the kernel's errors: a wildcard socket next to one that is bound to a single address.

    Both need SO_REUSEPORT, because nginx listens on each before it binds the next; UDP does not need it.
    """
    earlier: defaultdict[int | str, list[Socket]] = defaultdict(list)
    for socket in sockets:
        if socket.is_bound:
            address = socket.address
            alike = earlier[address.host if address.family == "unix" else address.port]
            if any(map(socket.excludes, alike)):
                yield _bind_problem(socket)
            alike.append(socket)


def _bind_problem(socket: Socket) -> Problem:
    place = socket.listens[0] if socket.listens else socket.servers[0]
    return problem_at(place, _IN_USE.format(socket.address.name))
