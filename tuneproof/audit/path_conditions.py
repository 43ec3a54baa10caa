"""Row conditions about responses, and about how nginx changes a path before it reads a file or proxies the request."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tuneproof.conf.facts import Facts
from tuneproof.conf.locations import REGEXES, Kind, Location
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block

_PREFIXES: Final = frozenset({Kind.PREFIX, Kind.PREFIX_ONLY})
_URI: Final = re.compile(r"https?://(?:unix:[^:$]+:|(?!unix:)[^/?$]+)(/[^?$]*)", re.IGNORECASE)
_CONSTANT: Final = re.compile(r"(?!(?:[^/]*://)?unix:[^:]*$)(?:[^/]*://)?([^/]*)(/[^$]*)", re.IGNORECASE)
_DECODED: Final = re.compile(r"://.+?(\$\{?(?:document_)?uri\b\}?)")
# The path, without arguments.
_PATH: Final = re.compile(r"(?:[^/]*://)?+(?:unix:[^:]*:|(?!unix:)[^/?]*)(/[^?]*)")
_CAPTURE: Final = re.compile(r"\$\{?(\d|[A-Za-z_]\w*)")
_GROUP_NAME: Final = re.compile(r"\?P?[<'](\w+)[>']")
_PART: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|\(\?(?!P?<\w|'\w)|[()]", re.DOTALL)
# Finds a dot or a negated class, which match a space.
_WIDE: Final = re.compile(r"(?:\\.|\[(?!\^)\]?(?:\\.|[^\]])*\]|[^.\[])*(?:\.|\[\^)", re.DOTALL)
_HIDING: Final = tuple(f"{kind}_hide_header" for kind in ("proxy", "fastcgi", "uwsgi", "scgi", "grpc"))
_REMOVING: Final = ("default_type", *_HIDING, "more_clear_headers")
_FILTERS: Final = ("js_header_filter", "header_filter_by_lua", "header_filter_by_lua_file")
_WITHOUT_TYPE: Final = frozenset({"204", "304"})


def _glued(at: Statement | Block, block: Block, _facts: Facts) -> str:
    """Return, in words, how a path changes if only its location or only the replacement ends with a slash; else empty.

    Source: "the part of a normalized request URI matching the location is replaced".
    """
    location = Location.of(block) if block.name == "location" and block.args else None
    value = "".join(at.args[:1])
    match = _URI.fullmatch(value)
    to = match[1] if match else value if at.name == "alias" and "$" not in value else ""
    if location is None or location.kind not in _PREFIXES or not to or _rewrites(block) or block.lacks_includes:
        return ""
    has_slash = location.name.endswith("/")
    # If the location itself lacks the slash, an alias reaches the folder above, which another row covers.
    if has_slash == to.endswith("/") or (at.name == "alias" and not has_slash):
        return ""
    name = block.args[-1]
    return f"{name}x as {to}x" if has_slash else f"{name}/x as {to}/x"


def _rewrites(block: Block) -> bool:
    """Tell whether a block may change a request's path, after which nginx no longer replaces part of it."""
    names = (*(said.name for said in block.own), *(inner.name for inner in block.blocks))
    return any(name == "rewrite" or name.startswith("rewrite_by_lua") for name in names)


def _constant_path(at: Statement | Block, block: Block, _facts: Facts) -> str:
    """Return the text that replaces every request's whole path, because the address has a variable; empty for none."""
    value = "".join(at.args[:1])
    match = _CONSTANT.fullmatch(value) if "$" in value else None
    location = block.around("location")
    is_one = location is not None and (Location.of(location).kind is Kind.EXACT or location.local("internal"))
    if match is None or is_one:
        return ""
    # A variable without a scheme before it may contain a path.
    return match[2] if "://" in value else value


def _decoded(at: Statement | Block, block: Block, _facts: Facts) -> str:
    """Return the variable that puts the decoded path into requests to an upstream; empty for none."""
    location = block.around("location")
    value = "".join(at.args[:1])
    if location is None or Location.of(location).kind is Kind.EXACT:
        return ""
    if found := _DECODED.search(value):
        return found[1]
    is_other = any(level.local("rewrite") or any(one.name == "if" for one in level.blocks) for level in block.within())
    if Location.of(location).kind not in REGEXES or block is not location or is_other:
        return ""
    path = _PATH.match(value)
    groups = _groups(location.args[-1])
    names = {str(at): group for at, group in enumerate(groups, start=1)}
    names |= {name[1]: group for group in groups if (name := _GROUP_NAME.match(group))}
    used = _CAPTURE.findall(path[1]) if path else ()
    return next((f"${one}" for one in used if one in names and _WIDE.match(names[one])), "")


def _groups(regex: str) -> list[str]:
    """Return the text of each group with a number, in order; it begins with the group's name, if there is one."""
    found: list[str] = []
    is_open: list[tuple[int, int | None]] = []
    for part in _PART.finditer(regex):
        if part[0] == "(":
            is_open.append((part.end(), len(found)))
            found.append("")
        elif part[0] == "(?":
            is_open.append((part.end(), None))
        elif part[0] == ")" and is_open:
            start, number = is_open.pop()
            if number is not None:
                found[number] = regex[start : part.start()]
    return found


def _is_in_regex_location(_at: Statement | Block, block: Block, _facts: Facts) -> bool:
    return block.name == "location" and Location.of(block).kind in REGEXES


def _has_a_type(at: Statement | Block, block: Block, _facts: Facts) -> bool:
    """Tell whether responses here have a Content-Type: all with a body do, unless a directive removes it."""
    said = [one for name in _REMOVING for one in block.in_effect(name)]
    is_removed = any(arg.lower() in {"", "content-type"} for one in said for arg in one.args)
    is_filtered = any(map(block.in_effect, _FILTERS)) or any(
        inner.name == "header_filter_by_lua_block" for level in block.within() for inner in level.blocks
    )
    returned = {one.value for one in block.local("return")}
    value = "".join(at.args[1:2])
    # A variable may be empty for responses with a Content-Type: nginx then adds no second one.
    return (
        not is_removed and not is_filtered and returned.isdisjoint(_WITHOUT_TYPE) and value != "" and "$" not in value
    )


def _may_be_compressed(at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether the upstream may compress responses in which nginx should replace text."""
    return block.local(at.name)[0] is at and not all(map(_asks_for_plain_text, _proxied_under(at, facts)))


def _asks_for_plain_text(block: Block) -> bool:
    said = [*block.in_effect("proxy_set_header"), *block.in_effect("more_clear_input_headers")]
    is_replaced = any(arg.lower() == "accept-encoding" for one in said for arg in one.args)
    return is_replaced or block.is_off("proxy_pass_request_headers")


def _proxied_under(at: Statement | Block, facts: Facts) -> Iterator[Block]:
    for proxied in facts.proxied:
        target = proxied.target
        if target.kind == "proxy" and at in target.block.in_effect(at.name) and not target.block.lacks_includes:
            yield target.block


def _matches_other_case(at: Statement | Block, _block: Block, facts: Facts) -> str:
    """Return the block that takes a location's paths, except in another letter case; in words, empty for none."""
    one = facts.partly_unreachable.get(id(at))
    return f"location {' '.join(one.by.args)} ({one.by.file}:{one.by.line})" if one is not None else ""


WHERE: Final[Mapping[str, Callable[[Statement | Block, Block, Facts], str | bool]]] = {
    "lacks a slash": _glued,
    "constant path": _constant_path,
    "decoded path": _decoded,
    "in a regex location": _is_in_regex_location,
    "has a Content-Type": _has_a_type,
    "may be compressed": _may_be_compressed,
    "matches another letter case alone": _matches_other_case,
}
