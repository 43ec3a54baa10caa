"""The server that answers for a host on a socket, and servers that never get a request: ngx_http_server_names.

https://nginx.org/en/docs/http/server_names.html
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tuneproof.conf.regexes import ForeignRegexError, as_bytes_read, compiled
from tuneproof.conf.sockets import Socket, Sockets
from tuneproof.conf.tree import Block

_MACHINES_NAME: Final = "$hostname"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The server for a host."""

    server: Block
    doubt: str = ""  # why it may be another server; empty if it is certain


@dataclass(eq=False, kw_only=True)
class _Names:
    """The names of a socket's servers; a name that several servers have belongs to the first."""

    exact: dict[str, Block] = field(default_factory=dict)
    below: dict[str, Block] = field(default_factory=dict)  # for "*.example.com" and ".example.com", by "example.com"
    beginning: dict[str, Block] = field(default_factory=dict)  # for "www.example.*", by "www.example"
    regexes: dict[str, Block] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """Names that belong to no server, and that later servers cannot get either."""

    def add(self, name: str, server: Block) -> bool:
        """Add a name as ngx_hash_add_key does; return whether requests for that host then go to the server."""
        if name.startswith("~"):
            return _put(self.regexes, name[1:], server)
        name = name.lower()
        if name.startswith("*."):
            return _put(self.below, name[2:], server)
        if name.endswith(".*"):
            return _put(self.beginning, name[:-2], server)
        if name.startswith("."):
            return self._add_both(name[1:], server)
        # nginx removes the port and the last dot of a host, so a name with either never matches.
        return name not in self.lost and _put(self.exact, name, server) and _bare(name) == name

    def _add_both(self, name: str, server: Block) -> bool:
        """Add a name and all names below it."""
        if name in self.lost or name in self.exact:
            return False
        if not _put(self.below, name, server):
            self.lost.add(name)
            return False
        return _put(self.exact, name, server)


def _put(names: dict[str, Block], name: str, server: Block) -> bool:
    is_new = name not in names
    names.setdefault(name, server)
    return is_new


def names_of(server: Block) -> tuple[str, ...]:
    """Return a server's names as written; if it has none, the empty name, which stands for requests without a host."""
    return tuple(name for said in server.local("server_name") for name in said.args) or ("",)


def server_for(socket: Socket, host: str) -> Chosen:
    """Return the server for a host, as in a Host header; an empty host stands for a request without one."""
    unseen = next(
        (f"{one} is missing, and may contain server names" for server in socket.servers for one in server.unseen), ""
    )
    if _has_machines_name(socket):
        unseen = unseen or "a server has the machine's name, which is not known here"
    return _chosen(socket, _names(socket), host, unseen)


def _chosen(socket: Socket, names: _Names, host: str, unseen: str) -> Chosen:
    bare = _bare(host)
    if bare in names.exact:
        return Chosen(server=names.exact[bare], doubt=unseen)
    labels = bare.split(".")
    for known, parts in (
        (names.below, (".".join(labels[start:]) for start in range(1, len(labels)))),
        (names.beginning, (".".join(labels[:end]) for end in range(len(labels) - 1, 0, -1))),
    ):
        if (part := next((one for one in parts if one in known), None)) is not None:
            return Chosen(server=known[part], doubt=unseen)
    try:
        for regex, server in names.regexes.items() if bare else ():
            has_capitals = any("A" <= letter <= "Z" for letter in regex)
            if compiled(regex, ignores_case=has_capitals).search(as_bytes_read(bare)):
                return Chosen(server=server, doubt=unseen)
    except ForeignRegexError as error:
        return Chosen(server=socket.default, doubt=f"{error}, which is not understood here")
    return Chosen(server=socket.default, doubt=unseen)


def never_chosen(sockets: Sockets) -> Iterator[tuple[Block, Block]]:
    """Yield each server that does not get requests on any of its sockets, and the server for its first name.

    No socket has it as its default server, and nginx ignores all its names: "conflicting server name".
    """
    if sockets.problems or sockets.unknown:
        return
    rivals: dict[int, Block] = {}
    reached: set[int] = set()
    servers: dict[int, Block] = {}
    for socket in sockets.found:
        names = _Names()
        lost: list[Block] = []
        is_known = not _has_machines_name(socket)
        for server in socket.servers:
            servers[id(server)] = server
            counts = [names.add(name, server) for name in names_of(server)]
            if is_known and server is not socket.default and not any(counts) and not server.unseen:
                lost.append(server)
            else:
                reached.add(id(server))
        for server in lost:
            first = names_of(server)[0]
            is_regex = first.startswith("~")
            its = names.regexes[first[1:]] if is_regex else _chosen(socket, names, _sample(first), "").server
            rivals[id(server)] = its
    yield from ((servers[key], rivals[key]) for key in servers if key not in reached)


def ignored_names(sockets: Sockets) -> Iterator[tuple[Block, str, Block]]:
    """Yield each server with a name that nginx ignores on one of its sockets, and the earlier server that has the name.

    Names that begin with a dot stand for several, and are left out.
    """
    for socket in sockets.found if not sockets.problems and not sockets.unknown else ():
        names = _Names()
        for server in socket.servers:
            for name in names_of(server):
                is_own = names.add(name, server) or not name or name.startswith(".") or _bare(name) != name.lower()
                if not is_own and not name.startswith("~"):
                    earlier = _chosen(socket, names, _sample(name.lower()), "").server
                    yield from [(server, name, earlier)] if earlier is not server else ()


def _has_machines_name(socket: Socket) -> bool:
    return any(_MACHINES_NAME in map(str.lower, names_of(server)) for server in socket.servers)


def _names(socket: Socket) -> _Names:
    names = _Names()
    for server in socket.servers:
        for name in names_of(server):
            names.add(name, server)
    return names


def _sample(name: str) -> str:
    """Return a host that matches a name."""
    if name.startswith("*."):
        return f"a{name[1:]}"
    return f"{name[:-1]}a" if name.endswith(".*") else name.lstrip(".")


def _bare(host: str) -> str:
    """Return a host in lower case, without its port and last dot: ngx_http_validate_host."""
    literal, bracket, _ = host.partition("]")
    bare = literal + bracket if host.startswith("[") else host.partition(":")[0]
    return bare.removesuffix(".").lower()
