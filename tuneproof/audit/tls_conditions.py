"""Row conditions about TLS and HTTP/2."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tuneproof.audit.spoken import deciding, protocols
from tuneproof.conf.effective import effective
from tuneproof.conf.facts import Facts
from tuneproof.conf.sockets import HTTPS_PORT
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.values import size_bytes

_FIRST_WINDOW_BYTES: Final = 64 << 10  # the default of http2_body_preread_size


def _is_tls_only(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether every listen here uses TLS, and nginx encrypts rather than the kernel (ssl_conf_command KTLS)."""
    servers = block.servers()
    if block.name == "http" and (block.absent_sites or facts.configuration.is_fragment):
        return False
    listens = [(server, listen) for server in servers for listen in server.local("listen")]
    # The ssl parameter belongs to the socket, and any of its listens may have it.
    encrypted = {id(listen) for socket in facts.sockets.found if "ssl" in socket.protocols for listen in socket.listens}
    is_tls = all(
        {"ssl", "quic"} & set(listen.args) or id(listen) in encrypted or server.is_on("ssl")
        for server, listen in listens
    )
    return bool(listens) and all(server.local("listen") for server in servers) and is_tls and not _by_kernel(servers)


def _by_kernel(servers: Iterable[Block]) -> bool:
    return any("KTLS" in arg for server in servers for one in server.in_effect("ssl_conf_command") for arg in one.args)


def _has_no_kernel_tls(_at: Statement | Block, block: Block, _facts: Facts) -> bool:
    return not _by_kernel(block.servers())


def _never_calls_sendfile(at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether all files are sent over TLS, including request bodies that go to an upstream.

    Source: ngx_http_upstream_connect.
    """
    proxied = [one.target for one in facts.proxied if block in one.target.block.within()]
    return all(one.schemes() == frozenset({"https"}) for one in proxied) and _is_tls_only(at, block, facts)


def _speaks_http2(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    return any(map(facts.speaks_http2, block.servers()))


def _speaks_http2_in_location(at: Statement | Block, block: Block, facts: Facts) -> bool:
    return block.name == "location" and _speaks_http2(at, block, facts)


def deciding_handshakes(at: Statement | Block, block: Block, facts: Facts) -> list[Block]:
    """Return the servers that have a directive in effect and begin TLS handshakes; in http{}, only default servers do.

    Another server is chosen during the handshake, when its groups and TCP options no longer matter
    (ngx_http_ssl_handshake, SSL_set_SSL_CTX).
    """
    if block.path[:1] != ("http",):
        return block.servers()
    sockets = facts.sockets.found
    defaults = [one.default for one in sockets if {"ssl", "quic"} & one.protocols or one.default.is_on("ssl")]
    return [server for server in defaults if server.setting(at.name) is at and not server.hides(at.name)]


def _delays_handshakes(at: Statement | Block, block: Block, facts: Facts) -> bool:
    return bool(deciding_handshakes(at, block, facts))


def speaks_tls13(at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether TLS 1.3 is offered by a server that has a directive in effect and begins TLS handshakes."""
    servers = deciding_handshakes(at, block, facts)
    return any("TLSv1.3" in effective(one, "ssl_protocols", facts.version_numbers).words for one in servers)


def _is_decided_elsewhere(at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return, in words, the TLS versions that another server sets for clients of this one; empty if none does."""
    if block.path != ("http", "server") or facts.sockets.problems or facts.sockets.unknown or block.lacks_includes:
        return ""
    others = deciding(block, facts, facts.version_numbers)
    if block in others:
        return ""
    for other in others:
        found = protocols(other, facts.version_numbers)
        if found is not None and set(found[0]) != set(at.args):
            return f"{', '.join(found[0])} from the socket's default server ({other.file}:{other.line})"
    return ""


def _has_small_preread(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether HTTP/2 is spoken, and the window before nginx reads a body is at most the default."""
    size = block.setting("http2_body_preread_size")
    return _speaks_http2(_at, block, facts) and (size is None or (size_bytes(size.value) or 0) <= _FIRST_WINDOW_BYTES)


def _has_other_responses(_at: Statement | Block, block: Block, _facts: Facts) -> bool:
    return any(block.setting(name) for name in ("ssl_stapling_file", "ssl_stapling_responder"))


def _lacks_tls(_at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return the address on which a server with a certificate speaks HTTP on port 443; empty for none."""
    if not block.local("ssl_certificate") or block.is_on("ssl"):
        return ""
    sockets = (one for one in facts.sockets.of(block) if one.address.port == HTTPS_PORT and not one.address.is_udp)
    return next((one.address.name for one in sockets if "ssl" not in one.protocols), "")


WHERE: Final[Mapping[str, Callable[[Statement | Block, Block, Facts], str | bool]]] = {
    "certificate without TLS": _lacks_tls,
    "TLS only": _is_tls_only,  # every server in the block uses it
    "no kernel TLS": _has_no_kernel_tls,
    "sendfile never called": _never_calls_sendfile,
    "HTTP/2": _speaks_http2,  # at least one server in the block uses it
    "HTTP/2 with the default window": _has_small_preread,
    "HTTP/2 in a location": _speaks_http2_in_location,
    "begins TLS handshakes": _delays_handshakes,
    "begins TLS 1.3 handshakes": speaks_tls13,
    "another server decides ssl_protocols": _is_decided_elsewhere,
    "another source of OCSP responses": _has_other_responses,
}
