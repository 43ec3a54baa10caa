"""Which versions of TLS a server speaks with clients that name it, on a version of nginx."""

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
    """Tell whether a server of http{}, stream{} or mail{} speaks TLS over TCP, by any ``listen`` of its sockets."""
    starttls = server.setting("starttls") if server.path[:1] == ("mail",) else None
    return (
        server.is_on("ssl")
        or server.listens_with("ssl")
        or any("ssl" in socket.protocols for socket in facts.sockets.of(server))
        or (starttls is not None and starttls.value in {"on", "only"})
    )


def speaks_plainly(server: Block, facts: Facts) -> bool:
    """Tell whether a server of http{} speaks without TLS on some ``listen``, or may do so."""
    if facts.sockets.problems or facts.sockets.unknown:
        return True
    is_plain = any("ssl" not in one.protocols and not one.address.is_udp for one in facts.sockets.of(server))
    return is_plain and not server.is_on("ssl")


def deciding(server: Block, facts: Facts, version: tuple[int, ...]) -> Block:
    """Return the server with the ``ssl_protocols`` for clients that name this one: itself, or its socket's default."""
    if version >= as_numbers(OWN_PROTOCOLS_SINCE):
        return server
    encrypted = [socket for socket in facts.sockets.of(server) if "ssl" in socket.protocols]
    defaults = [socket.default for socket in encrypted]
    return server if not defaults or server in defaults else defaults[0]


def protocols(server: Block, facts: Facts, version: tuple[int, ...]) -> tuple[tuple[str, ...], Statement | None] | None:
    """Return the versions of TLS for clients that name a server, and their directive; None for it: the default.

    Returns: None if a missing file may decide.
    """
    found = effective(deciding(server, facts, version), "ssl_protocols", version)
    if found.origin is Origin.UNKNOWN:
        return None
    return tuple(sorted(set(found.words))), found.statements[-1] if found.statements else None
