"""nginx's error messages about what TLS needs and lacks: a certificate, its key, a CA, or the TLS version for QUIC.

ngx_http_ssl_merge_srv_conf, ngx_http_ssl_init and ngx_http_proxy_set_ssl, and their counterparts in other modules.
"""

from collections.abc import Iterator
from typing import Final

from tuneproof.conf.directives import directive, known
from tuneproof.conf.sockets import Socket, Sockets
from tuneproof.conf.statements import Problem, Statement
from tuneproof.conf.tree import Block, is_given, problem_at
from tuneproof.conf.upstreams import targets_of

# https://nginx.org/en/CHANGES: before that, nginx started, and handshakes failed.
_SOCKETS_CHECKED_SINCE: Final = (1, 15, 0)
# Since this version, an address in stream{} can also have several servers, of which only the default needs a
# certificate.
_STREAM_LIKE_HTTP_SINCE: Final = (1, 25, 5)
# https://nginx.org/en/CHANGES: since then, ssl_trusted_certificate is enough.
_TRUSTED_IS_ENOUGH_SINCE: Final = (1, 27, 2)
# https://nginx.org/en/CHANGES: "now certificate compression is disabled with OCSP stapling".
_STAPLED_UNCOMPRESSED_SINCE: Final = (1, 29, 3)
_TLS_SCHEMES: Final = frozenset({"https", "grpcs", "suwsgi"})
_VERIFYING: Final = frozenset({"on", "optional"})
_LISTEN: Final = "listen ... {}"
_FOR_QUIC: Final = "TLSv1.3"


def certificate_problems(main: Block, sockets: Sockets, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield nginx's error for each server that lacks something it needs for TLS; the configuration must be complete."""
    if any(said.name.endswith("_certificate") and said.name not in known() for said, _ in main.everything()):
        # Other modules have their own certificates.
        return
    servers = [server for server in main.all("server") if server.parent is not None and server.parent.parent is main]
    found = [problem for server in servers for problem in _of_server(server, servers, version)]
    if not found and not sockets.problems and not sockets.unknown and version >= _SOCKETS_CHECKED_SINCE:
        found = [problem for socket in sockets.found for problem in _of_socket(socket)]
    found += [problem for server in servers if server.path[0] != "mail" for problem in _of_clients(server, version)]
    if version >= _STAPLED_UNCOMPRESSED_SINCE:
        found += [problem for server in servers for problem in _of_stapling(server)]
    # Several sockets of a server, or places where a directive applies, may have the same error.
    yield from dict.fromkeys((*found, *_of_upstreams(main, servers)))


def _of_clients(server: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield the error about a server that verifies its clients' certificates without a CA."""
    said, is_new = server.setting("ssl_verify_client"), version >= _TRUSTED_IS_ENOUGH_SINCE
    names = ["ssl_client_certificate", *(["ssl_trusted_certificate"] if is_new else [])]
    is_known = any((ca := server.setting(name)) and ca.value for name in names)
    if said is not None and said.value.lower() in _VERIFYING and server.in_effect("ssl_certificate") and not is_known:
        yield problem_at(said, f"no {' or '.join(names)} for ssl_verify_client")


def _of_stapling(server: Block) -> Iterator[Problem]:
    """Yield the error about a server that compresses certificates and staples OCSP responses."""
    said, has_tls = server.setting("ssl_stapling"), server.in_effect("ssl_certificate") or _rejects(server)
    if said is not None and server.is_on(said.name) and has_tls and server.is_on("ssl_certificate_compression"):
        yield problem_at(said, '"ssl_stapling" is incompatible with "ssl_certificate_compression"')


def _of_upstreams(main: Block, servers: list[Block]) -> Iterator[Problem]:
    """Yield the error about each verified upstream without a CA."""
    streams = [(server, "proxy") for server in servers if server.path[0] == "stream" and server.is_on("proxy_ssl")]
    # nginx also prepares TLS if the address has a variable.
    proxied = (one for one in targets_of(main) if "$" in one.to or one.scheme.lower() in _TLS_SCHEMES)
    for block, kind in (*((one.block, one.kind) for one in proxied), *streams):
        said, ca = block.setting(f"{kind}_ssl_verify"), block.setting(f"{kind}_ssl_trusted_certificate")
        if said is not None and block.is_on(said.name) and not (ca and ca.value):
            yield problem_at(said, f"no {kind}_ssl_trusted_certificate for {kind}_ssl_verify")


def _of_server(server: Block, servers: list[Block], version: tuple[int, ...]) -> Iterator[Problem]:
    context = server.path[0]
    certificates, keys = server.in_effect("ssl_certificate"), server.in_effect("ssl_certificate_key")
    place, what = _request_for_tls(server, context, version)
    is_alone = context != "stream" or version < _STREAM_LIKE_HTTP_SINCE or _is_alone(server, servers)
    if not certificates:
        if place is not None and is_alone and not _rejects(server):
            yield problem_at(place, f'no "ssl_certificate" is defined for the "{what}" directive')
    elif len(keys) < len(certificates):
        said, is_new = certificates[-1], context == "stream" and version >= _STREAM_LIKE_HTTP_SINCE
        lacking = f'no "ssl_certificate_key" is defined for certificate "{said.value}"'
        if is_new or (context == "http" and place is None):
            yield problem_at(said, lacking)
        elif place is not None:
            none = f'no "ssl_certificate_key" is defined for the "{what}" directive'
            yield problem_at(place, f'{lacking} and the "{what}" directive' if keys else none)


def _of_socket(socket: Socket) -> Iterator[Problem]:
    """Yield the error about a socket in http{}; if its default server rejects handshakes, others are checked."""
    if not {"ssl", "quic"} & socket.protocols:
        return
    if socket.default.in_effect("ssl_certificate"):
        said = socket.default.in_effect("ssl_protocols")
        is_known = all(map(is_given, said))
        if socket.address.is_udp and said and is_known and not any(_FOR_QUIC in each.args for each in said):
            message = f'"ssl_protocols" must enable {_FOR_QUIC} for the "{_LISTEN.format("quic")}" directive'
            yield problem_at(socket.default, message)
        return
    lacking = [one for one in socket.servers if not one.in_effect("ssl_certificate") and not _rejects(one)]
    if lacking:
        first = socket.default if socket.default in lacking else lacking[0]
        what = _LISTEN.format("quic" if socket.address.is_udp else "ssl")
        yield problem_at(first, f'no "ssl_certificate" is defined for the "{what}" directive')


def _request_for_tls(server: Block, context: str, version: tuple[int, ...]) -> tuple[Statement | None, str]:
    """Return the directive that enables TLS for a server itself, and nginx's name for it.

    A ``listen`` in http{} enables TLS for its socket.
    """
    listen = next((one for one in server.local("listen") if "ssl" in one.args), None)
    if listen is not None and context != "http":
        return listen, _LISTEN.format("ssl")
    if server.is_on("ssl") and directive("ssl", version, context=context) is not None:
        return server.setting("ssl"), "ssl"
    return (server.in_use("starttls") if context == "mail" else None), "starttls"


def _rejects(server: Block) -> bool:
    return server.is_on("ssl_reject_handshake")


def _is_alone(server: Block, servers: list[Block]) -> bool:
    """Tell whether a server in stream{} shares no port with another, which might be the default."""
    others = [one for one in servers if one is not server and one.path[0] == "stream"]
    return not _ports(server) & {port for other in others for port in _ports(other)}


def _ports(server: Block) -> set[str]:
    return {listen.value.rpartition(":")[2] for listen in server.local("listen")}
