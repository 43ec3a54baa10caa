"""Peers that fail, and caches in front of them."""

import re
from typing import Final

from tuneproof.audit.advice import State
from tuneproof.audit.facts import Facts
from tuneproof.audit.rules.copied_lines.line import CopiedLine
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block
from tuneproof.audit.upstreams import Target

_ADDRESS: Final = re.compile(r"unix:|\[|(?:\d+\.){3}\d+(?::|$)")
# https://nginx.org/en/docs/http/ngx_http_upstream_module.html#server
_NEVER_EJECTED: Final = "max_fails=0"


def _listed_5xx(said: Statement, _block: Block, facts: Facts) -> bool:
    """Tell whether a 5xx may eject all of several peers: one that is alone is always asked.

    One with a backup is not alone, and both are ejected (ngx_http_upstream_init_round_robin).
    """
    if not any(arg.startswith("http_5") for arg in said.args):
        return False
    targets = [proxied.target for proxied in facts.proxied]
    meant = [target for target in targets if target.block.setting("proxy_next_upstream") is said]
    return not meant or any(_may_have_peers(target, facts) for target in meant)


def _may_have_peers(target: Target, facts: Facts) -> bool:
    for name in target.names() or {""}:
        servers = facts.upstreams[name].block.local("server") if name in facts.upstreams else []
        servers = [server for server in servers if "down" not in server.args]
        if any(_NEVER_EJECTED in server.args for server in servers):
            continue
        addresses = [server.value for server in servers] or [name]
        # A name may have several addresses: "localhost" has two.
        if len(addresses) > 1 or not _ADDRESS.match(addresses[0]):
            return True
    return False


def _locked_without_stale(said: Statement, block: Block, _facts: Facts) -> bool:
    stale = block.setting("proxy_cache_use_stale")
    return said.value == "on" and (stale is None or "updating" not in stale.args)


LINES: Final = (
    CopiedLine(
        directive="proxy_next_upstream",
        scenario="upstream_peers",
        claim="listed_5xx_take_the_service_down",
        state=State.HARMFUL,
        why="an answer that is listed counts as a failure of its peer: requests for one broken page eject all of "
        "them, and every page is answered by 502",
        when=_listed_5xx,
        instead="proxy_next_upstream error timeout;",
    ),
    CopiedLine(
        directive="proxy_cache_lock",
        scenario="proxy_cache",
        claim="cache_lock_protects_expired_keys",
        state=State.WITHOUT_EFFECT,
        why="for pages that have expired: all requests go to the upstream without proxy_cache_use_stale updating",
        when=_locked_without_stale,
    ),
)
