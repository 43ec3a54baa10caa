"""nginx's error message about a variable that nothing defines, for example because its map is missing."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Final

from tuneproof.conf.modules import unpackaged, used_modules
from tuneproof.conf.statements import TABLES, Problem, Statement
from tuneproof.conf.tree import Block, Configuration
from tuneproof.conf.variables import defined, variables

# The arguments in which each directive accepts variables. Regular expressions contain "$" as well.
_TAKING: Final = {
    **dict.fromkeys(("log_format", "set", "auth_request_set"), slice(1, None)),
    "rewrite": slice(1, 2),
    **dict.fromkeys(("limit_req_zone", "limit_conn_zone", "hash", "if"), slice(0, 1)),
    **dict.fromkeys(("map", "split_clients"), slice(0, -1)),
    **dict.fromkeys(("return", "try_files", "access_log", "add_header", "root", "alias"), slice(None)),
    **dict.fromkeys(("auth_basic", "expires", "error_page", "sub_filter"), slice(None)),
    **dict.fromkeys((f"{kind}_set_header" for kind in ("proxy", "grpc")), slice(None)),
    **{
        f"{kind}_{name}": slice(None)
        for kind in ("proxy", "fastcgi", "scgi", "uwsgi")
        for name in ("pass", "param", "cache_key", "cache_bypass", "no_cache")
    },
}
# Modules that define no variables, or only in these ways.
_PLAIN: Final = frozenset({"stream", "mail", "http_geoip", "stream_geoip", "http_image_filter", "http_xslt_filter"})


def unknown_variables(configuration: Configuration) -> Iterator[Problem]:
    """Yield the first use of each variable that nginx does not know, if files are complete, without other modules."""
    is_plain = all(one.module.name in _PLAIN for one in used_modules(configuration))
    if not configuration.is_whole or not is_plain or next(unpackaged(configuration), ""):
        return
    main = configuration.main
    own, seen = defined(main), set()
    everything: list[tuple[Statement | Block, Sequence[str]]] = [(block, block.path) for block in main.below()]
    everything += [(said, block.path) for said, block in main.everything()]
    for said, path in everything:
        kind = "".join(path[:1])
        for name in (one for arg in said.args[_taking(said, path)] for one in variables(arg)):
            is_known = name[:1].isdigit() or name in own or _is_known(kind, name)
            if not is_known and (kind, name) not in seen and all(one.is_given for one in said.filled):
                seen.add((kind, name))
                yield Problem(file=said.file, line=said.line, message=f'unknown "{name}" variable')


def _taking(said: Statement | Block, path: Sequence[str]) -> slice:
    if TABLES & set(path[:-1] if isinstance(said, Block) else path):
        return slice(None) if path[-1] == "map" else slice(0)
    return _TAKING.get(said.name, slice(0))


def _is_known(kind: str, name: str) -> bool:
    names = _known(kind)
    return not names or name in names or any(name.startswith(one) for one in names if one.endswith("_"))


@cache
def _known(kind: str) -> frozenset[str]:
    """Return nginx's own variables in http{} or stream{}; a name that ends with "_" is a prefix."""
    lines = resources.files(__package__).joinpath("variables.tsv").read_text(encoding="utf-8").splitlines()
    return frozenset(name for line in lines for at, _, name in [line.partition("\t")] if at == kind)
