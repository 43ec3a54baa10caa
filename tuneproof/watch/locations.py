"""Finds the location in a configuration that a stall affects, by the upstream's address or by a call's file.

This module does no I/O: its caller resolves names.
"""

from collections.abc import Callable
from typing import Final

from tuneproof.conf.effective import effective
from tuneproof.conf.facts import Facts, Proxied
from tuneproof.conf.tree import Block
from tuneproof.conf.values import is_address

Resolve = Callable[[str], frozenset[str]]
"""Returns the addresses of a host name; empty if it is unknown here, such as a name that only a container resolves."""
_UPSTREAM: Final = "upstream "
_PORTS: Final = {"https": "443", "grpcs": "443"}
_DEFAULT_PORT: Final = "80"


def locations(facts: Facts, target: str, resolve: Resolve) -> tuple[Block, ...]:
    """Return the blocks that match the target of calls, such as ``upstream 10.0.0.3:8000`` or a file's path.

    A name that does not resolve matches by its port.
    """
    if target.startswith(_UPSTREAM):
        host, _, port = target.removeprefix(_UPSTREAM).rpartition(":")
        found = [each.target.block for each in facts.proxied if _reaches(facts, each, host.strip("[]"), port, resolve)]
    elif target.startswith("/"):
        fits = [
            ((len(folder), block.name == "location"), block)
            for server in facts.servers
            for block in (server.block, *server.block.all("location"))
            if target.startswith(folder := _folder(block, facts.version_numbers))
        ]
        best = max((rank for rank, _ in fits), default=None)
        found = [block for rank, block in fits if rank == best]
    else:
        found = []
    return tuple(dict.fromkeys(found))


def _reaches(facts: Facts, proxied: Proxied, host: str, port: str, resolve: Resolve) -> bool:
    schemes = proxied.target.schemes() or {""}
    default = next((_PORTS[scheme] for scheme in schemes if scheme in _PORTS), _DEFAULT_PORT)
    for name in proxied.target.names() or ():
        upstream = facts.upstreams.get(name)
        for server in (name,) if upstream is None else upstream.servers:
            its_host, its_port = _parts(server, default)
            addresses = frozenset({its_host}) if is_address(its_host) else resolve(its_host)
            if its_port == port and (not addresses or host in addresses):
                return True
    return False


def _parts(server: str, default_port: str) -> tuple[str, str]:
    host, colon, port = server.rpartition(":")
    return (host.strip("[]"), port) if colon and port.isdecimal() else (server.strip("[]"), default_port)


def _folder(block: Block, version: tuple[int, ...]) -> str:
    """Return the prefix of the paths of a block's files; if it is unknown, a prefix that matches nothing."""
    if alias := effective(block, "alias", version).value:
        return alias
    root = effective(block, "root", version)
    if not root.statements or "$" in root.statements[-1].value:
        return "\0"
    # A regex location may serve any file below its root.
    prefix = block.args[-1] if block.name == "location" and not block.args[0].startswith("~") else "/"
    return root.statements[-1].value.rstrip("/") + (prefix if prefix.startswith("/") else "/")
