"""Row conditions about blocks: replaced lists, rewrites, locations, servers, access lists and client addresses."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from tuneproof.conf.facts import Facts
from tuneproof.conf.locations import REGEXES, Kind, Location, named
from tuneproof.conf.regexes import as_bytes_read
from tuneproof.conf.sockets import HTTPS_PORT
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block

_CAPTURE: Final = re.compile(r"\$\d")
_NAMED_OR_NONE: Final = re.compile(r"\\.|\[[^\]]*\]|\(\?[^)<P']*[:=!]")
# A dot matches no line end.
_WHOLE_LINE: Final = re.compile(r"(?!.*(?:\[\^|\\[sDWR]|\(\?\w*s))\^.*(?<!\\)\$")
_FLAGS: Final = frozenset({"last", "break", "redirect", "permanent"})
_ABSOLUTE: Final = ("http://", "https://", "$scheme")
# Directives about a request to the upstream, each with its module.
_PASSED_ON: Final = {
    **{f"{kind}_set_header": kind for kind in ("proxy", "grpc")},
    **{f"{kind}_param": kind for kind in ("fastcgi", "uwsgi", "scgi")},
}
_BY_PREFIX: Final = frozenset({Kind.PREFIX, Kind.PREFIX_ONLY})
_MERGED_SINCE: Final = (1, 29, 3)
_CSS: Final = "css"  # its file name extension
_FORWARDED: Final = "x-forwarded-for"


def _lost(at: Statement | Block, block: Block, facts: Facts) -> str:
    """Return the lines of an outer block that a list replaces here, in words; empty for none.

    Also empty if the lines may be in a missing file that comes with nginx, such as fastcgi_params.

    Source: "inherited from the previous configuration level if and only if there are no … on the current level".
    """
    name = at.name
    if block.parent is None or block.local(name)[0] is not at or block.lacks_includes:
        return ""
    if facts.version_numbers >= _MERGED_SINCE and name == "add_header" and _sets_inheritance(block):
        return ""
    if name in _PASSED_ON and not _proxies(block, name, facts):
        return ""
    if name.endswith("_param") and block.tables:
        return ""
    # The rule upstream_keepalive covers the Connection header.
    own = {"connection", *(one.value.lower() for one in block.local(name))}
    outer = [one for one in block.parent.in_effect(name) if one.value.lower() not in own]
    lost: dict[str, list[str]] = {}
    for one in outer:
        lost.setdefault(f"{one.file}:{one.line}", []).append(one.value)
    return ", ".join(f"{', '.join(names)} ({place})" for place, names in lost.items())


def _leaves_its_folder(at: Statement | Block, block: Block, _facts: Facts) -> str:
    """Return a location's name if a path that begins with it and continues with ".." leaves its alias's folder."""
    location = Location.of(block) if block.name == "location" and block.args else None
    is_open = location is not None and location.kind in _BY_PREFIX and not location.name.endswith("/")
    if block.local("internal"):
        return ""
    return block.args[-1] if is_open and "".join(at.args).endswith("/") else ""


def _takes_any_path(at: Statement | Block, block: Block, _facts: Facts) -> bool:
    """Tell whether paths here may contain line breaks: no exact location, regex or ``if`` rules them out."""
    location = block.around("location")
    if at.name == "rewrite" and _WHOLE_LINE.fullmatch(at.args[0]):
        return False
    if any(level.name == "if" and "uri" in level.args[0] for level in block.within() if level.args):
        return False
    return location is None or Location.of(location).kind not in {Kind.EXACT, *REGEXES}


def _lacks_named_location(at: Statement | Block, block: Block, _facts: Facts) -> str:
    """Return the named location to which a directive sends requests, if its server lacks it; empty for none."""
    server, name = block.around("server"), "".join(at.args[-1:])
    if server is None or block.lacks_includes or not name.startswith("@") or "$" in name:
        return ""
    return "" if named(server, as_bytes_read(name)) is not None else name


def _is_second_host(at: Statement | Block, block: Block, _facts: Facts) -> bool:
    hosts = [one for one in block.local(at.name) if one.value.lower() == "host" and one.args[1:] != ("",)]
    return at in hosts[1:2]


def _sets_inheritance(block: Block) -> bool:
    said = block.setting("add_header_inherit")
    return said is not None and said.value in {"merge", "off"}


def _proxies(block: Block, name: str, facts: Facts) -> bool:
    """Tell whether a block's list applies to requests proxied in it, or in an inner block without its own list."""
    for proxied in facts.proxied_in(block):
        if proxied.target.kind == _PASSED_ON[name]:
            levels = list(proxied.target.block.within())
            inner = levels[: levels.index(block)]
            if not any(level.local(name) for level in inner):
                return True
    return False


def _captures_after_arguments(at: Statement | Block, block: Block, _facts: Facts) -> bool:
    """Tell whether a rewrite adds arguments and continues, and a later ``set`` or ``if`` uses an unnamed capture."""
    if len(at.args) != 2 or "?" not in at.args[1][:-1] or at.args[1].startswith(_ABSOLUTE):  # noqa: PLR2004 - no flag
        return False
    later = [one for one, _ in block.everything() if _is_behind(one, at) and one.name == "set"]
    tests = [inner for inner in block.blocks if inner.name == "if" and _is_behind(inner, at)]
    texts = [*(" ".join(one.args[1:]) for one in later), *(" ".join(inner.args) for inner in tests)]
    return any(map(_CAPTURE.search, texts))


def _is_behind(one: Statement | Block, other: Statement | Block) -> bool:
    if one.file != other.file or one.span is None or other.span is None:
        return one.file != other.file
    return one.span.start > other.span.start


def _nested_captures(at: Statement | Block, _block: Block, _facts: Facts) -> bool:
    """Tell whether a rewrite has nested captures, both used in arguments or a redirect."""
    if len(at.args) < 2 or len(set(_CAPTURE.findall(at.args[1]))) < 2:  # noqa: PLR2004 - regex, replacement; two groups
        return False
    is_escaped = "?" in at.args[1] or {"redirect", "permanent"} & set(at.args) or at.args[1].startswith(_ABSOLUTE)
    if re.search(r"\$[a-z_{]", at.args[1], re.IGNORECASE) or not is_escaped:
        return False
    depth = 0
    for character in _NAMED_OR_NONE.sub("", at.args[0]):
        depth += (character == "(") - (character == ")")
        if depth > 1:
            return True
    return False


def _never_matches(at: Statement | Block, _block: Block, facts: Facts) -> str:
    """Return what takes all paths of a location, in words; empty if the location gets some of them."""
    server = at.parent if isinstance(at, Block) else None
    is_named = "".join(at.args[:1]).startswith("@")
    if server is not None and server.name == "server" and not is_named and _returns_at_once(at, server, facts):
        said = server.local("return")[0]
        return (
            f"the server answers all of them with return ({said.file}:{said.line}), before nginx looks for a location"
        )
    one = facts.unreachable.get(id(at))
    if one is None:
        return ""
    return f"all its paths go to location {' '.join(one.by.args)} ({one.by.file}:{one.by.line}): {one.why}"


def _never_chosen(at: Statement | Block, _block: Block, facts: Facts) -> str:
    """Return the server that gets all requests meant for this one, in words; empty if this one gets some."""
    if facts.configuration.is_fragment:
        return ""
    rival = facts.rivals.get(id(at))
    return f"the server at {rival.file}:{rival.line}" if rival is not None else ""


def _returns_at_once(_at: Statement | Block, block: Block, _facts: Facts) -> bool:
    """Tell whether a ``return`` next to a directive ends every request to the block."""
    # An earlier rewrite or break, even in an if, may skip the return.
    ways_out = block.local("rewrite") or block.local("break") or any(inner.name == "if" for inner in block.blocks)
    return bool(block.local("return")) and not ways_out and not block.lacks_includes


def _limits_nothing(at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether a ``return`` ends every request before a limit counts it.

    Inner locations inherit the limit, not the return. Error pages of a server's return may lead to named locations.
    """
    inner = [one for one in block.all("location") if block.name == "location" or "".join(one.args).startswith("@")]
    return _returns_at_once(at, block, facts) and not inner


def _loses_a_name(at: Statement | Block, _block: Block, facts: Facts) -> str:
    """Return the name of a server that an earlier server gets, in words; empty for none, or if it gets all of them."""
    if facts.configuration.is_fragment or id(at) in facts.rivals or id(at) not in facts.ignored_names:
        return ""
    name, earlier = facts.ignored_names[id(at)]
    return f"{name} go to the server at {earlier.file}:{earlier.line}"


def _answers_https(at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether a ``return`` ends every request that a server or location gets on port 443 over TLS."""
    server = block.around("server")
    is_reached = block is server or (
        server is not None and not server.local("rewrite") and not any(inner.name == "if" for inner in server.blocks)
    )
    if server is None or not is_reached or block.name == "if" or "".join(block.args[:1]).startswith("@"):
        return False
    sockets = facts.sockets.of(server)
    is_tls = any(one.address.port == HTTPS_PORT and "ssl" in one.protocols for one in sockets)
    return is_tls and _returns_at_once(at, block, facts)


def _replaces_types(at: Statement | Block, _block: Block, _facts: Facts) -> str:
    """Return the place of the outer types that those of a server replace; empty if they repeat the type of CSS."""
    server = at.parent if isinstance(at, Block) else None
    if server is None or server.name != "server" or server.parent is None or server.lacks_includes:
        return ""
    outer, inner = ([one for one in level.blocks if one.name == "types"] for level in (server.parent, server))
    is_lost = _names_css(outer) and any(one.own for one in inner) and not _names_css(inner)
    return f"{outer[0].file}:{outer[0].line}" if is_lost and inner[0] is at else ""


def _names_css(types: Iterable[Block]) -> bool:
    return any(_CSS in said.args for one in types for said in one.own)


def _leaves_bodies(_at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether no application gets the name of a request body's file: one that does may remove the file."""
    return not any("request_body_file" in text for text in facts.configuration.texts.values())


def _denies_nobody(at: Statement | Block, block: Block, _facts: Facts) -> str:
    """Return the block with an ``allow`` but no ``deny``, in words; empty if it has "allow all" or "satisfy any".

    A list replaces the outer ones (ngx_http_access_merge_loc_conf); with "satisfy any", other clients need a password.
    """
    own = [one for one in block.own if one.name in {"allow", "deny"}]
    satisfy = block.setting("satisfy")
    is_meant = any(one.name == "deny" or one.value == "all" for one in own) or (satisfy and satisfy.value == "any")
    if own[:1] != [at] or is_meant or block.lacks_includes:
        return ""
    outer = block.parent.in_effect("deny") if block.parent is not None else []
    return f"this block, which does not inherit the deny at {outer[0].file}:{outer[0].line}" if outer else "this block"


def _reads_forwarded_recursively(at: Statement | Block, block: Block, _facts: Facts) -> bool:
    """Tell whether X-Forwarded-For is read recursively in some block in which a directive is in effect."""
    under = (one for one in _handling(at, block) if one.is_on("real_ip_recursive"))
    return any(_header_of_address(one).lower() == _FORWARDED for one in under)


def _reads_one_address(at: Statement | Block, block: Block, _facts: Facts) -> str:
    """Return a header with one address that is read where a directive applies; empty for none."""
    headers = map(_header_of_address, _handling(at, block) if not block.hides("real_ip_header") else ())
    return next((header for header in headers if header.lower() not in {_FORWARDED, "proxy_protocol"}), "")


def _handling(at: Statement | Block, block: Block) -> Iterator[Block]:
    """Yield the servers and locations in which a directive is in effect; its own block if that contains neither."""
    handling = [one for one in (block, *block.below()) if one.name in {"server", "location"}] or [block]
    return (one for one in handling if at in one.in_effect(at.name))


def _header_of_address(block: Block) -> str:
    said = block.setting("real_ip_header")
    return said.value if said is not None else "X-Real-IP"


WHERE: Final[Mapping[str, Callable[[Statement | Block, Block, Facts], str | bool]]] = {
    "outer lines are lost": _lost,
    "captures after arguments": _captures_after_arguments,
    "nested captures": _nested_captures,
    "leaves its folder": _leaves_its_folder,
    "any path": _takes_any_path,
    "no such named location": _lacks_named_location,
    "second Host": _is_second_host,
    "never matches": _never_matches,
    "never chosen": _never_chosen,
    "returns at once": _limits_nothing,
    "loses a name": _loses_a_name,
    "answers HTTPS": _answers_https,
    "replaces outer types": _replaces_types,
    "leaves bodies": _leaves_bodies,
    "denies nobody": _denies_nobody,
    "reads X-Forwarded-For recursively": _reads_forwarded_recursively,
    "reads a header with one address": _reads_one_address,
}
