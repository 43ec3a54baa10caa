"""The TLS versions that a server offers to clients that request it by name (SNI), on a given version of nginx."""

from typing import Final

from tuneproof.conf.effective import Origin, effective
from tuneproof.conf.facts import Facts
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.wording import as_numbers

# https://nginx.org/en/CHANGES: "now the ssl_protocols directive works in a virtual server different from the default
# server when using OpenSSL 1.1.1 or newer".
OWN_PROTOCOLS_SINCE: Final = "1.29.2"


def speaks_tls(server: Block, facts: Facts) -> bool:
    """Tell whether a server of http{}, stream{} or mail{} speaks TLS over TCP, on any ``listen`` of its sockets."""
    starttls = server.setting("starttls") if server.path[:1] == ("mail",) else None
    return (
        server.is_on("ssl")
        or server.listens_with("ssl")
        or any("ssl" in socket.protocols for socket in facts.sockets.of(server))
        or (starttls is not None and starttls.value in {"on", "only"})
    )


def speaks_plainly(server: Block, facts: Facts) -> bool:
    """Tell whether a server of http{} accepts connections without TLS on some ``listen``, or may do so."""
    if facts.sockets.problems or facts.sockets.unknown:
        return True
    is_plain = any("ssl" not in one.protocols and not one.address.is_udp for one in facts.sockets.of(server))
    return is_plain and not server.is_on("ssl")


def deciding(
    server: Block, facts: Facts, version: tuple[int, ...], *, listen: Statement | None = None
) -> tuple[Block, ...]:
    """Return the servers that set ``ssl_protocols`` for clients of this one: this one, or its sockets' default servers.

    ``listen``: consider only clients that connect to this directive's sockets.
    """
    sockets = [one for one in facts.sockets.of(server) if listen is None or listen in one.listens]
    encrypted = [socket for socket in sockets if "ssl" in socket.protocols]
    if version >= as_numbers(OWN_PROTOCOLS_SINCE) or not encrypted:
        return (server,)
    return tuple(dict.fromkeys(socket.default for socket in encrypted))


def protocols(block: Block, version: tuple[int, ...]) -> tuple[tuple[str, ...], Statement | None] | None:
    """Return the TLS versions that a block's settings allow, and the directive that sets them (None: the default).

    Returns: None if the directive may be in a file that is missing.
    """
    found = effective(block, "ssl_protocols", version)
    if found.origin is Origin.UNKNOWN:
        return None
    return tuple(sorted(set(found.words))), found.statements[-1] if found.statements else None
