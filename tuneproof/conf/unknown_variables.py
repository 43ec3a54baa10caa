"""nginx's error messages about variables that nothing defines, that only nginx may define, or that are misspelt."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Final

from tuneproof.conf.directives import rows_of
from tuneproof.conf.modules import unpackaged, used_modules
from tuneproof.conf.statements import TABLES, Problem, Statement
from tuneproof.conf.tree import Block, Configuration, is_given, problem_at
from tuneproof.conf.variables import definitions, variables

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
_DOLLAR: Final = re.compile(r"\$(?:\{(?!\Z)(?P<open>\w*)(?P<end>\}?)|(?P<plain>\w*))", re.ASCII)
_OF_GROUPS: Final = frozenset("123456789")
_NO_NAME: Final = "invalid variable name"
# Modules that define no variables, or only those in variables.tsv.
_PLAIN: Final = frozenset({"stream", "mail", "http_geoip", "stream_geoip", "http_image_filter", "http_xslt_filter"})
# nginx's own variables in every build, without NGX_HTTP_VAR_CHANGEABLE.
_FIXED: Final = frozenset(
    {
        *("binary_remote_addr", "body_bytes_sent", "bytes_sent", "connection", "connection_requests", "content_length"),
        *("content_type", "document_root", "document_uri", "host", "hostname", "http_cookie", "http_host"),
        *("http_referer", "http_user_agent", "http_via", "http_x_forwarded_for", "https", "is_args", "msec"),
        *("nginx_version", "pid", "pipe", "proxy_protocol_addr", "proxy_protocol_port", "query_string"),
        *("realpath_root", "remote_addr", "remote_port", "remote_user", "request", "request_body"),
        *("request_body_file", "request_completion", "request_filename", "request_id", "request_length"),
        *("request_method", "request_time", "request_uri", "scheme", "sent_http_cache_control", "sent_http_location"),
        *("sent_http_content_length", "sent_http_content_type", "server_addr", "server_name", "server_port"),
        *("server_protocol", "status", "time_iso8601", "time_local", "upstream_addr", "upstream_response_time"),
        *("upstream_status", "uri"),
    }
)


def fixed_variables(main: Block) -> Iterator[Problem]:
    """Yield each definition in http{} of a variable that only nginx itself may define (ngx_http_add_variable)."""
    for http in main.blocks:
        for said, name in definitions(http) if http.name == "http" else ():
            if name in _FIXED and is_given(said):
                yield problem_at(said, f'the duplicate "{name}" variable')


def unknown_variables(configuration: Configuration) -> Iterator[Problem]:
    """Yield the first use of each unknown variable, if no file is missing and no other modules are used."""
    is_plain = all(one.module.name in _PLAIN for one in used_modules(configuration))
    if not configuration.is_whole or not is_plain or next(unpackaged(configuration), ""):
        return
    main = configuration.main
    own, seen = {name for _, name in definitions(main)}, set()
    everything: list[tuple[Statement | Block, Sequence[str]]] = [(block, block.path) for block in main.below()]
    everything += [(said, block.path) for said, block in main.everything()]
    for said, path in everything:
        kind = "".join(path[:1])
        for name in (one for arg in said.args[_taking(said, path)] for one in variables(arg)):
            is_known = name[:1] in _OF_GROUPS or name in own or _is_known(kind, name)
            if not is_known and (kind, name) not in seen and is_given(said):
                seen.add((kind, name))
                yield problem_at(said, f'unknown "{name}" variable')


def misspelt_variables(level: Block) -> Iterator[Problem]:
    """Yield each directive's first error about a "$" without a name, or a name without its closing brace."""
    everything: list[tuple[Statement | Block, Sequence[str]]] = [(block, block.path) for block in level.below()]
    everything += [(said, block.path) for said, block in level.everything()]
    for said, path in everything:
        # In a condition, nginx takes braces for a part of the name.
        if said.name == "if" or not is_given(said) or not all(rows_of(name) for name in path[:-1]):
            continue
        message = next(filter(None, map(_misspelling, said.args[_taking(said, path)])), "")
        if message and (said.name != "log_format" or message != _NO_NAME):
            yield problem_at(said, message)


def _misspelling(text: str) -> str:
    for found in _DOLLAR.finditer(text):
        if found["open"] is not None and not found["end"]:
            return f'the closing bracket in "{found["open"]}" variable is missing'
        if not (found["open"] or found["plain"]):
            return _NO_NAME
    return ""


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
