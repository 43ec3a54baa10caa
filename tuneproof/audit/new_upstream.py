"""Patches that add an upstream block for a proxied address, and keep everything else the same."""

import re
from collections.abc import Sequence
from typing import Final

from tuneproof.audit.patches import Before, Edit, Insert, Replace
from tuneproof.conf.facts import Facts
from tuneproof.conf.tree import Block
from tuneproof.conf.upstreams import Target, targets_of
from tuneproof.conf.variables import variables

# An address without variables (a socket's path or a host), and what may follow it.
_ADDRESS: Final = re.compile(
    r"http://(?:(?P<socket>unix:[^:$]+)(?::(?P<uri>/.*)?)?"
    r"|(?P<host>(?:\[[0-9a-fA-F:]+\]|[\d.]+|(?P<name>[\w.-]+))(?::\d+)?)(?P<path>/.*)?)"
)
# Text that needs no quotes, and has no variables.
_PLAIN_PATH: Final = re.compile(r"/[^\s\"'\\{};#$]*")


def named_block(facts: Facts, target: Target, *, settings: Sequence[str]) -> list[Edit]:
    """Return the changes that replace a fixed plain-HTTP address with an upstream block.

    Empty if a person must decide: TLS would check the certificate against the new name, FastCGI
    may have few processes, and other things may change with the name.
    """
    block, match = target.block, _ADDRESS.fullmatch(target.to)
    if (
        target.statement.filled
        or target.kind != "proxy"
        or match is None
        or not _is_alone(block)
        or _is_key_of_cache(block)
        or facts.names_proxied_address
    ):
        return []
    address, path = match["socket"] or match["host"], match["uri"] or match["path"] or ""
    anchor = _first_server_of(facts, target.host)
    name = re.sub(r"\W+", "_", address).strip("_").lower()
    # nginx resolves a name followed by variables repeatedly, and a name in an upstream block once.
    if anchor is None or anchor.span is None or name in facts.upstreams or (match["name"] and variables(path)):
        return []
    redirects = _default_redirect(target, address, path) if match["host"] else []
    if redirects is None:
        return []
    own = (f"    {line}" for line in (f"server {address};", *settings))
    lines = (f"upstream {name} {{", *own, "}")
    edits: list[Edit] = [
        Before(block=anchor, lines=lines),
        Replace(old=target.statement, text=f"proxy_pass http://{name}{path};"),
        *redirects,
    ]
    in_effect = block.in_effect("proxy_set_header")
    if not any(item.value.lower() == "host" for item in in_effect):
        # The Host header would become the block's name. The backend must get the same header as before: the address,
        # without port 80 (ngx_http_proxy_set_vars).
        seen = "localhost" if match["socket"] else address.removesuffix(":80")
        if in_effect and not block.local("proxy_set_header"):
            # A header added here would replace the outer ones; added further out, it would affect every other location.
            return []
        behind = in_effect[-1] if in_effect else target.statement
        edits.append(Insert(after=behind, text=f"proxy_set_header Host {seen};"))
    return edits


def _is_alone(block: Block) -> bool:
    """Tell whether a block is a location without other proxied places inside, which would inherit the additions."""
    return block.name == "location" and not any(True for _ in targets_of(block))


def _is_key_of_cache(block: Block) -> bool:
    """Tell whether responses are cached under the upstream's name, the default: a new name would lose them all."""
    key = block.setting("proxy_cache_key")
    return block.in_use("proxy_cache") is not None and (key is None or "proxy_host" in key.value)


def _default_redirect(target: Target, address: str, path: str) -> list[Edit] | None:
    """Return a directive that rewrites the upstream's redirects as nginx did with the address.

    None if the directive cannot contain the location's name. Source: ngx_http_proxy_merge_loc_conf, and
    https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_redirect.
    """
    said = target.block.in_effect("proxy_redirect")
    default = next((item for item in said if item.value == "default"), None)
    # With variables, nginx does not rewrite redirects by default.
    if variables(path) or (said and default is None):
        return []
    location = target.block.args[-1] if path else "/"
    if not _PLAIN_PATH.fullmatch(location):
        return None
    text = f"proxy_redirect http://{address}{path or '/'} {location};"
    return [Replace(old=default, text=text) if default else Insert(after=target.statement, text=text)]


def _first_server_of(facts: Facts, host: str) -> Block | None:
    """Return the first server that proxies to an address: all later servers can use an upstream block before it."""
    users = (proxied.target.block for proxied in facts.proxied if proxied.target.host == host)
    return next((server for user in users if (server := user.around("server")) is not None), None)
