"""The forms of arguments: finds individual words that all known versions of nginx refuse, with nginx's messages.

Each row was checked against the module's function. Most words with variables are not checked, and forms that only other
products have are accepted as well.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tuneproof.conf.directives import VALUES, argument_problem
from tuneproof.conf.statements import TABLES, Problem, Statement
from tuneproof.conf.tree import Block, is_given, problem_at
from tuneproof.conf.values import ipv4_number, is_address

_VALUE: Final = 'invalid value "{}"'
_PARAMETER: Final = 'invalid parameter "{}"'
_VARIABLE: Final = 'invalid variable name "{}"'
_SIZE: Final = r"\d+[kKmM]?"
_TIME: Final = VALUES["sec"].pattern
_MILLISECONDS: Final = VALUES["msec"].pattern
_NUMBER: Final = r"0*[1-9]\d*"
_PORT: Final = r"0*(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])"
_TRIED: Final = "error|timeout|invalid_header|non_idempotent|updating|off|http_(?:403|404|429|500|503)"
_STALE: Final = "error|timeout|invalid_header|updating|off|http_(?:403|404|429|500|503)"
_OWN_HEADERS: Final = "X-Accel-(?:Redirect|Expires|Limit-Rate|Buffering|Charset)|Expires|Cache-Control|Set-Cookie|Vary"
CACHE_PATHS: Final = "proxy_cache_path fastcgi_cache_path uwsgi_cache_path scgi_cache_path"
# Only nginx Plus has the parameters of the purger.
_CACHE_PARAMETERS: Final = (
    "levels|use_temp_path|keys_zone|inactive|max_size|min_free|(?:loader|manager)_(?:files|sleep|threshold)"
    "|purger(?:_files|_sleep|_threshold)?"
)
_BINDING: Final = "proxy_bind fastcgi_bind uwsgi_bind scgi_bind grpc_bind memcached_bind"
_HOST: Final = r"unix:.*|[^/?]*"
_STORES: Final = "dav_access proxy_store_access fastcgi_store_access uwsgi_store_access scgi_store_access"
_BOTH: Final = "http stream"
_ALL: Final = "http stream mail"
_FIRST: Final = slice(0, 1)
_LATER: Final = slice(1, None)


@dataclass(frozen=True, kw_only=True)
class _Form:
    names: str  # the directives, separated by spaces
    words: str  # a regular expression that an accepted word matches
    message: str = _VALUE
    place: slice | None = None  # its place among the arguments; None for any
    of: str = ""  # a regular expression: the row is only about words whose beginning matches
    protocols: str = "http"  # the blocks with its directives: http, stream or mail, separated by spaces


_FORMS: Final = (
    _Form(
        names="ssl_protocols proxy_ssl_protocols grpc_ssl_protocols uwsgi_ssl_protocols",
        words=r"SSLv[23]|TLSv1(?:\.[123])?",
        protocols=_ALL,
    ),
    _Form(names="ssl_verify_client", words="on|off|optional|optional_no_ca", protocols=_ALL),
    # Angie also has version 3.
    _Form(names="proxy_http_version", words=r"1\.[01]|[23]"),
    _Form(names="gzip_http_version", words=r"1\.[01]"),
    _Form(names="gzip_comp_level", words="0*[1-9]", message="value must be between 1 and 9"),
    _Form(
        names="gzip_window",
        words="0*(?:512|1024|2048|4096|8192|16384|32768|(?:1|2|4|8|16|32)[kK])",
        message='"gzip_window" directive must be 512, 1k, 2k, 4k, 8k, 16k, or 32k',
    ),
    _Form(
        names="gzip_hash",
        words="0*(?:512|1024|2048|4096|8192|16384|32768|65536|131072|(?:1|2|4|8|16|32|64|128)[kK])",
        message='"gzip_hash" directive must be 512, 1k, 2k, 4k, 8k, 16k, 32k, 64k, or 128k',
    ),
    _Form(names="gzip_proxied", words="off|expired|no-cache|no-store|private|no_last_modified|no_etag|auth|any"),
    _Form(names="proxy_next_upstream grpc_next_upstream", words=f"{_TRIED}|http_50[24]"),
    _Form(names="fastcgi_next_upstream uwsgi_next_upstream scgi_next_upstream", words=_TRIED),
    _Form(names="memcached_next_upstream", words="error|timeout|invalid_response|not_found|off"),
    _Form(names="lingering_close", words="on|off|always"),
    _Form(names="add_header_inherit add_trailer_inherit", words="on|off|merge"),
    _Form(names="ssl_ocsp", words="on|off|leaf"),
    _Form(names="debug_points", words="stop|abort"),
    _Form(names="satisfy", words="all|any"),
    _Form(names="autoindex_format", words="html|xml|jsonp?"),
    _Form(names="return", words=r"\d{1,3}|(?:https?://|\$scheme).*", message='invalid return code "{}"', place=_FIRST),
    _Form(names="error_page", words=r"\d+|=.*", place=slice(0, -1)),
    _Form(names="error_page", words="(?!0*499$).*", place=slice(0, -1)),
    _Form(names="error_page", words=r"=\d*", place=slice(0, -1), of="="),
    _Form(
        names="error_page",
        words=r"0*[345]\d\d",
        message='value "{}" must be between 300 and 599',
        place=slice(0, -1),
        of=r"\d",
    ),
    _Form(
        names="proxy_cache_valid fastcgi_cache_valid uwsgi_cache_valid scgi_cache_valid",
        words=r"any|0*[1-9]\d\d",
        message='invalid status "{}"',
        place=slice(0, -1),
    ),
    _Form(
        names="proxy_cache_valid fastcgi_cache_valid uwsgi_cache_valid scgi_cache_valid",
        words=_TIME,
        message='invalid time value "{}"',
        place=slice(-1, None),
    ),
    _Form(names="limit_req_zone", words=rf"rate={_NUMBER}(?:r/[sm])?", message='invalid rate "{}"', of="rate="),
    _Form(names="limit_req_zone", words="(?:zone|rate)=.*|sync", message=_PARAMETER, place=_LATER),
    _Form(names="limit_conn_zone", words="zone=.*|sync", message=_PARAMETER, place=_LATER, protocols=_BOTH),
    _Form(
        names="limit_req_zone limit_conn_zone",
        words=f"zone=[^:]+:{_SIZE}",
        message='invalid zone size "{}"',
        of="zone=",
        protocols=_BOTH,
    ),
    _Form(names="limit_req", words=f"burst={_NUMBER}", message='invalid burst value "{}"', of="burst="),
    _Form(names="limit_req", words=f"delay={_NUMBER}", message='invalid delay value "{}"', of="delay="),
    # Only Tengine has forbid_action.
    _Form(names="limit_req", words="(?:zone|burst|delay|forbid_action)=.*|nodelay", message=_PARAMETER),
    _Form(names="hash", words="consistent", message=_PARAMETER, place=_LATER, protocols=_BOTH),
    _Form(names=_BINDING, words="transparent", message=_PARAMETER, place=_LATER, protocols=_BOTH),
    _Form(
        names="log_format",
        words="escape=(?:default|json|none)",
        message='unknown log format escaping "{value}"',
        place=slice(1, 2),
        of="escape=",
        protocols=_BOTH,
    ),
    _Form(names="try_files", words=r"(?!=).*|=0*\d{1,3}", message='invalid code "{}"', place=slice(-1, None)),
    _Form(names="sub_filter", words=".+", message="empty search pattern", place=_FIRST),
    _Form(names="random", words="two", message=_PARAMETER, place=_FIRST, protocols=_BOTH),
    _Form(names="zone", words=_SIZE, message='invalid zone size "{}"', place=_LATER, protocols=_BOTH),
    _Form(names="aio", words="on|off|threads(?:=.+)?", message='"aio" directive invalid value'),
    _Form(names="directio", words=r"off|\d+[kKmMgG]?", message='"directio" directive invalid value'),
    _Form(names="client_body_in_file_only", words="on|off|clean"),
    _Form(names="if_modified_since", words="off|exact|before"),
    _Form(names="keepalive_disable", words="none|msie6|safari"),
    _Form(names="limit_req_status limit_conn_status", words=r"0*[45]\d\d", message="value must be between 400 and 599"),
    _Form(
        names="limit_conn",
        words=_NUMBER,
        message='invalid number of connections "{}"',
        place=_LATER,
        protocols=_BOTH,
    ),
    _Form(
        names="limit_conn",
        words=_PORT,
        message="connection limit must be less 65536",
        place=_LATER,
        protocols=_BOTH,
    ),
    _Form(names=CACHE_PATHS, words=f"(?:{_CACHE_PARAMETERS})=.*", message=_PARAMETER, place=_LATER),
    *(
        _Form(names=CACHE_PATHS, words=f"{name}={form}", message=f'invalid {shown} "{{}}"', of=f"{name}=")
        for name, form, shown in (
            # Only Angie has file=.
            ("keys_zone", f"[^:]+:{_SIZE}(?::file=.*)?", "keys zone size"),
            ("levels", "[12](?::[12]){0,2}", '"levels"'),
            ("max_size", r"\d+[kKmMgG]?", "max_size value"),
            ("min_free", r"\d+[kKmMgG]?", "min_free value"),
            ("inactive", _TIME, "inactive value"),
            *(
                (f"{kind}_{what}", form, f"{kind}_{what} value")
                for kind in ("loader", "manager")
                for what, form in (("files", r"\d+"), ("sleep", _MILLISECONDS), ("threshold", _MILLISECONDS))
            ),
            ("use_temp_path", "(?:on|off)", "use_temp_path value"),
        )
    ),
    _Form(names="proxy_cache_use_stale", words=f"{_STALE}|http_50[24]"),
    _Form(names="fastcgi_cache_use_stale uwsgi_cache_use_stale scgi_cache_use_stale", words=_STALE),
    _Form(
        names="proxy_cache_methods fastcgi_cache_methods uwsgi_cache_methods scgi_cache_methods", words="GET|HEAD|POST"
    ),
    _Form(
        names=(
            "proxy_ignore_headers fastcgi_ignore_headers uwsgi_ignore_headers scgi_ignore_headers grpc_ignore_headers"
        ),
        words=_OWN_HEADERS,
    ),
    _Form(names="limit_req_log_level limit_conn_log_level", words="info|notice|warn|error", protocols=_BOTH),
    _Form(names="limit_rate limit_rate_after", words=_SIZE, message='"{name}" directive invalid value'),
    _Form(
        names="access_log",
        # Only Tengine has ratio.
        words="(?:buffer|flush|gzip|if|ratio)=.*|gzip",
        message=_PARAMETER,
        place=slice(2, None),
        protocols=_BOTH,
    ),
    *(
        _Form(
            names="access_log",
            words=f"{name}={form}",
            message=message,
            place=slice(2, None),
            of=f"{name}=",
            protocols=_BOTH,
        )
        for name, form, message in (
            ("buffer", rf"{_NUMBER}[kKmM]?", 'invalid buffer size "{value}"'),
            ("flush", f"(?=.*[1-9]){_MILLISECONDS}", 'invalid flush time "{value}"'),
            ("gzip", "0*[1-9]", 'invalid compression level "{value}"'),
        )
    ),
    _Form(
        names="ssl_session_cache",
        words=rf"off|none|builtin(?::\d+)?|shared:[^:]+:{_SIZE}",
        message='invalid session cache "{}"',
        protocols=_ALL,
    ),
    _Form(
        names="error_log",
        # freenginx also has rate=, Angie filter= and format=, and nginx Plus json.
        words=(
            "debug(?:_(?:core|alloc|mutex|event|http|mail|stream))?|info|notice|warn|error|crit|alert|emerg"
            "|(?:rate|filter|format)=.*|json"
        ),
        message='invalid log level "{}"',
        place=_LATER,
        protocols=_ALL,
    ),
    _Form(names="add_header add_trailer", words="always", message=_PARAMETER, place=slice(2, None)),
    _Form(names="fastcgi_param uwsgi_param scgi_param", words="if_not_empty", message=_PARAMETER, place=slice(2, None)),
    _Form(names="rewrite", words="last|break|redirect|permanent", message=_PARAMETER, place=slice(2, None)),
    _Form(names="set", words=r"\$.+", message=_VARIABLE, place=_FIRST, protocols=_BOTH),
    _Form(names="map split_clients", words=r"\$.+", message=_VARIABLE, place=slice(1, 2), protocols=_BOTH),
    _Form(names="geo", words=r"\$.+", message=_VARIABLE, protocols=_BOTH),
    _Form(
        names="open_file_cache open_log_file_cache",
        words=rf"off|(?:max|min_uses)={_NUMBER}|(?:inactive|valid)={_TIME}",
        message='invalid "{name}" parameter "{}"',
    ),
    _Form(
        names="limit_except",
        words="(?i:get|head|post|put|delete|mkcol|copy|move|options|propfind|proppatch|lock|unlock|patch)",
        message='invalid method "{}"',
    ),
    _Form(names="dav_methods", words="off|PUT|DELETE|MKCOL|COPY|MOVE"),
    _Form(names="use", words="epoll|poll|select|kqueue|eventport|/dev/poll|devpoll", message='invalid event type "{}"'),
    _Form(names="fastcgi_pass", words=_HOST, message='invalid host in upstream "{}"', place=_FIRST),
    _Form(
        names="grpc_pass uwsgi_pass scgi_pass memcached_pass",
        words="(?!)",
        message='invalid host in upstream "{}"',
        of="https?://",
    ),
    _Form(names="server", words=_HOST, message='invalid host in upstream "{}"', place=_FIRST, protocols=_BOTH),
    _Form(names="proxy_pass", words=_HOST, message='invalid host in upstream "{}"', place=_FIRST, protocols="stream"),
    _Form(
        names="server",
        words=f"[^:]*:{_PORT}",
        message='invalid port in upstream "{}"',
        place=_FIRST,
        of=r"(?!unix:)[\w.-]+:",
        protocols=_BOTH,
    ),
    _Form(
        names="expires",
        words=rf"off|epoch|max|[-+@]?{_TIME}",
        message='"expires" directive invalid value',
        place=slice(-1, None),
    ),
    _Form(names="expires", words="modified", message='"expires" directive invalid value', place=slice(0, -1)),
    _Form(names="disable_symlinks", words="off|on|if_not_owner|from=.+", message=_PARAMETER),
    _Form(names="keepalive_timeout", words=_MILLISECONDS, message='"keepalive_timeout" directive invalid value'),
    _Form(names="worker_connections", words=r"\d+", message='invalid number "{}"'),
    _Form(names="thread_pool", words=f"threads={_NUMBER}", message='invalid threads value "{}"', of="threads="),
    _Form(names="thread_pool", words=r"max_queue=\d+", message='invalid max_queue value "{}"', of="max_queue="),
    _Form(names="starttls", words="on|off|only", protocols="mail"),
    _Form(names="protocol", words="pop3|imap|smtp", message='unknown protocol "{}"', protocols="mail"),
    _Form(names="worker_processes", words=r"auto|\d+", message='"worker_processes" directive invalid value'),
    _Form(names="gzip_static", words="on|off|always"),
    _Form(names="server_name", words=r"[^*.].*|\*\..+|\..+|", message='server name "{}" is invalid'),
    _Form(names="server_name", words="(?!~$).*", message='empty regex in server name "{}"'),
    _Form(names="resolver", words=f"valid={_TIME}", message="invalid parameter: {}", of="valid=", protocols=_ALL),
    _Form(names="resolver", words="ipv6=(?:on|off)", message="invalid parameter: {}", of="ipv6=", protocols=_ALL),
    _Form(
        names="resolver", words=r"unix:.*|\[.*|[^/?]*|conf=.*", message='invalid host in resolver "{}"', protocols=_ALL
    ),
    # An IPv6 address needs brackets.
    _Form(
        names="resolver",
        words=rf"unix:.*|[^:]*(?::{_PORT})?|\[[^]]*\](?::{_PORT})?",
        message='invalid port in resolver "{}"',
        of=r"\[[^]]*\]:|[^[]*:",
        protocols=_ALL,
    ),
    _Form(names="http2_chunk_size", words=".*[1-9].*", message="the http2 chunk size cannot be zero"),
    _Form(names=_STORES, words="(?:user|group|all):rw?"),
    _Form(names="userid", words="off|log|v1|on"),
    _Form(names="userid_flags", words="off|secure|httponly|samesite=(?:strict|lax|none)"),
    _Form(names="userid_expires", words=f"max|off|{_TIME}", message='"userid_expires" directive invalid value'),
    _Form(
        names="userid_mark",
        words="off|[A-Za-z0-9=]",
        message='"userid_mark" directive value must be "off" or a single letter, digit or "="',
    ),
)
_OF_NAME: Final[Mapping[tuple[str, str], Sequence[_Form]]] = {
    (protocol, name): [form for form in _FORMS if name in form.names.split() and protocol in form.protocols.split()]
    for protocol in _ALL.split()
    for name in " ".join(one.names for one in _FORMS if protocol in one.protocols.split()).split()
}
_NEEDED: Final = {
    **dict.fromkeys(CACHE_PATHS.split(), "keys_zone"),
    **dict.fromkeys(("limit_req_zone", "limit_conn_zone"), "zone"),
}
# The only arguments that need no second one.
_ALONE: Final[Mapping[str, Sequence[str]]] = {
    "proxy_redirect": ("off", "default"),
    "proxy_cookie_domain": ("off",),
    "proxy_cookie_path": ("off",),
    "proxy_cookie_flags": ("off",),
}
_WITH_MAX: Final = {"open_file_cache": 'the "max"', "open_log_file_cache": '"max"'}
# Lines of tables that are not entries: single words, and words with a value.
_PARAMETERS: Final[Mapping[str, tuple[Sequence[str], Sequence[str]]]] = {
    "map": (("hostnames", "volatile"), ("default", "include")),
    "geo": (("ranges", "proxy_recursive", "volatile"), ("default", "include", "delete", "proxy")),
}
_BEFORE_RANGES: Final = frozenset({"include", "proxy", "proxy_recursive", "volatile"})
_SHARE: Final = re.compile(r"(\d*)\.?(\d{1,2})?%", re.ASCII)
_ALL_HUNDREDTHS: Final = 100_00
_IPV4_BITS: Final = 32
_IPV6_BITS: Final = 128
# The protocol, by the outermost block. Blocks of other modules are not checked: names may mean something else there.
_PROTOCOLS: Final[Mapping[str, str]] = {"": "http", "events": "http", **{name: name for name in _ALL.split()}}


def wrong_forms(blocks: Iterable[Block]) -> Iterator[Problem]:
    """Yield the first wrong word of each directive in these blocks and in blocks inside them."""
    for block in blocks:
        protocol = _PROTOCOLS.get("".join(block.path[:1]))
        if TABLES & set(block.path) or protocol is None:
            continue
        said: Sequence[Statement | Block] = [*block.own, *(inner for inner in block.blocks if inner.name != "server")]
        for one in said:
            message = next(_messages(one, protocol), "") if is_given(one) else ""
            # nginx checks the number of arguments first, and reports only one error.
            if message and not _has_wrong_number(one):
                yield problem_at(one, message)
        yield from wrong_forms(block.blocks)


def table_problems(level: Block) -> Iterator[Problem]:
    """Yield the errors in http{} or stream{} about lines of map, geo and split_clients, and about equal keys of a map.

    Sources: ngx_http_map, ngx_http_geo, ngx_http_split_clients, and their siblings for stream{}.
    """
    for table in level.all("split_clients"):
        yield from _shares(table)
    for table in (one for name in _PARAMETERS for one in level.all(name)):
        kinds: set[str] = set()
        for said in table.own:
            is_known = is_given(said) and not said.name.startswith("${")
            message = _of_line(said, table, kinds) if is_known else ""
            if message:
                yield problem_at(said, message)
            kinds.add(said.name if said.name in {"ranges", *_BEFORE_RANGES} else "network")
        yield from _repeated_keys(table) if table.name == "map" else ()


def _shares(table: Block) -> Iterator[Problem]:
    total = 0
    for said in table.own:
        share = _SHARE.fullmatch(said.name)
        hundredths = int(share[1] + (share[2] or "").ljust(2, "0")) if share and (share[1] or share[2]) else 0
        if said.name != "*" and not hundredths:
            yield problem_at(said, f'invalid percent value "{said.name}"')
            return
        total = total + hundredths if hundredths else _ALL_HUNDREDTHS
        if total > _ALL_HUNDREDTHS:
            yield problem_at(table, "percent total is greater than 100%")
            return


def _of_line(said: Statement, table: Block, before: Container[str]) -> str:
    """Return the error about a line; ``before``: the kinds of the lines before it in its table."""
    alone, pairs = _PARAMETERS[table.name]
    if len(said.args) != 1 and not (said.name in alone and not said.args):
        return f"invalid number of the {table.name} parameters"
    if table.name != "geo" or said.name in {"default", "include"}:
        return ""
    if said.name == "ranges":
        message = 'the "ranges" directive must be the first directive inside "geo" block'
        return 'invalid network "ranges"' if said.args else message if "network" in before else ""
    if said.name in alone and not said.args:
        return ""
    word = said.value if said.name in pairs else said.name
    if "ranges" in before and said.name != "proxy":
        return "" if "$" in word or _is_range(word) else f'invalid range "{word}"'
    return "" if _is_network(word) and word not in {"all", "unix:"} else f'invalid network "{word}"'


def _repeated_keys(table: Block) -> Iterator[Problem]:
    """Yield the errors of ngx_hash_add_key."""
    seen: set[tuple[str, str]] = set()
    has_hosts = False
    for said in table.own:
        has_hosts = has_hosts or (said.name == "hostnames" and not said.args)
        if len(said.args) != 1 or said.name == "include" or said.name.startswith("~"):
            continue
        # A backslash distinguishes a key from a parameter.
        key = said.name.lower().removeprefix("\\")
        keys = {("default", key)} if said.name == "default" else _hosts(key) if has_hosts else {("", key)}
        if not keys:
            yield problem_at(said, f'invalid hostname or wildcard "{key}"')
        elif keys & seen:
            is_default = said.name == "default"
            message = "duplicate default map parameter" if is_default else f'conflicting parameter "{key}"'
            yield problem_at(said, message)
        seen |= keys


def _hosts(key: str) -> set[tuple[str, str]]:
    """Return the names that a key of a map with ``hostnames`` stands for, each with its wildcard; empty if invalid."""
    if ".." in key or key.count("*") > 1:
        return set()
    if key.startswith(".") and key != ".":
        return {("", key[1:]), ("*.", key[1:])}
    for wildcard, name in (("*.", key.removeprefix("*.")), (".*", key.removesuffix(".*"))):
        if name not in {key, ""}:
            return {(wildcard, name)}
    return set() if "*" in key else {("", key)}


def _has_wrong_number(said: Statement | Block) -> bool:
    problem = argument_problem(said.name, said.args, has_block=isinstance(said, Block), context="", version=None)
    return problem.startswith("invalid number of arguments")


def _messages(said: Statement | Block, protocol: str) -> Iterator[str]:
    if said.name in {"allow", "deny"} and protocol != "mail":
        yield from (_PARAMETER.format(arg) for arg in said.args[:1] if not _is_network(arg))
    if said.name in _BINDING.split():
        yield from (f'invalid address "{arg}"' for arg in said.args[:1] if not _is_bindable(arg))
    if said.name == "set_real_ip_from" and protocol != "mail":
        # nginx takes anything else for a host name, which cannot contain a slash.
        networks = [arg for arg in said.args if "/" in arg and not _is_network(arg)]
        yield from (f'host not found in set_real_ip_from "{arg}"' for arg in networks)
    needed = _NEEDED.get(said.name)
    if needed and not any(arg.startswith(f"{needed}=") for arg in said.args):
        yield f'"{said.name}" must have "{needed}" parameter'
    for form in _OF_NAME.get((protocol, said.name), ()):
        case = _case_of(form)
        words = (one for one in said.args[form.place or slice(None)] if re.match(form.of, one))
        wrong = (one for one in words if not re.fullmatch(form.words, one, case) and not _varies(one, form))
        yield from (form.message.format(one, name=said.name, value=one.partition("=")[2]) for one in wrong)
    if said.name == "error_log":
        yield from _levels([arg for arg in said.args[1:] if "=" not in arg and arg != "json"])
    if said.name in _ALONE and len(said.args) == 1 and said.args[0] not in _ALONE[said.name]:
        yield _PARAMETER.format(said.args[0])
    has_max = any(arg == "off" or arg.startswith("max=") for arg in said.args)
    if said.name in _WITH_MAX and not has_max:
        yield f'"{said.name}" must have {_WITH_MAX[said.name]} parameter'


def _levels(levels: Sequence[str]) -> Iterator[str]:
    """Yield the errors of ngx_log_set_levels about several levels: only debug_* can be combined."""
    for at, level in enumerate(levels):
        is_part = level.startswith("debug_")
        if at and not is_part:
            yield f'duplicate log level "{level}"'
        elif is_part and not all(one.startswith("debug_") for one in levels[:at]):
            yield f'invalid log level "{level}"'


def _case_of(form: _Form) -> re.RegexFlag:
    # ngx_conf_set_enum_slot and ngx_conf_set_bitmask_slot ignore letter case.
    return re.DOTALL | (re.IGNORECASE if form.message == _VALUE else re.NOFLAG)


def _varies(word: str, form: _Form) -> bool:
    # A variable cannot replace the code of "return"; a lone address begins with http://, https:// or $scheme.
    return "$" in word and "return" not in form.names


def _is_bindable(word: str) -> bool:
    if word == "off" or "$" in word or is_address(word.strip("[]")):
        return True
    host, _, port = word.rpartition(":")
    return is_address(host.strip("[]")) and re.fullmatch(_PORT, port) is not None


def _is_range(word: str) -> bool:
    ends = [ipv4_number(one) for one in word.split("-")]
    first, last = ends if len(ends) == 2 else (None, None)  # noqa: PLR2004 - the first and the last address
    return first is not None and last is not None and first <= last


def _is_network(word: str) -> bool:
    address, slash, bits = word.partition("/")
    most = _IPV6_BITS if ":" in address else _IPV4_BITS
    is_short = not slash or (bits.isdecimal() and int(bits) <= most)
    return word in {"all", "unix:"} or "$" in word or (is_address(address) and is_short)
