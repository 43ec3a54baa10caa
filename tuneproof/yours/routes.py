"""The routes of requests to each proxied location: port, host and path."""

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from tuneproof.conf.answers import answer
from tuneproof.conf.facts import Facts, Proxied
from tuneproof.conf.hosts import server_for
from tuneproof.conf.locations import REGEXES, Kind, Location, taken
from tuneproof.conf.regexes import ForeignRegexError, as_bytes_read, compiled
from tuneproof.conf.sockets import Socket
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.uris import normalised
from tuneproof.conf.variables import possible_values
from tuneproof.errors import BadInputError
from tuneproof.yours import obstacles
from tuneproof.yours.peers import Peers, is_stood_in_for, peers_of, port_of
from tuneproof.yours.refusers import limits

AGENT: Final = "Mozilla/5.0 (compatible; tuneproof)"
_LAST: Final = "tuneproof"
_ANY_HOST: Final = "lab"
# Typical paths that locations with regular expressions match.
_GUESSES: Final = (
    "/index.php",
    "/tuneproof",
    "/api/tuneproof",
    "/tuneproof.jpg",
    "/tuneproof.css",
    "/tuneproof.html",
    "/ws/tuneproof",
    "/static/tuneproof.js",
    "/v1/tuneproof",
    "/graphql",
)
# A character class with the minimum number of repetitions, and characters of which most classes contain one.
_CLASS: Final = re.compile(r"(\\[dw]|\[[^]]*\])(?:[+*?]|\{(\d+)[^}]*\})?")
_IN_CLASSES: Final = ("1", "a", "A", "-")
_MOST_CHARACTERS: Final = 64
# Parts of regular expressions, each with a match: lookarounds, starts of groups, any text, and escapes.
_SAMPLES: Final = (
    (r"\(\?<?![^()]*\)", ""),
    (r"\(\?(?:P?<\w+>|:)", "("),
    (r"(?<!\\)\.[+*]\??", "tuneproof"),
    (r"\\(.)", r"\1"),
)
_GROUP: Final = re.compile(r"\(([^()|]*)(?:\|[^()]*)?\)[?*+]?")
_FIRST_ENTRY_PORT: Final = 28080
_HTTP_PORT: Final = 80
_UNESCAPED: Final = "/:@!$&'()*+,;=^|~"
_LOOPBACK: Final = "127.0.0.1"
_BOTH_SINCE: Final = (1, 25, 1)
# A load balancer that terminates TLS sends this header; nginx may redirect requests without it.
_FORWARDED: Final = (("X-Forwarded-Proto", "https"),)
_UNSPOKEN: Final[Mapping[str, str]] = {"grpc": "gRPC", "memcached": "memcached's protocol"}


@dataclass(frozen=True, kw_only=True)
class Probe:
    """The route of requests to one location of a server."""

    port: int  # the TCP port that the client connects to
    listens_on: int
    """nginx's TCP port; differs from ``port`` if connections are redirected to the one address that nginx uses."""
    tls: bool  # whether that port speaks TLS
    host: str
    path: str
    http2: bool = False  # whether that port also speaks HTTP/2, over TLS
    proxy_protocol: bool = False  # whether nginx expects the PROXY protocol on it
    headers: tuple[tuple[str, str], ...] = ()  # further header fields

    @property
    def shown(self) -> str:
        """The route in words, such as "https://shop.example/api/"."""
        usual = 443 if self.tls else 80
        port = "" if self.listens_on == usual else f":{self.listens_on}"
        return f"http{'s' if self.tls else ''}://{self.host}{port}{self.path}"


@dataclass(frozen=True, kw_only=True)
class Route(Probe):
    """The route of requests to one proxied place."""

    proxied: Proxied

    @property
    def slug(self) -> str:
        """The location, as part of a claim's name."""
        words = re.sub(r"\W+", "_", self.proxied.target.location).strip("_").lower()
        return words or "root"


@dataclass(frozen=True, kw_only=True)
class Unreachable:
    """A place that cannot be reached from outside, with the reason."""

    proxied: Proxied
    why: str


def routes_of(facts: Facts, *, location: str = "", host: str = "") -> list[Route | Unreachable]:
    """Return a route to each proxied location, or why there is none; only for one path or server name, if given.

    Raises BadInputError: The location is not proxied, or no server of that name proxies requests.
    """
    found: list[Route | Unreachable] = []
    doors, peers = _doors(facts), peers_of(facts)
    for proxied in facts.proxied:
        server = proxied.target.block.around("server")
        if server is None:
            found.append(Unreachable(proxied=proxied, why="it is not in a server"))
            continue
        names = [name for said in server.local("server_name") for name in said.args]
        if host and host not in names:
            continue
        hosts = [host] if host else list(_hosts(names))
        found.append(_route(facts, proxied, server, hosts, doors, peers, location=location))
    if host and not found:
        known = ", ".join(sorted({name for server in facts.servers for name in server.names})) or "none"
        raise BadInputError(f"--host {host}: no server with this name proxies requests", remedy=f"names: {known}")
    if location:
        found[:] = [route for route in found if isinstance(route, Route)][:1]
        if not found:
            raise BadInputError(
                f"--location {location}: {_why_nothing(location, host, facts)}",
                remedy="give the path of a request that nginx proxies, such as /api/orders",
            )
    return found


def _why_nothing(location: str, host: str, facts: Facts) -> str:
    """Return why no request for a path is proxied."""
    servers = [server.block for server in facts.servers if not host or host in server.names]
    for block in filter(None, (_taken(location, server) for server in servers)):
        kinds = [proxied.target.kind for proxied in facts.proxied if proxied.target.block.around("location") is block]
        place = f"location {' '.join(block.args)} ({block.file}:{block.line}) takes it"
        if not kinds:
            return f"{place}, and does not proxy requests"
        return f"{place}, and {_unreached(kinds[0])}"
    return "no location takes it"


def _unreached(kind: str) -> str:
    if kind in _UNSPOKEN:
        return f"the lab's stand-ins do not speak {_UNSPOKEN[kind]}"
    return "the lab's client cannot connect to an address of its server"


def _route(
    facts: Facts,
    proxied: Proxied,
    server: Block,
    hosts: Sequence[str],
    doors: Sequence["_Door"],
    peers: Peers,
    *,
    location: str,
) -> Route | Unreachable:
    its = [door for door in doors if server in door.servers and door.speaks_http1(facts.version_numbers)]
    target, block = proxied.target, proxied.target.block
    if target.kind in _UNSPOKEN or not its:
        return Unreachable(proxied=proxied, why=_unreached(target.kind))
    if why := _never_proxied(facts, proxied, peers):
        return Unreachable(proxied=proxied, why=why)
    around = block.around("location")
    if location and around is not None and _taken(location, server) is not around:
        paths = []
    elif location or around is None:
        paths = [location or f"/{_LAST}"]
    else:
        paths = list(_paths_to(around, server, facts))
    failed = []
    for headers, host, door, path in itertools.product(((), _FORWARDED), hosts, sorted(its, key=_Door.order), paths):
        probe = _probe(server, door, host=host, path=path, headers=headers)
        found = list(_obstacles(probe, block, server, door))
        if not found:
            return Route(proxied=proxied, **vars(probe))
        failed.append(found)
    # The reason is the first obstacle of the request with the fewest.
    nearest = min(failed, key=len, default=[f"no path is known for location {target.location}; see --location"])
    return Unreachable(proxied=proxied, why=nearest[0])


def _never_proxied(facts: Facts, proxied: Proxied, peers: Peers) -> str:
    """Return why no request reaches the upstream in the lab, whatever its path; empty if one may."""
    target, block = proxied.target, proxied.target.block
    if block.name == "limit_except" and "GET" in map(str.upper, block.args):
        return "only methods other than GET reach it"
    if target.names() is None and obstacles.is_up_to_clients(target.host, block):
        return f"the address of its upstream, {target.host}, depends on the request"
    if not is_stood_in_for(facts, target, peers):
        return f"nginx itself listens on the address of its upstream, {target.host}"
    verifies = block.setting(f"{target.kind}_ssl_verify")
    if verifies is not None and verifies.value == "on" and {"https", "suwsgi"} & (target.schemes() or set()):
        return f"nginx rejects a stand-in's certificate ({obstacles.shown(verifies)})"
    bound = block.setting(f"{target.kind}_bind")
    if bound is not None and bound.value != "off":
        return f"nginx has no such address in the lab ({obstacles.shown(bound)})"
    return ""


def _obstacles(probe: Probe, block: Block, server: Block, door: "_Door") -> Iterator[str]:
    """Yield the obstacles between a request and its upstream, in words."""
    if door.socket is not None:
        chosen = server_for(door.socket, probe.host)
        if not chosen.doubt and chosen.server is not server:
            yield f"no host is known for its server; {probe.host} goes to {obstacles.shown(chosen.server)}"
    request = obstacles.Request(
        tls=probe.tls,
        port=probe.listens_on,
        host=probe.host,
        target=probe.path,
        headers={"User-Agent": AGENT, **dict(probe.headers)},
    )
    if block.name == "if" and not obstacles.ABSENT & set(block.args) and not obstacles.holds(block, request):
        yield f"only requests for which an if is true reach it ({obstacles.shown(block)})"
    levels = list(filter(None, (server, block.around("location"))))
    diverting = obstacles.diversion(levels, request)
    if diverting is not None and diverting is not block:
        yield f"requests are answered earlier, or go elsewhere ({obstacles.shown(diverting)})"
    for internal in block.in_effect("internal")[:1]:
        # try_files and error pages may lead from another location to this one.
        if _taken(probe.path, server) is block.around("location"):
            yield f"only nginx's internal redirects reach it ({obstacles.shown(internal)})"
    certificate = server.setting("ssl_certificate")
    if probe.tls and certificate is not None and "$" in certificate.value:
        yield f"its certificate depends on the request ({obstacles.shown(certificate)})"
    if refusing := [*obstacles.refusing(block, tls=probe.tls), *_refusing_subrequest(block, server)]:
        yield f"the lab's client has no access ({', '.join(map(obstacles.shown, refusing))})"
    if (limit := obstacles.common_limit(block)) is not None:
        yield f"a limit on all clients together would reject the requests ({obstacles.shown(limit)})"


def _refusing_subrequest(block: Block, server: Block) -> Iterator[Statement]:
    """Yield the ``return`` with which the location of ``auth_request`` rejects everybody."""
    for said in block.in_effect("auth_request")[:1]:
        asked = _taken(said.value, server) if said.value != "off" else None
        yield from (one for one in (asked.local("return") if asked else [])[:1] if not one.value.startswith("2"))


def _probe(server: Block, door: "_Door", *, host: str, path: str, headers: tuple[tuple[str, str], ...] = ()) -> Probe:
    return Probe(
        port=door.entry,
        listens_on=door.port,
        tls=door.tls,
        host=host,
        path=path,
        http2=door.tls and ("http2" in door.protocols or server.is_on("http2")),
        proxy_protocol="proxy_protocol" in door.protocols,
        headers=headers,
    )


def probes_of(facts: Facts, *, location: str = "", host: str = "") -> list[Probe]:
    """Return a request to / and to each location with a known path, with and without TLS if its server has both.

    If a path or a server is named, only that path or server gets requests.

    Raises BadInputError: No server has that name, or no server has a location for that path.
    """
    doors = _doors(facts)
    found = []
    for server in facts.servers:
        if (host and host not in server.names) or (location and _taken(location, server.block) is None):
            continue
        known = (next(_paths_to(block, server.block, facts), "") for block in server.block.all("location"))
        paths = [location] if location else ["/", *filter(None, known)]
        first = {door.tls: door for door in reversed(doors) if server.block in door.servers}
        found += [
            _probe(server.block, first[tls], host=host or next(_hosts(server.names)), path=path)
            for tls in sorted(first)
            for path in paths
        ]
    if not found and (host or location):
        raise BadInputError(
            f"--location {location}: no server has a location for it" if location else f"--host {host}: no such server",
            remedy=f"names: {', '.join(sorted({name for one in facts.servers for name in one.names})) or 'none'}",
        )
    return list(dict.fromkeys(found))


@dataclass(frozen=True, kw_only=True)
class _Door:
    """A TCP socket that the lab's client can connect to; the lab's network has no IPv6."""

    address: str  # an IPv4 address; empty for all
    port: int
    protocols: frozenset[str]
    servers: Sequence[Block]
    entry: int  # the client's port; connections are redirected if nginx listens on only one address
    socket: Socket | None = None  # None if the files do not determine it

    @property
    def tls(self) -> bool:
        return "ssl" in self.protocols

    def order(self) -> tuple[bool, bool, bool]:
        """Return a sort key: first the sockets with the fewest requirements for the client."""
        return self.tls, "http2" in self.protocols, bool(self.address)

    def speaks_http1(self, version: Sequence[int]) -> bool:
        """Return whether it speaks HTTP/1: before nginx 1.25.1, a port with HTTP/2 but no TLS speaks nothing else."""
        return self.tls or "http2" not in self.protocols or tuple(version) >= _BOTH_SINCE


def _doors(facts: Facts) -> list[_Door]:
    entries = itertools.count(_FIRST_ENTRY_PORT)
    return [
        _Door(
            address=address,
            port=port,
            protocols=protocols,
            servers=servers,
            entry=next(entries) if address else port,
            socket=socket,
        )
        for address, port, protocols, servers, socket in _places(facts)
    ]


def _places(facts: Facts) -> Iterator[tuple[str, int, frozenset[str], Sequence[Block], Socket | None]]:
    for socket in facts.sockets.found:
        if not socket.address.is_udp and (socket.address.family == "inet" or socket.takes_ipv4):
            address = "" if socket.address.is_wildcard else socket.address.host
            yield address, socket.address.port, socket.protocols, socket.servers, socket
    for server in facts.servers:
        listens = server.block.local("listen")
        for said in listens:
            if said in facts.sockets.unknown and said.value.partition(":")[0] == "localhost":
                yield _LOOPBACK, port_of(said.value) or _HTTP_PORT, frozenset(said.args[1:]), (server.block,), None
        # A missing include may contain the server's listen; in the lab, the server listens on nginx's default port.
        if not listens and not any(True for _ in facts.sockets.of(server.block)):
            yield "", _HTTP_PORT, frozenset(), (server.block,), None


def ports_of(facts: Facts) -> list[tuple[int, int]]:
    """Return the client's port and nginx's port for each port that nginx listens on; those without TLS first."""
    doors = sorted(_doors(facts), key=lambda one: (one.tls, bool(one.address)))
    return [(door.entry, door.port) for door in doors]


def entries_of(facts: Facts) -> dict[tuple[str, int], int]:
    """Return a separate client port for each port that nginx listens on at one address only."""
    return {(door.address, door.port): door.entry for door in _doors(facts) if door.address}


def _hosts(names: Sequence[str]) -> Iterator[str]:
    """Yield hosts that a server's names may match, and finally an unknown host."""
    for name in names:
        if name.startswith("*."):
            yield f"{_LAST}{name[1:]}"
        elif name not in {"_", ""} and not set(name) & set("~$*"):
            yield name.lstrip(".")
    yield from (_sample(name[1:]) for name in names if name.startswith("~"))
    yield _ANY_HOST


def _taken(target: str, server: Block) -> Block | None:
    """Return the location that takes a request; None if unknown."""
    path = normalised(target)
    found = taken(path, server) if path is not None else None
    return found.block if found is not None and not found.doubt and found.block is not server else None


def _paths_to(location: Block, server: Block, facts: Facts) -> Iterator[str]:
    yield from (path for path in _candidates(location) if _taken(path, server) is location)
    if not location.args:
        return
    # try_files and error pages may lead there through another location.
    others = (*itertools.chain.from_iterable(map(_candidates, server.all("location"))), f"/{_LAST}")
    for path in others:
        found = answer(path, server, facts.version_numbers)
        if location in found.blocks and found.blocks[0] is not location:
            yield path


def _candidates(location: Block) -> Iterator[str]:
    """Yield request targets that a location may take."""
    yield from (quote(path, safe=_UNESCAPED, encoding="latin-1") for path in _plain_candidates(location))


def _plain_candidates(location: Block) -> Iterator[str]:
    known = Location.of(location)
    written = known.name
    if known.kind in REGEXES:
        plain = _sample(written)
        yield from (*_GUESSES, f"/{plain.lstrip('/')}")
        yield from (f"/{_LAST}{match}" for match in re.findall(r"\.\w+", plain))
    elif known.kind is Kind.EXACT:
        yield written
    elif written.startswith("/"):
        if written.endswith("/") and written != "/":
            yield written
        yield f"{written.rstrip('/')}/{_LAST}"
        yield f"{written.rstrip('/')}/{_LAST}/"
        yield written


def _sample(regex: str) -> str:
    """Return a text that a typical regular expression matches, with the first alternative in each group."""
    regex = _CLASS.sub(_some_of, regex)
    for pattern, sample in _SAMPLES:
        regex = re.sub(pattern, sample, regex)
    while (shorter := _GROUP.sub(r"\1", regex)) != regex:
        regex = shorter
    return regex.strip("^$")


def _some_of(found: re.Match[str]) -> str:
    """Return a character of a class, as often as the quantifier requires."""
    first, one = _IN_CLASSES[0], None
    with suppress(ForeignRegexError):
        regex = compiled(found[1], ignores_case=False)
        one = next((text for text in _IN_CLASSES if regex.search(as_bytes_read(text))), None)
    return (one or first) * min(int(found[2] or 1), _MOST_CHARACTERS)


def files_wanted(routes: Sequence[Route]) -> Iterator[str]:
    """Yield files without which requests may not be proxied, because of try_files, or an if with !-f or !-e."""
    for route in routes:
        block = route.proxied.target.block
        location, root = block.around("location"), block.setting("root")
        # A location does not inherit try_files: https://nginx.org/en/docs/http/ngx_http_core_module.html#try_files
        tries = location is not None and location.local("try_files")
        tests = (arg for inner in block.blocks if inner.name == "if" for arg in inner.args)
        if root is not None and (tries or not obstacles.ABSENT.isdisjoint(tests)):
            folders = possible_values(root.value, block) or ()
            yield from (posixpath.join(folder, route.path.lstrip("/")) for folder in folders if folder.startswith("/"))


def one_of_each_kind(routes: Sequence[Route]) -> list[Route]:
    """Return one route for all places with the same settings, if possible to a place without limits."""
    kinds: dict[tuple[object, ...], Route] = {}
    for route in sorted(routes, key=lambda route: bool(limits(route.proxied.target.block))):
        proxied = route.proxied
        key = (proxied.target.kind, proxied.target.to, proxied.reuse.reuse, proxied.reader_bytes, proxied.is_buffered)
        kinds.setdefault(key, route)
    return list(kinds.values())
