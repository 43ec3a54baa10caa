"""How a request gets to each place that passes requests on: which port, which host, which path."""

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tuneproof.conf.facts import Facts, Proxied
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.variables import possible_values
from tuneproof.errors import BadInputError
from tuneproof.yours.peers import is_ipv4, port_of

_LAST: Final = "tuneproof"
_ANY_HOST: Final = "lab"
# Paths of what regular expressions of locations are usually for.
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
_REGEX: Final = ("~", "~*")
# Parts of regular expressions, each with what it matches; names of groups go first, and escapes last.
_SAMPLES: Final = (
    (r"\(\?(?:P?<\w+>|:)", "("),
    (r"(?:\\[dw]|\[[^]]*\])(?:[+*?]|\{[^}]*\})?", "1"),
    (r"(?<!\\)\.[+*]\??", "tuneproof"),
    (r"\\(.)", r"\1"),
)
_GROUP: Final = re.compile(r"\(([^()|]*)(?:\|[^()]*)?\)[?*+]?")
_FIRST_ENTRY_PORT: Final = 28080
# https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#if
_ABSENT: Final = frozenset({"!-f", "!-e"})
_UNSPOKEN: Final[Mapping[str, str]] = {"grpc": "gRPC", "memcached": "memcached's protocol"}


@dataclass(frozen=True, kw_only=True)
class Probe:
    """How requests get to one location of a server."""

    port: int  # TCP port that the client connects to
    listens_on: int  # TCP port of nginx's; another one where it listens on a single address, which is led to
    tls: bool  # whether that port speaks TLS
    host: str
    path: str
    http2: bool = False  # whether it speaks HTTP/2 besides, within TLS
    proxy_protocol: bool = False  # whether nginx expects the PROXY protocol there

    @property
    def shown(self) -> str:
        """The way in words, such as "https://shop.example/api/"."""
        usual = 443 if self.tls else 80
        port = "" if self.listens_on == usual else f":{self.listens_on}"
        return f"http{'s' if self.tls else ''}://{self.host}{port}{self.path}"


@dataclass(frozen=True, kw_only=True)
class Way(Probe):
    """How requests get to one place that passes them on."""

    proxied: Proxied

    @property
    def slug(self) -> str:
        """Its location as a part of a claim's name."""
        words = re.sub(r"\W+", "_", self.proxied.target.location).strip("_").lower()
        return words or "root"


@dataclass(frozen=True, kw_only=True)
class NoWay:
    """A place that cannot be reached from outside, with the reason."""

    proxied: Proxied
    why: str


def ways_of(facts: Facts, *, location: str = "", host: str = "") -> list[Way | NoWay]:
    """Return a way to each place that passes requests on, or why there is none; for one path or server name only.

    Raises BadInputError: Nothing passes requests on at the location, or there is no server of that name.
    """
    found: list[Way | NoWay] = []
    sockets, entries = _sockets(facts), entries_of(facts)
    for proxied in facts.proxied:
        server = proxied.target.block.around("server")
        if server is None:
            found.append(NoWay(proxied=proxied, why="it is in no server"))
            continue
        names = [name for said in server.local("server_name") for name in said.args]
        if host and host not in names:
            continue
        listens = [replace(one, options=sockets[one.place]) for one in _listens(server)]
        found.append(_way(proxied, server, names, listens, entries, location=location, host=host))
    if host and not found:
        known = ", ".join(sorted({name for server in facts.servers for name in server.names})) or "none"
        raise BadInputError(f"--host {host}: no server of this name passes requests on", remedy=f"names: {known}")
    if location:
        found[:] = [way for way in found if isinstance(way, Way)][:1]
        if not found:
            raise BadInputError(f"--location {location}: {_why_nothing(location, host, facts)}")
    return found


def _why_nothing(location: str, host: str, facts: Facts) -> str:
    """Return why no request for a path is passed on."""
    servers = [server.block for server in facts.servers if not host or host in server.names]
    taken = [block for server in servers if (block := _chosen(location, server)) is not None]
    for block in taken:
        kinds = [proxied.target.kind for proxied in facts.proxied if proxied.target.block.around("location") is block]
        place = f"location {' '.join(block.args)} ({block.file}:{block.line}) takes it"
        if not kinds:
            return f"{place}, and passes no request on"
        return f"{place}, and {_unreached(kinds[0])}"
    return "no location takes it"


def _unreached(kind: str) -> str:
    if kind in _UNSPOKEN:
        return f"the lab's stand-ins do not speak {_UNSPOKEN[kind]}"
    return "its server listens where the lab's client cannot connect"


def _way(
    proxied: Proxied,
    server: Block,
    names: Sequence[str],
    listens: Sequence["_Listen"],
    entries: Mapping[tuple[str, int], int],
    *,
    location: str,
    host: str,
) -> Way | NoWay:
    if proxied.target.kind in _UNSPOKEN or not listens:
        return NoWay(proxied=proxied, why=_unreached(proxied.target.kind))
    # HTTP/2 without TLS is all that such a port speaks before nginx 1.25.1.
    listen = min(listens, key=lambda one: ("ssl" in one.options, "http2" in one.options, bool(one.address)))
    block = proxied.target.block.around("location")
    path = location or (_path_to(block, server) if block is not None else f"/{_LAST}")
    if not path or (location and block is not None and _chosen(path, server) is not block):
        return NoWay(proxied=proxied, why=f"no path is known for location {proxied.target.location}; see --location")
    return Way(proxied=proxied, **vars(_probe(server, listen, entries, host=host or _host(names), path=path)))


def _probe(server: Block, listen: "_Listen", entries: Mapping[tuple[str, int], int], *, host: str, path: str) -> Probe:
    tls = "ssl" in listen.options
    return Probe(
        port=entries[listen.place] if listen.address else listen.port,
        listens_on=listen.port,
        tls=tls,
        host=host,
        path=path,
        http2=tls and ("http2" in listen.options or server.is_on("http2")),
        proxy_protocol="proxy_protocol" in listen.options,
    )


def probes_of(facts: Facts, *, location: str = "", host: str = "") -> list[Probe]:
    """Return a request to each location that one is known for, over TLS and without where its server has both.

    One path only if it is named, and one server.

    Raises BadInputError: No server has that name, or none a location for that path.
    """
    sockets, entries = _sockets(facts), entries_of(facts)
    found = []
    for server in facts.servers:
        if (host and host not in server.names) or (location and _chosen(location, server.block) is None):
            continue
        known = (_path_to(block, server.block) for block in server.block.all("location"))
        paths = [location] if location else ["/", *filter(None, known)]
        listens = [replace(one, options=sockets[one.place]) for one in reversed(_listens(server.block))]
        first = {"ssl" in one.options: one for one in listens}
        found += [
            _probe(server.block, first[tls], entries, host=host or _host(server.names), path=path)
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
class _Listen:
    """A ``listen``: its IPv4 address, empty for all of them, and so on."""

    address: str
    port: int
    options: frozenset[str] = frozenset()

    @classmethod
    def of(cls, said: Statement) -> "_Listen | None":
        """Return a ``listen`` that the lab's client can connect to; None for any other."""
        port, options = port_of(said.value), frozenset(said.args)
        if port is None or "quic" in options:
            return None
        if said.value.startswith("[::]") and "ipv6only=off" in options:
            return cls(address="", port=port, options=options)
        host = "" if said.value.isdecimal() else said.value.partition(":")[0]
        if host in {"", "*", "0.0.0.0"}:  # noqa: S104 - compared, not bound
            return cls(address="", port=port, options=options)
        # https://nginx.org/en/docs/http/ngx_http_core_module.html#listen: [::] is IPv6 only, unless told otherwise.
        address = "127.0.0.1" if host == "localhost" else host
        return cls(address=address, port=port, options=options) if is_ipv4(address) else None

    @property
    def place(self) -> tuple[str, int]:
        """Its address and port."""
        return self.address, self.port


def _listens(server: Block) -> list[_Listen]:
    said = server.local("listen")
    return [one for one in map(_Listen.of, said) if one is not None] if said else [_Listen(address="", port=80)]


def _sockets(facts: Facts) -> dict[tuple[str, int], frozenset[str]]:
    """Return the options of each address and port, of all servers there: nginx joins them (ngx_http_add_addresses)."""
    found: dict[tuple[str, int], frozenset[str]] = {}
    for server in facts.servers:
        for one in _listens(server.block):
            found[one.place] = found.get(one.place, frozenset()) | one.options
    return found


def ports_of(facts: Facts) -> list[tuple[int, int]]:
    """Return each port that nginx listens on, behind the one that the client connects to for it; plain text first."""
    entries = entries_of(facts)
    places = sorted(_sockets(facts).items(), key=lambda one: ("ssl" in one[1], bool(one[0][0])))
    return [(entries[place] if place[0] else place[1], place[1]) for place, _ in places]


def entries_of(facts: Facts) -> dict[tuple[str, int], int]:
    """Return a port of its own for each single address and port that nginx listens on: clients connect to that."""
    single = [place for place in _sockets(facts) if place[0]]
    return {place: _FIRST_ENTRY_PORT + number for number, place in enumerate(single)}


def _host(names: Sequence[str]) -> str:
    for name in names:
        if name.startswith("*."):
            return f"{_LAST}{name[1:]}"
        if name not in {"_", ""} and not set(name) & set("~$*"):
            return name.lstrip(".")
    return _ANY_HOST


def _path_to(location: Block, server: Block) -> str:
    """Return a path for which nginx takes a location; the empty string if none is found."""
    direct = (path for path in _candidates(location) if _chosen(path, server) is location)
    return next(itertools.chain(direct, _fallbacks(location, server)), "")


def _candidates(location: Block) -> Iterator[str]:
    *modifier, written = location.args or ("/",)
    if modifier and modifier[0] in _REGEX:
        plain = _sample(written)
        yield from (*_GUESSES, f"/{plain.lstrip('/')}")
        yield from (f"/{_LAST}{match}" for match in re.findall(r"\.\w+", plain))
        return
    if modifier == ["="]:
        yield written
        return
    if not written.startswith("/"):
        return
    if written.endswith("/") and written != "/":
        yield written
    yield f"{written.rstrip('/')}/{_LAST}"
    yield f"{written.rstrip('/')}/{_LAST}/"
    yield written


def _sample(regex: str) -> str:
    """Return a text that a usual regular expression matches: of each group the first alternative."""
    for pattern, sample in _SAMPLES:
        regex = re.sub(pattern, sample, regex)
    while (shorter := _GROUP.sub(r"\1", regex)) != regex:
        regex = shorter
    return regex.strip("^$")


def _fallbacks(location: Block, server: Block) -> Iterator[str]:
    """Yield paths that lead to a named location by way of another one."""
    name = location.args[-1] if location.args else ""
    if not name.startswith("@"):
        return
    for block in server.all("location"):
        said = [one for one in (*block.local("try_files"), *block.local("error_page")) if one.args[-1:] == (name,)]
        if said and (path := next(_candidates(block), "")) and _chosen(path, server) is block:
            yield path
    if any(one.args[-1:] == (name,) for one in server.local("try_files")):
        yield f"/{_LAST}"


def _chosen(path: str, block: Block) -> Block | None:
    """Return the location that nginx takes for a path: https://nginx.org/en/docs/http/ngx_http_core_module.html#location."""
    prefix: Block | None = None
    for inner in block.blocks:
        if inner.name != "location" or not inner.args:
            continue
        *modifier, written = inner.args
        if modifier == ["="] and written == path:
            return inner
        is_prefix = not modifier or modifier == ["^~"]
        if is_prefix and path.startswith(written) and (prefix is None or len(written) > len(prefix.args[-1])):
            prefix = inner
    if prefix is not None:
        nested = _chosen(path, prefix)
        if nested is not None:
            return nested
        if prefix.args[0] == "^~":
            return prefix
    for inner in block.blocks:
        if inner.name == "location" and inner.args[:1] and inner.args[0] in _REGEX and _matches(inner, path):
            return inner
    return prefix


def _matches(location: Block, path: str) -> bool:
    flags = re.IGNORECASE if location.args[0] == "~*" else 0
    try:
        # Python writes the names of groups otherwise.
        return re.search(re.sub(r"\(\?<(?=\w)", "(?P<", location.args[-1]), path, flags) is not None
    except re.error:
        # Of PCRE, and none of ours.
        return False


def files_wanted(ways: Sequence[Way]) -> Iterator[str]:
    """Yield files that must be there for a request to be passed on: try_files wants them, or an if with -f or -e."""
    for way in ways:
        block = way.proxied.target.block
        location, root = block.around("location"), block.setting("root")
        # Only of the very location: https://nginx.org/en/docs/http/ngx_http_core_module.html#try_files
        tries = location is not None and location.local("try_files")
        tests = (arg for inner in block.blocks if inner.name == "if" for arg in inner.args)
        if root is not None and (tries or not _ABSENT.isdisjoint(tests)):
            folders = possible_values(root.value, block) or ()
            yield from (posixpath.join(folder, way.path.lstrip("/")) for folder in folders if folder.startswith("/"))
