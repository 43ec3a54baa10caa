"""Finds the directives that may have answered a request instead of the upstream."""

from collections.abc import Iterator, Mapping
from typing import Final

from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block

LIMITING: Final = ("limit_req", "limit_conn")
# https://nginx.org/en/docs/http/ngx_http_limit_req_module.html, and so on.
_REFUSERS: Final[Mapping[int, tuple[str, ...]]] = {
    401: ("auth_basic", "auth_request", "auth_jwt"),
    403: ("deny", "auth_request", "valid_referers"),
    404: ("try_files", "root", "return"),
    429: LIMITING,
    503: LIMITING,
}

LIMITED: Final = frozenset({429, 503})
"""Statuses with which nginx rejects requests over a limit; they show nothing about other requests."""


def limits(block: Block) -> list[Statement]:
    """Return the directives that limit requests or require an account in a location; tests prefer other locations."""
    return [said for name in (*LIMITING, "auth_basic", "auth_request") for said in _on(block, name)]


def _on(block: Block, name: str) -> list[Statement]:
    return [said for said in block.in_effect(name)[:1] if said.value != "off"]


def refusers(status: int, block: Block) -> Iterator[Statement | Block]:
    """Yield the directives that may have answered with a status in a location, and each ``if`` that returns it."""
    for directive in _REFUSERS.get(status, ()):
        yield from block.in_effect(directive)[:1]
    for level in block.within():
        for inner in level.blocks:
            if inner.name == "if" and any(said.value == str(status) for said in inner.local("return")):
                yield inner
