"""Who may have answered a request in the place of the upstream."""

from collections.abc import Iterator, Mapping
from typing import Final

from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block

# https://nginx.org/en/docs/http/ngx_http_limit_req_module.html, and so on.
_REFUSERS: Final[Mapping[int, tuple[str, ...]]] = {
    401: ("auth_basic", "auth_request", "auth_jwt"),
    403: ("deny", "auth_request", "valid_referers"),
    404: ("try_files", "root", "return"),
    429: ("limit_req", "limit_conn"),
    503: ("limit_req", "limit_conn"),
}


def refusers(status: int, block: Block) -> Iterator[Statement | Block]:
    """Yield the directives that may have answered with a status in a location, and each ``if`` that returns it."""
    for directive in _REFUSERS.get(status, ()):
        yield from block.in_effect(directive)[:1]
    for level in block.within():
        for inner in level.blocks:
            if inner.name == "if" and any(said.value == str(status) for said in inner.local("return")):
                yield inner
