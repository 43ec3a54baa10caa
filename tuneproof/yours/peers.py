"""The servers that a configuration contacts: names, addresses, ports and sockets that stand-ins replace."""

import ipaddress
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from tuneproof.conf.facts import Facts
from tuneproof.conf.listens import Address, Listen, ListenError
from tuneproof.conf.tree import Block
from tuneproof.conf.upstreams import Target
from tuneproof.conf.values import is_address

_SCHEMES: Final = {"http": 80, "https": 443, "grpc": 80, "grpcs": 443}
_HTTP_PORT: Final = 80
_LOCALHOST: Final = "127.0.0.1"
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - nothing is bound here
_NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", re.IGNORECASE)
ENGINES_RESOLVER: Final = "127.0.0.11"
"""The engine's name server in containers on a user-defined network: https://docs.docker.com/engine/network/#dns-services"""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """An address to which requests may be proxied."""

    host: str = ""  # its name, or IP address without brackets; empty for a unix socket
    port: int = 0  # its TCP port; 0 for a unix socket
    path: str = ""  # the unix socket's path; empty for TCP

    @property
    def is_address(self) -> bool:
        """Whether its host is an address rather than a name."""
        return is_ipv4(self.host) or self.is_ipv6

    @property
    def is_ipv6(self) -> bool:
        """Whether its host is an IPv6 address."""
        return ":" in self.host

    @property
    def is_local(self) -> bool:
        """Whether its stand-in is on nginx's own machine, as for all IPv6 addresses: the lab's network has no IPv6."""
        if self.path or self.is_ipv6 or self.host.lower() == "localhost":
            return True
        return self.is_address and _is_loopback(self.host)


@dataclass(frozen=True, kw_only=True)
class Peers:
    """All peers of a configuration."""

    passed_to: tuple[Peer, ...]  # addresses to which requests are proxied
    resolvers: tuple[str, ...]  # addresses of resolvers
    left_out: tuple[str, ...]  # peers without a stand-in, each with the reason

    @property
    def names(self) -> tuple[str, ...]:
        """Names that must resolve to a stand-in."""
        names = [peer.host for peer in self.passed_to if peer.host and not peer.is_address and not peer.is_local]
        return tuple(dict.fromkeys([*names, *map(str.lower, names)]))

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses that must be routed to a stand-in, including resolvers."""
        found = [peer.host for peer in self.passed_to if peer.is_address and not _is_loopback(peer.host)]
        return tuple(dict.fromkeys([*found, *(one for one in self.resolvers if not _is_loopback(one))]))

    @property
    def ports(self) -> tuple[int, ...]:
        """Ports of the stand-in on the network."""
        return tuple(sorted({peer.port for peer in self.passed_to if not peer.is_local}))

    @property
    def local_ports(self) -> tuple[int, ...]:
        """Ports of the stand-in on nginx's own machine."""
        return tuple(sorted({peer.port for peer in self.passed_to if peer.is_local and peer.port}))

    @property
    def local_addresses(self) -> tuple[str, ...]:
        """Addresses of the stand-ins on nginx's own machine."""
        local = (peer for peer in self.passed_to if peer.is_local and peer.port)
        found = [address for peer in local for address in ((peer.host,) if peer.is_address else (_LOCALHOST, "::1"))]
        return tuple(dict.fromkeys(found))

    @property
    def has_ipv6(self) -> bool:
        """Whether a stand-in has an IPv6 address."""
        return any(peer.is_ipv6 for peer in self.passed_to)

    @property
    def sockets(self) -> tuple[str, ...]:
        """Paths of unix sockets."""
        return tuple(dict.fromkeys(peer.path for peer in self.passed_to if peer.path))

    @property
    def local_names(self) -> bool:
        """Whether there is a resolver on nginx's own machine other than the engine's."""
        return any(_is_loopback(one) for one in self.resolvers)


def is_stood_in_for(facts: Facts, target: Target, peers: Peers) -> bool:
    """Return whether a stand-in answers, or may answer, for an upstream; none does where nginx itself listens."""
    found = [_peer(text, port) for text, port in _addresses(facts, target)]
    return any(peer is None or peer in peers.passed_to for peer in found)


def peers_of(facts: Facts) -> Peers:
    """Return the peers of a configuration, except nginx itself."""
    found, left_out = [], []
    own_paths = {socket.address.host for socket in facts.sockets.found if not socket.address.port}
    for text, default_port in _spoken_to(facts):
        peer = _peer(text, default_port)
        if peer is None:
            left_out.append(f"{text}: it has no stand-in")
        elif peer.path in own_paths:
            continue
        elif not (peer.is_local and peer.port in own_ports(facts, to=peer.host if peer.is_ipv6 else _LOCALHOST)):
            found.append(peer)
        elif peer.is_ipv6 and not _is_loopback(peer.host):
            left_out.append(f"{text}: it has no stand-in, since nginx listens on port {peer.port} itself")
    resolvers = [
        arg.rpartition(":")[0] if arg.count(":") == 1 else arg
        for said, _ in facts.configuration.main.everything()
        if said.name == "resolver"
        for arg in said.args
        if "=" not in arg
    ]
    known = [one for one in resolvers if is_ipv4(one) and one != ENGINES_RESOLVER]
    return Peers(
        passed_to=tuple(dict.fromkeys(found)),
        resolvers=tuple(dict.fromkeys(known)),
        left_out=tuple(dict.fromkeys(left_out)),
    )


def own_ports(facts: Facts, *, to: str = "") -> set[int]:
    """Return the TCP ports that nginx itself listens on; only those reachable through the address ``to``, if given."""
    return {address.port for address in _own_addresses(facts) if not to or _is_reached(address, to)}


def _own_addresses(facts: Facts) -> Iterator[Address]:
    for socket in facts.sockets.found:
        if socket.address.port and not socket.address.is_udp:
            yield socket.address
            if socket.takes_ipv4:
                yield Address(host=_ANY_ADDRESS, port=socket.address.port)
    for name in facts.sockets.unknown:
        yield Address(host=_LOCALHOST, port=port_of(name.value) or _HTTP_PORT)
    for server in facts.configuration.main.all("server"):
        listens = server.local("listen")
        if "http" not in server.path:
            for listen in listens:
                # Read as in http{}, which rejects parameters that only another protocol has, such as "udp" in stream{}.
                with suppress(ListenError):
                    yield from (one for one in Listen.of(listen, facts.version_numbers).addresses if one.port)
        elif not listens:
            yield Address(host=_ANY_ADDRESS, port=_HTTP_PORT)


def _is_reached(own: Address, to: str) -> bool:
    """Return whether a connection to an address on nginx's machine reaches an address that nginx listens on."""
    if own.family != Address(host=to, port=own.port).family:
        return False
    return own.is_wildcard or own.host == to or (own.family == "inet" and _is_loopback(own.host))


def port_of(listen: str) -> int | None:
    """Return the port of a ``listen``'s first argument; None for a unix socket."""
    if listen.startswith("unix:"):
        return None
    last = listen.rpartition("]")[2].rpartition(":")[2]
    return int(last) if last.isdecimal() else _HTTP_PORT


def _spoken_to(facts: Facts) -> Iterator[tuple[str, int]]:
    """Yield the addresses that nginx contacts, as written, each with its default port."""
    for proxied in facts.proxied:
        yield from _addresses(facts, proxied.target)
    for block in facts.configuration.main.all("stream"):
        yield from _of_stream(block)
    # nginx resolves the servers of all upstream blocks at its start, even of unused ones.
    for upstream in facts.upstreams.values():
        for server in upstream.servers:
            yield server, _HTTP_PORT


def _addresses(facts: Facts, target: Target) -> Iterator[tuple[str, int]]:
    names, schemes = target.names(), target.schemes()
    ports = sorted({_SCHEMES.get(scheme, _HTTP_PORT) for scheme in (_SCHEMES if schemes is None else schemes)})
    for name in [target.host] if names is None else sorted(names):
        if name in facts.upstreams:
            yield from ((server, _HTTP_PORT) for server in facts.upstreams[name].servers)
        elif name:
            yield from ((name, port) for port in ports)


def _of_stream(stream: Block) -> Iterator[tuple[str, int]]:
    names = {block.args[0] for block in stream.all("upstream") if block.args}
    for said, block in stream.everything():
        in_upstream = block.name == "upstream" and said.name == "server"
        if in_upstream or (said.name == "proxy_pass" and said.value not in names):
            yield said.value, _HTTP_PORT


def _peer(text: str, default_port: int) -> Peer | None:
    if text.startswith("unix:"):
        return Peer(path=f"/{text.removeprefix('unix:').partition(':')[0].lstrip('/')}")
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal():
        host, port = text, str(default_port)
    if host.startswith("["):
        try:
            host = str(ipaddress.IPv6Address(host.strip("[]")))
        except ValueError:
            return None
    elif "$" in text or not (is_ipv4(host) or _NAME.fullmatch(host)):
        return None
    return Peer(host=host, port=int(port))


def is_ipv4(text: str) -> bool:
    """Return whether a text is an IPv4 address."""
    return ":" not in text and is_address(text)


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback
