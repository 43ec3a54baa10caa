"""Random servers from a seed, several on each port, with names of every kind, and requests for similar hosts."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.support.compared_model import Compared
from tuneproof.conf import hosts, sockets
from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import read_configuration

FIRST_PORT: Final = 12000
_LABELS: Final = ("a", "b", "www", "x-1", "A")
_REGEXES: Final = (
    r"~^www\.", r"~^(?<n>\w+)\.b$", r"~\.a$", r"~^A\.", r"~^[ab]\.[ab]\.", r"~x-\d", r"~^.+\.www\.a$", r"~^a\Kb",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A configuration, and requests as pairs of port and host; an empty host is a request without one."""

    text: str
    asked: tuple[tuple[int, str], ...]


def draw(seed: int, *, ports: int, hosts_each: int) -> Drawn:
    """Draw servers on this many ports, and this many hosts to request on each port."""
    rng = random.Random(f"hosts {seed}")  # noqa: S311 - reproducible, not secret
    lines, asked = [], []
    for port in range(FIRST_PORT, FIRST_PORT + ports):
        for number in range(rng.randint(2, 5)):
            default = " default_server" if number == 1 and rng.random() < 0.3 else ""
            names = " ".join(_name(rng) for _ in range(rng.choice((0, 1, 1, 2, 3))))
            lines.append(
                f"server {{ listen 127.0.0.1:{port}{default}; {f'server_name {names};' if names else ''}\n"
                f"add_header X-Server {port}.{number} always; return 204; }}"
            )
        asked += [(port, _host(rng)) for _ in range(hosts_each)]
    head = (
        "daemon on; pid /tmp/hosts.pid; error_log /tmp/hosts.log crit; events { } http { access_log off;\n"
        "keepalive_requests 1000000; client_body_temp_path /tmp/body; proxy_temp_path /tmp/proxied;\n"
        "fastcgi_temp_path /tmp/fastcgi; uwsgi_temp_path /tmp/uwsgi; scgi_temp_path /tmp/scgi;\n"
    )
    return Drawn(text=head + "\n".join(lines) + "\n}\n", asked=tuple(asked))


def _name(rng: random.Random) -> str:
    kind = rng.random()
    dotted = ".".join(rng.choice(_LABELS) for _ in range(rng.randint(1, 3)))
    if kind < 0.2:
        # Names that the model does not understand must be rare.
        return rng.choice(_REGEXES[:-1]) if rng.random() < 0.98 else _REGEXES[-1]
    if kind < 0.25:
        return rng.choice(('""', "_", f"{dotted}.", f"{dotted}:80"))
    return {0: dotted, 1: f"*.{dotted}", 2: f".{dotted}", 3: f"{dotted}.*"}[rng.randint(0, 3)]


def _host(rng: random.Random) -> str:
    if rng.random() < 0.04:
        return ""
    dotted = ".".join(rng.choice(_LABELS) for _ in range(rng.randint(1, 4)))
    return dotted + rng.choice(("", "", "", "", ".", ":80", ".:80", ".c"))


def compare(drawn: Drawn, seen: Sequence[Sequence[Any]], version: Sequence[int]) -> Compared:
    """Compare the server that the model chooses for each request with nginx's (seen: status, header lines, body)."""
    main = read_configuration(Dump({"nginx.conf": drawn.text}, is_complete=True)).main
    known = sockets.sockets_of(main, version)
    lost = {id(server) for server, _ in hosts.never_chosen(known)}
    found = Compared(disagreements=[problem.message for problem in known.problems])
    for (port, host), (_, headers, _) in zip(drawn.asked, seen, strict=True):
        socket = known.at("127.0.0.1", port)
        assert socket is not None
        mine = hosts.server_for(socket, host)
        theirs = dict(map(tuple, headers)).get("X-Server")
        found.questions += 1
        found.constructs[_kind(mine, socket, host)] += 1
        if mine.doubt:
            found.unknown["regular expression"] += 1
        elif mine.server.local("add_header")[0].args[1] != theirs or id(mine.server) in lost:
            found.disagreements.append(f"{host} on {port}: {mine.server.line}, nginx: {theirs}")
    return found


def _kind(mine: hosts.Chosen, socket: sockets.Socket, host: str) -> str:
    """Return the kind of name that matched a host, or "no host" or "default server"."""
    bare = host.partition(":")[0].removesuffix(".").lower()
    names = [name.lower() for name in hosts.names_of(mine.server)]
    if not host:
        return "no host"
    if bare in names or f".{bare}" in names:
        return "exact name"
    if any(name.startswith(("*.", ".")) and bare.endswith(name.removeprefix("*")) for name in names):
        return "leading wildcard"
    if any(name.endswith(".*") and bare.startswith(name[:-1]) for name in names):
        return "trailing wildcard"
    return "default server" if mine.server is socket.default else "regular expression"
