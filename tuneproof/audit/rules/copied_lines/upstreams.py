"""Peers that fail, and caches in front of them."""

from typing import Final

from tuneproof.audit.advice import State
from tuneproof.audit.facts import Facts
from tuneproof.audit.rules.copied_lines.line import CopiedLine
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block


def _listed_5xx(said: Statement, _block: Block, _facts: Facts) -> bool:
    return any(arg.startswith("http_5") for arg in said.args)


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
