"""Patches that rows (:mod:`tuneproof.lines`) name because a fixed text cannot express them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tuneproof.audit.patches import Edit, Insert, Replace
from tuneproof.conf.facts import Facts
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block


def tls_by_listen(at: Statement | Block, block: Block, facts: Facts) -> Sequence[Edit]:
    """Return the changes that replace ``ssl on`` with "ssl" in each listen of its servers, or that remove ``ssl off``.

    Empty if that would bring TLS to other servers on a socket, or if a server's listens are not all known.
    """
    if not isinstance(at, Statement):
        return ()
    if at.value == "off":
        return (Replace(old=at, text=""),)
    servers = [server for server in block.servers() if server.setting("ssl") is at]
    sockets = [socket for server in servers for socket in facts.sockets.of(server)]
    others = [
        server
        for socket in sockets
        if "ssl" not in socket.protocols
        for server in socket.servers
        if not server.is_on("ssl")
    ]
    is_clear = all(server.local("listen") and not server.unseen for server in servers) and not block.unseen
    if others or facts.sockets.unknown or not is_clear:
        return ()
    listens = [listen for server in servers for listen in server.local("listen")]
    plain = [listen for listen in listens if "ssl" not in listen.args]
    added = [Replace(old=listen, text=f"listen {' '.join((*listen.args, 'ssl'))};") for listen in plain]
    return (Replace(old=at, text=""), *added)


def without_listed_5xx(at: Statement | Block, _block: Block, _facts: Facts) -> Sequence[Edit]:
    """Return the directive, such as ``proxy_next_upstream``, without statuses from 500 up; empty if none is left."""
    left = [arg for arg in at.args if not arg.startswith("http_5")]
    if not isinstance(at, Statement) or not left:
        return ()
    return (Replace(old=at, text=f"{at.name} {' '.join(left)};"),)


def upstream_zone(at: Statement | Block, _block: Block, facts: Facts) -> Sequence[Edit]:
    """Return a ``zone`` for an upstream block, with a name that no other zone has."""
    if not isinstance(at, Block) or not at.args:
        return ()
    taken = {
        word.removeprefix("keys_zone=").removeprefix("zone=").removeprefix("shared:").partition(":")[0]
        for said, _ in facts.configuration.main.everything()
        for word in said.args
    }
    name = at.args[0] if at.args[0] not in taken else f"{at.args[0]}_peers"
    return () if name in taken else (Insert(after=at, text=f"zone {name} 64k;"),)


REMEDIES: Final[Mapping[str, Callable[[Statement | Block, Block, Facts], Sequence[Edit]]]] = {
    "=ssl": tls_by_listen,
    "=next upstream": without_listed_5xx,
    "=zone": upstream_zone,
}
