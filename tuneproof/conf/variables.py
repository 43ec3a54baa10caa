"""The possible values of a string with variables, as far as the configuration shows: set, map, split_clients, geo."""

import itertools
import re
from collections.abc import Iterator
from typing import Final

from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block

_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
_GROUP: Final = re.compile(r"\(\?P?[<'](\w+)[>']")
# Directives that define a variable: blocks name it in their last argument, others in their first.
_DEFINING: Final = frozenset({"set", "map", "geo", "split_clients", "auth_request_set", "js_set", "js_var", "perl_set"})
_TABLES: Final = ("map", "split_clients", "geo")
# Parameters of map and geo, which are not values: https://nginx.org/en/docs/http/ngx_http_map_module.html
_PARAMETERS: Final = frozenset({"hostnames", "volatile", "include", "delete", "proxy", "proxy_recursive", "ranges"})
_OTHERWISE: Final = {"map": "default", "geo": "default", "split_clients": "*"}
_FLAGS: Final = frozenset({"break", "redirect", "permanent"})
_SETTER: Final = re.compile(r"\w+_set|set_\w+")
# nginx runs the directives of these phases before it proxies a request.
_BY_LUA: Final = re.compile(r"(?:server_)?rewrite_by_lua|access_by_lua")
_MAX_VALUES: Final = 64
_MAX_DEPTH: Final = 8


def variables(text: str) -> list[str]:
    """Return the names of the variables in a string, in lower case, as nginx compares them."""
    return [(match[0] or match[1]).lower() for match in _VARIABLE.findall(text)]


def definitions(main: Block) -> Iterator[tuple[Statement | Block, str]]:
    """Yield each directive that defines a variable for any protocol, with the variable's name in lower case."""
    everything: list[Statement | Block] = [*main.below(), *(said for said, _ in main.everything())]
    for said in everything:
        if said.name in _DEFINING and said.args:
            yield said, said.args[-isinstance(said, Block)].lower().removeprefix("$")
        # The keys of a map may be regular expressions.
        for word in (said.name, *said.args):
            yield from ((said, group.lower()) for group in _GROUP.findall(word))


def pattern_of(text: str) -> re.Pattern[str]:
    """Return a pattern that matches all possible values of a string, in any letter case."""
    literal = [re.escape(part) for part in _VARIABLE.sub("\0", text).split("\0")]
    return re.compile(".*".join(literal), re.IGNORECASE)


def table_of(name: str, block: Block) -> Block | None:
    """Return the map, split_clients or geo that defines a variable; None if none does."""
    outermost = list(block.within())[-1]
    tables = (table for kind in _TABLES for table in outermost.all(kind) if table.args)
    return next((table for table in tables if table.args[-1].lower() == f"${name}"), None)


def possible_values(text: str, block: Block, *, depth: int = 0) -> frozenset[str] | None:
    """Return all possible values of a string; None if they depend on requests or a missing file, or are too many."""
    names = variables(text)
    if not names:
        return frozenset({text})
    if depth > _MAX_DEPTH:
        return None
    choices: list[frozenset[str]] = []
    for name in dict.fromkeys(names):
        values = _values_of(name, block, depth=depth + 1)
        if values is None:
            return None
        choices.append(values)
    if len(list(itertools.islice(itertools.product(*choices), _MAX_VALUES + 1))) > _MAX_VALUES:
        return None
    order = list(dict.fromkeys(names))
    return frozenset(_filled(text, dict(zip(order, chosen, strict=True))) for chosen in itertools.product(*choices))


def _filled(text: str, values: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda match: values[(match[1] or match[2]).lower()], text)


def _values_of(name: str, block: Block, *, depth: int) -> frozenset[str] | None:
    written = [statement.args[1] for statement in _sets(name, block) if len(statement.args) > 1]
    if written and _is_set_otherwise(name, block):
        return None
    if (table := table_of(name, block)) is not None:
        written += entries(table).values()
        if table.unseen:
            return None
        if _OTHERWISE[table.name] not in entries(table):
            written.append("")
    if not written:
        return None
    found = [possible_values(value, block, depth=depth) for value in written]
    known = [values for values in found if values is not None]
    return frozenset().union(*known) if len(known) == len(found) else None


def _sets(name: str, block: Block) -> Iterator[Statement]:
    """Yield each ``set`` of a variable that nginx may run before a request reaches this place."""
    for around in block.within():
        inner = [around, *around.all("if")] if around.name in {"server", "location", "if"} else [around]
        for place in inner:
            yield from _local_sets(name, place)
    server = block.around("server")
    if server is None or any(_local_sets(name, around) for around in block.within() if around.name == "location"):
        return
    for location in server.all("location"):
        if _leads_on(location):
            yield from _local_sets(name, location)


def _local_sets(name: str, block: Block) -> list[Statement]:
    return [said for said in block.local("set") if said.value.lower() == f"${name}"]


def _leads_on(location: Block) -> bool:
    """Tell whether a request may continue in another location, in which variables keep the values set in this one."""
    rewrites = (said for said in location.local("rewrite") if _FLAGS.isdisjoint(said.args))
    return any(rewrites) or bool(location.local("try_files") or location.local("error_page"))


def _is_set_otherwise(name: str, block: Block) -> bool:
    """Tell whether something other than ``set`` may set a variable: Lua, another module, or a group in a regex."""
    for around in block.within():
        made: list[Statement | Block] = [*around.own, *around.blocks]
        if any(_BY_LUA.match(one.name) for one in made):
            return True
        if any(_SETTER.fullmatch(one.name) and "".join(one.args[:1]).lower() == f"${name}" for one in made):
            return True
        if any(f"<{name}>" in arg for one in (around, *made) for arg in one.args):
            return True
    return False


def entries(table: Block) -> dict[str, str]:
    """Return the values of a map, split_clients or geo by their keys."""
    return {
        statement.name: statement.value
        for statement in table.own
        if statement.name not in _PARAMETERS and statement.args
    }
