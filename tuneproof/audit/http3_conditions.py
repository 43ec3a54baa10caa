"""Row conditions about HTTP/3."""

from collections.abc import Callable, Mapping
from typing import Final

from tuneproof.audit.tls_conditions import deciding_handshakes, speaks_tls13
from tuneproof.conf.facts import Facts
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block

# https://nginx.org/en/CHANGES: before that, nginx with OpenSSL did not support early data over QUIC.
_OVER_QUIC_SINCE: Final = (1, 29, 1)


def _is_shared_by_workers(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether several workers read from the UDP socket of a ``listen``; another ``listen`` may set its options."""
    workers = facts.configuration.main.setting("worker_processes")
    bound = [socket for socket in facts.sockets.found if socket.is_bound]
    is_shared = any(at in socket.listens and not socket.reuseport for socket in bound)
    return workers is not None and workers.value != "1" and is_shared


def _is_unannounced(_at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether no header announces HTTP/3 to clients, and no missing file might add one."""
    texts = facts.configuration.texts.values()
    return not facts.configuration.unseen and not any("alt-svc" in text.lower() for text in texts)


def _proxies_unmarked(at: Statement | Block, block: Block, facts: Facts, *, protocol: str = "quic") -> bool:
    """Tell whether a server with HTTP/3 proxies requests, and nothing uses ``$ssl_early_data``.

    A socket's default server decides about early data for all its servers (ngx_quic_init_connection).
    ``protocol``: "quic", or "ssl" for TCP.
    """
    if facts.configuration.unseen or any("$ssl_early_data" in text for text in facts.configuration.texts.values()):
        return False
    deciding = deciding_handshakes(at, block, facts)
    sockets = [one for one in facts.sockets.found if protocol in one.protocols and one.default in deciding]
    servers = [server for socket in sockets for server in socket.servers]
    return any(server in proxied.target.block.within() for proxied in facts.proxied for server in servers)


def _proxies_unmarked_over_tcp(at: Statement | Block, block: Block, facts: Facts) -> bool:
    if not speaks_tls13(at, block, facts) or not _proxies_unmarked(at, block, facts, protocol="ssl"):
        return False
    return facts.version_numbers < _OVER_QUIC_SINCE or not _proxies_unmarked(at, block, facts)


WHERE: Final[Mapping[str, Callable[[Statement | Block, Block, Facts], str | bool]]] = {
    "UDP socket shared by workers": _is_shared_by_workers,
    "HTTP/3 unannounced": _is_unannounced,
    "early data to upstreams unmarked": _proxies_unmarked,
    "early data over TCP to upstreams unmarked": _proxies_unmarked_over_tcp,  # unless reported over QUIC
}
