"""nginx's error messages about complete blocks, as far as they are certain."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from tuneproof.conf.buffers import buffer_problems
from tuneproof.conf.directives import Directive, directive, rows_of
from tuneproof.conf.forms import CACHE_PATHS, table_problems, wrong_forms
from tuneproof.conf.listens import Listen, ListenError
from tuneproof.conf.locations import REGEXES, Kind, Location
from tuneproof.conf.logs import log_problems
from tuneproof.conf.peers import peer_problems, upstream_problems
from tuneproof.conf.regexes import groups_in, refusal
from tuneproof.conf.sockets import in_use_by_others, sockets_of
from tuneproof.conf.statements import TABLES, Problem, Statement, context_name
from tuneproof.conf.tree import Block, Configuration, is_given, problem_at
from tuneproof.conf.unknown_variables import misspelt_variables
from tuneproof.conf.values import size_bytes
from tuneproof.conf.zones import zone_problems
from tuneproof.nginx_changes import BACKPORTED, of_directive
from tuneproof.wording import as_numbers

_MODIFIERS: Final = frozenset({Kind.EXACT, Kind.PREFIX_ONLY, Kind.REGEX, Kind.REGEX_ANY_CASE})
_STARTS: Final = ("/", "=", "~", "^~", "@")
_URI: Final = (
    '"proxy_pass" cannot have URI part in location given by regular expression, or inside named location, '
    'or inside "if" statement, or inside "limit_except" block'
)
_CACHING: Final = ("proxy", "fastcgi", "uwsgi", "scgi")
_CACHES: Final = frozenset(f"{kind}_cache" for kind in _CACHING)
_STORES: Final = frozenset(f"{kind}_store" for kind in _CACHING)
_ROOT: Final = re.compile(r"\$(?:(document_root|realpath_root)|\{(document_root|realpath_root)\})")
_PROTOCOLS: Final = frozenset({"http", "stream", "mail"})
_NO_SIZE: Final = "zero size shared memory zone"
_ZONE: Final = re.compile(r"(?:keys_)?zone=([^:]+):")
# Older versions may also have these, in packages of distributions, nginx Plus or Angie.
_ALSO_OLDER: Final = BACKPORTED | {"least_time", "sticky"}
_ALSO_OLDER_IN: Final = frozenset({("upstream", "resolver"), ("upstream", "resolver_timeout")})
_ONLY_ONCE: Final = frozenset(
    {"http", "events", "stream", "mail", "try_files", "use", "auth_request", "keepalive", "limit_except"}
)
# Those of http{} with a check in their own function; nginx accepts each once in a block.
_ONCE_IN_HTTP: Final = frozenset(
    {
        *("charset", "client_body_temp_path", "dav_access", "directio", "disable_symlinks", "expires", "internal"),
        *("keepalive_timeout", "open_file_cache", "open_log_file_cache", "real_ip_header", "userid_expires"),
        *("userid_mark", "grpc_bind", "memcached_bind"),
        *(f"{kind}_{name}" for kind in _CACHING for name in ("bind", "cache", "cache_key", "store", "temp_path")),
    }
)
_REWRITING: Final = ("proxy_redirect", "proxy_cookie_domain", "proxy_cookie_path", "proxy_cookie_flags")
_OFF_ALONE_SINCE: Final = (1, 19, 3)
_HTTP_LEVELS: Final = frozenset({"http", "server", "location", "if"})
_PASSING: Final = frozenset({"location", "if", "limit_except"})
_TILDE: Final = re.compile(r"!?~\*?")
# The arguments that are regular expressions; in _REGEXES_AFTER_TILDE, only those that begin with a tilde.
_REGEXES: Final = {"rewrite": slice(0, 1), "fastcgi_split_path_info": slice(0, 1), "gzip_disable": slice(None)}
_AFTER_ONE_TILDE: Final = ("server_name", "valid_referers")
_REGEXES_AFTER_TILDE: Final = {
    **dict.fromkeys(_AFTER_ONE_TILDE, slice(None)),
    **dict.fromkeys(_REWRITING, slice(0, 1)),
}
_LARGE_HEADERS: Final = "large_client_header_buffers"
_SMALLEST_POOL_BYTES: Final = 256  # the default of connection_pool_size on 32-bit machines; on others, 512
_MASKS: Final = frozenset({"msie6", "degradation"})  # names of built-in patterns of gzip_disable
_GROUPS_OF_A_PATH: Final = 2
_BYTE: Final = re.compile("0*[0-9A-Fa-f]{1,2}")
_UTF8_BYTES: Final = re.compile("(?:[0-9A-Fa-f]{2})+")
_CHARSETS: Final = 2  # the arguments of charset_map
_NONE: Final = slice(0)
_NAME: Final = re.compile(r"\$\w*", re.ASCII)
_FILE_TEST: Final = re.compile("!?-[fdex]")
_COMPARISONS: Final = frozenset({"=", "!=", "~", "~*", "!~", "!~*"})
# https://nginx.org/en/CHANGES: "virtual servers in the stream module", "the stream module handler is not mandatory".
_VIRTUAL_STREAMS_SINCE: Final = (1, 25, 5)
_NO_EMPTY_PATHS_SINCE: Final = (1, 27, 3)  # ngx_http_proxy_store and its siblings
_UTF8_SECOND_SINCE: Final = (1, 31, 3)  # ngx_http_charset_map_block
_HANDLER_UNTIL: Final = (1, 27, 1)
_HANDLERS: Final = ("proxy_pass", "return", "pass")
# ngx_mail_imap_module.c and its siblings: these ports imply a protocol.
_MAIL_PORTS: Final = frozenset({"25", "110", "143", "465", "587", "993", "995"})
_CONTEXTS: Final = {("if", "server"): "if in server", ("if", "location"): "if in location"}


def refusals(configuration: Configuration, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield a version's error messages, except those that facts_of collects from other modules."""
    main = configuration.main
    # Which fragments are included together is unknown.
    whole = [] if configuration.is_fragment else [main, *(block for block in main.blocks if block.name == "events")]
    for block in whole:
        yield from _repeated(block, version)
        yield from _twice(block)
    yield from _without_events(configuration)
    yield from _removed(main, version)
    yield from wrong_forms([main])
    yield from zone_problems(main) if not configuration.is_fragment else ()
    yield from _unknown_pools(main) if configuration.is_whole else ()
    for level in main.blocks:
        if level.name == "http":
            yield from _of_block(level, version)
            yield from buffer_problems(level) if level.span is not None else ()
            yield from _small_headers(level)
            yield from _charset_maps(level, version)
        if level.name in {"http", "stream"}:
            yield from _of_level(level, version, is_whole=configuration.is_whole)
    if not configuration.is_fragment and all(map(is_given, _listens(main))):
        yield from in_use_by_others(main, version)
    for block in main.blocks:
        if block.name in {"stream", "mail"} and block.span is not None:
            yield from _servers(block, version)
            if block.name == "mail" or version < _VIRTUAL_STREAMS_SINCE:
                yield from _single_listens(block, version)
            elif all(map(is_given, _listens(block))):
                yield from sockets_of(main, version, protocol="stream").problems


def _listens(block: Block) -> Iterator[Statement]:
    return (said for said, _ in block.everything() if said.name == "listen")


def of_later_versions(main: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield the directives, and the parameters of caches, that only later branches have.

    A package may include later releases of its own branch.
    """

    def is_later(row: Directive) -> bool:
        return as_numbers(row.since or "0")[:2] > version[:2]

    for said, block in main.everything():
        rows = rows_of(said.name) if block.name not in TABLES and said.name not in _ALSO_OLDER else ()
        here = [row for row in rows if context_name(block.path) in row.contexts]
        if rows and all(map(is_later, rows)):
            yield problem_at(said, f'unknown directive "{said.name}"')
        elif here and all(map(is_later, here)) and (block.name, said.name) not in _ALSO_OLDER_IN:
            yield problem_at(said, f'"{said.name}" directive is not allowed here')
        for change in of_directive(said.name) if said.name in CACHE_PATHS.split() else ():
            if change.parameter and change.numbers[:2] > version[:2]:
                later = (arg for arg in said.args if change.concerns([arg]))
                yield from (problem_at(said, f'invalid parameter "{arg}"') for arg in later)


def _without_events(configuration: Configuration) -> Iterator[Problem]:
    """Yield the error about a missing events{} in nginx.conf; a file with another name may be an included one."""
    first = next(iter(configuration.texts))
    names = {block.name for block in configuration.main.blocks}
    is_main = posixpath.basename(first) == "nginx.conf" and configuration.is_whole and names & _PROTOCOLS
    if is_main and "events" not in names:
        yield Problem(file=first, line=1, message='no "events" section in configuration')


def _removed(main: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield the directives that a version no longer has, except ``ssl``, which a finding with a patch reports."""
    for said, block in main.everything():
        rows = rows_of(said.name) if not TABLES & set(block.path) and said.name != "ssl" else ()
        if rows and all(row.until and as_numbers(row.until) <= version for row in rows):
            yield problem_at(said, f'unknown directive "{said.name}"')


def _of_level(level: Block, version: tuple[int, ...], *, is_whole: bool) -> Iterator[Problem]:
    """Yield the errors that http{} and stream{} share."""
    yield from peer_problems(level, version) if is_whole else ()
    yield from _unknown_names(level) if is_whole else ()
    yield from upstream_problems(level) if level.span is not None else ()
    yield from table_problems(level)
    yield from log_problems(level)
    yield from misspelt_variables(level)
    yield from _wrong_regexes(level, version)


def _small_headers(http: Block) -> Iterator[Problem]:
    """Yield the errors of ngx_http_core_merge_srv_conf about buffers that are smaller than a connection's pool."""
    for server in http.all("server") if not http.absent_sites else ():
        buffers, pool = server.setting(_LARGE_HEADERS), server.setting("connection_pool_size")
        size = size_bytes(buffers.args[-1]) if buffers is not None and len(buffers.args) > 1 else None
        least = size_bytes(pool.value) if pool is not None else _SMALLEST_POOL_BYTES
        is_known = buffers is not None and is_given(buffers) and not server.lacks_includes
        if buffers is not None and is_known and size is not None and size < (least or 0):
            message = f'the "{_LARGE_HEADERS}" size must be equal to or greater than "connection_pool_size"'
            yield problem_at(buffers, message)
            return


def _charset_maps(http: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield the errors of ngx_http_charset_map_block about the names of the charsets."""
    seen = set()
    for table in http.all("charset_map"):
        names = [arg.lower() for arg in table.args]
        if not is_given(table) or len(names) != _CHARSETS:
            continue
        pair = frozenset(names)
        between = f'"{table.args[0]}" and "{table.args[1]}"'
        if len(pair) == 1:
            yield problem_at(table, f'"charset_map" between the same charsets {between}')
        elif names[0] == "utf-8" and version >= _UTF8_SECOND_SINCE:
            yield problem_at(table, '"charset_map" with "utf-8" charset should be given in the second column')
        elif pair in seen:
            yield problem_at(table, f'duplicate "charset_map" between {between}')
        else:
            to = _UTF8_BYTES if names[1] == "utf-8" else _BYTE
            yield from _characters(table, (_BYTE, to))
        seen.add(pair)


def _characters(table: Block, forms: Sequence[re.Pattern[str]]) -> Iterator[Problem]:
    """Yield the errors of ngx_http_charset_map about the lines of a table."""
    for said in filter(is_given, table.own):
        words = (said.name, *said.args)
        if len(words) != len(forms):
            yield problem_at(said, "invalid parameters number")
        else:
            wrong = (word for word, form in zip(words, forms, strict=True) if not form.fullmatch(word))
            yield from (problem_at(said, f'invalid value "{word}"') for word in islice(wrong, 1))


def _of_block(block: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    if block.span is not None:
        yield from _repeated(block, version)
        yield from _twice(block)
        yield from _locations(block)
    yield from _uris(block)
    for said in block.local("proxy_pass") if block.name in _PASSING else ():
        if is_given(said) and "$" not in said.value and not said.value.lower().startswith(("http://", "https://")):
            yield problem_at(said, "invalid URL prefix")
    yield from _condition(block)
    yield from _default_redirects(block)
    yield from _mixed(block, version)
    yield from _cached_and_stored(block)
    if version >= _NO_EMPTY_PATHS_SINCE:
        yield from (problem_at(said, "empty path") for said in block.own if said.name in _STORES and said.args == ("",))
    for said in (*block.local("root"), *block.local("alias")):
        if found := _ROOT.search(said.value):
            message = f'the ${found[1] or found[2]} variable cannot be used in the "{said.name}" directive'
            yield problem_at(said, message)
    if block.name == "location" and Location.of(block).kind is Kind.NAMED:
        message = 'the "alias" directive cannot be used inside the named location'
        yield from (problem_at(said, message) for said in block.local("alias"))
    for inner in block.blocks:
        yield from _of_block(inner, version)


def _wrong_regexes(level: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    for block in (level, *level.below()):
        for one, regex in _regexes(block):
            if not is_given(one):
                continue
            if message := refusal(regex, version):
                yield problem_at(one, message)
            elif one.name == "fastcgi_split_path_info" and groups_in(regex) not in {None, _GROUPS_OF_A_PATH}:
                yield problem_at(one, f'pattern "{regex}" must have {_GROUPS_OF_A_PATH} captures')


def _default_redirects(block: Block) -> Iterator[Problem]:
    """Yield the errors of ngx_http_proxy_redirect about ``default``."""
    for at, said in enumerate(block.own):
        if said.name != "proxy_redirect" or said.value != "default" or block.lacks_includes:
            continue
        passed = next((one for one in block.own[:at] if one.name == "proxy_pass"), None)
        if passed is None:
            yield problem_at(said, '"proxy_redirect default" should be placed after the "proxy_pass" directive')
        elif "$" in passed.value:
            message = '"proxy_redirect default" cannot be used with "proxy_pass" directive with variables'
            yield problem_at(said, message)


def _mixed(block: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield the errors of ngx_http_mirror, ngx_http_proxy_redirect and others about lines that exclude each other."""
    for name in ("mirror", *(_REWRITING if version >= _OFF_ALONE_SINCE else ())):
        said = block.local(name)
        if second := next((one for one in said[1:] if ("off",) in {one.args, said[0].args}), None):
            yield problem_at(second, f'"{name}" directive is duplicate')
    secrets = block.local("secure_link_secret")
    if secrets and (block.local("secure_link") or block.local("secure_link_md5")):
        message = '"secure_link_secret" cannot be mixed with "secure_link" and "secure_link_md5"'
        yield problem_at(secrets[0], message)


def _cached_and_stored(block: Block) -> Iterator[Problem]:
    """Yield the errors of ngx_http_proxy_cache, ngx_http_proxy_store and others about a block with both."""
    used: dict[str, str] = {}
    for said in block.own:
        if said.name in _CACHES | _STORES and said.value != "off" and is_given(said):
            other = used.setdefault(said.name.partition("_")[0], said.name)
            if other != said.name:
                yield problem_at(said, f'"{said.name}" directive is incompatible with "{other}"')


def _condition(block: Block) -> Iterator[Problem]:
    """Yield the error of ngx_http_rewrite_if_condition about the words between the parentheses."""
    if block.name != "if" or not block.args or not is_given(block):
        return
    first, *others = block.args
    is_joined = not others and first.startswith("$") and not _NAME.fullmatch(first)
    if is_joined or (first.startswith("${") and len(others) == 2):  # noqa: PLR2004 - sign and value
        # nginx takes braces, and signs without spaces, for a part of the name.
        yield problem_at(block, f'unknown "{first.removeprefix("$")}" variable')
    elif first.startswith("$") and len(others) == 2 and others[0] not in _COMPARISONS:  # noqa: PLR2004 - sign and value
        yield problem_at(block, f'unexpected "{others[0]}" in condition')
    elif not (first.startswith("$") and first != "$" and len(others) in {0, 2}) and not (
        _FILE_TEST.fullmatch(first) and len(others) == 1
    ):
        yield problem_at(block, f'invalid condition "{first}"')


def _regexes(block: Block) -> Iterator[tuple[Statement | Block, str]]:
    """Yield the regular expressions in a block's own directives, and in its locations and conditions."""
    for inner in block.blocks:
        if inner.name == "location" and Location.of(inner).kind in REGEXES:
            yield inner, _TILDE.sub("", inner.args[-1]) if len(inner.args) == 1 else inner.args[-1]
        elif inner.name == "if" and inner.args[1:2] and _TILDE.fullmatch(inner.args[1]):
            yield from ((inner, regex) for regex in inner.args[2:3])
    if block.name == "map":
        yield from ((said, _TILDE.sub("", said.name)) for said in block.own if _TILDE.match(said.name))
    for said in block.own if block.name not in TABLES else ():
        yield from ((said, arg) for arg in said.args[_REGEXES.get(said.name, _NONE)] if arg not in _MASKS)
        marked = (arg for arg in said.args[_REGEXES_AFTER_TILDE.get(said.name, _NONE)] if _TILDE.match(arg))
        # These directives have one tilde as a mark; what follows, even an asterisk, belongs to the regular expression.
        is_alone = said.name in _AFTER_ONE_TILDE
        yield from ((said, arg[1:] if is_alone else _TILDE.sub("", arg)) for arg in marked if arg != "~")


def _servers(block: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield the errors of ngx_stream_core_server and ngx_mail_core_server, and from merging servers."""
    for server in (inner for inner in block.blocks if inner.name == "server" and not inner.unseen):
        if not server.local("listen"):
            yield problem_at(server, 'no "listen" is defined for server')
        # Directives of other modules may also be handlers.
        if server.blocks or not all(rows_of(said.name) for said in server.own):
            continue
        if block.name == "stream" and version < _HANDLER_UNTIL and not any(map(server.local, _HANDLERS)):
            yield problem_at(server, "no handler for server")
        if block.name == "mail" and not block.unseen and all(map(is_given, server.local("listen"))):
            ports = {said.value.rpartition(":")[2] for said in server.local("listen")}
            if not server.setting("protocol") and ports.isdisjoint(_MAIL_PORTS):
                yield problem_at(server, "unknown mail protocol for server")
            elif not server.setting("auth_http"):
                yield problem_at(server, 'no "auth_http" is defined for server')


def _single_listens(block: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield the errors of ngx_mail_core_listen, and of ngx_stream_core_listen before stream{} had virtual servers."""
    seen = set()
    for said in (one for server in block.blocks if server.name == "server" for one in server.local("listen")):
        try:
            addresses = Listen.of(said, version, protocol=block.name).addresses if is_given(said) else ()
        except ListenError as error:
            yield problem_at(said, str(error))
            continue
        for address in addresses:
            if address in seen:
                yield problem_at(said, f'duplicate "{address.name}" address and port pair')
            seen.add(address)


def _repeated(block: Block, version: tuple[int, ...]) -> Iterator[Problem]:
    """Yield repetitions of directives that a block accepts only once (ngx_conf_set_flag_slot and its siblings)."""
    context = _CONTEXTS.get((block.name, block.parent.name if block.parent is not None else ""), block.name)
    seen = set()
    for said in block.own:
        row = directive(said.name, version, context=context)
        if said.name in seen and row is not None and row.is_once:
            yield problem_at(said, f'"{said.name}" directive is duplicate')
        seen.add(said.name)


def _twice(block: Block) -> Iterator[Problem]:
    """Yield repetitions of blocks that main accepts only once, and of directives that have their own check."""
    seen = set()
    everything: list[Statement | Block] = [*block.blocks, *block.own]
    for one in everything:
        is_limit = isinstance(one, Statement) and one.name in {"limit_req", "limit_conn"}
        key = (one.name, _zone_of(one)) if isinstance(one, Statement) and is_limit else (one.name, "")
        is_once = one.name in _ONLY_ONCE or (block.name in _HTTP_LEVELS and one.name in _ONCE_IN_HTTP)
        if key in seen and (is_limit or is_once) and is_given(one):
            yield problem_at(one, f'"{one.name}" directive is duplicate')
        seen.add(key)
    names = [said.name for said in block.own if said.name in {"root", "alias"}]
    if len(set(names)) > 1:
        second = block.local(names[-1])[-1]
        yield problem_at(second, f'"{names[-1]}" directive is duplicate, "{names[0]}" directive was specified earlier')


def _locations(level: Block) -> Iterator[Problem]:
    """Yield the errors of ngx_http_core_location and ngx_http_join_exact_locations in a server or location."""
    outer = Location.of(level) if level.name == "location" else None
    seen: set[tuple[bool, str]] = set()
    for block in level.blocks:
        if block.name != "location" or not is_given(block):
            continue
        if len(block.args) > 1 and block.args[0] not in _MODIFIERS:
            # Angie accepts several names, each with its modifier.
            if not all(arg.startswith(_STARTS) for arg in block.args):
                yield problem_at(block, f'invalid location modifier "{block.args[0]}"')
            continue
        one = Location.of(block)
        if outer is not None and (message := _misplaced(one, outer)):
            yield problem_at(block, message)
        # nginx tries regular expressions in turn; locations inside them are not in its tree of names.
        if one.kind not in {*REGEXES, Kind.NAMED} and (outer is None or outer.kind not in REGEXES):
            key = (one.kind is Kind.EXACT, one.name)
            if key in seen:
                yield problem_at(block, f'duplicate location "{_shown(one)}"')
            seen.add(key)


def _misplaced(one: Location, outer: Location) -> str:
    if outer.kind in {Kind.EXACT, Kind.NAMED}:
        what = "exact" if outer.kind is Kind.EXACT else "named"
        return f'location "{_shown(one)}" cannot be inside the {what} location "{_shown(outer)}"'
    if one.kind is Kind.NAMED:
        return f'named location "{_shown(one)}" can be on the server level only'
    if one.kind not in REGEXES and not one.name.startswith(outer.name):
        return f'location "{_shown(one)}" is outside location "{_shown(outer)}"'
    return ""


def _shown(one: Location) -> str:
    return one.name.encode("latin-1").decode(errors="replace")


def _uris(block: Block) -> Iterator[Problem]:
    """Yield each ``proxy_pass`` with a path in a place where nginx cannot replace part of the request's path."""
    if block.name == "location":
        is_nameless = Location.of(block).kind in {*REGEXES, Kind.NAMED}
    else:
        is_nameless = block.name in {"if", "limit_except"}
    for said in block.local("proxy_pass") if is_nameless else ():
        _, has_scheme, rest = said.value.partition("://")
        if (
            is_given(said)
            and has_scheme
            and "$" not in said.value
            and not rest.startswith("unix:")
            and {"/", "?"} & set(rest)
        ):
            yield problem_at(said, _URI)


def _unknown_names(level: Block) -> Iterator[Problem]:
    """Yield the uses of undefined log formats and shared memory zones, and repeated definitions of a log format."""
    pairs = list(level.everything())
    everything = [one for one, _ in pairs]
    named = [one for one in everything if one.name == "log_format"]
    defaults = {"combined"} if level.name == "http" else set()
    # nginx ignores the letter case of a name when it uses a format, but not when it defines one.
    formats = {name.lower() for name in (*defaults, *(one.value for one in named))}
    for at, one in enumerate(named):
        if one.value in {*defaults, *(other.value for other in named[:at])} and is_given(one):
            yield problem_at(one, f'duplicate "log_format" name "{one.value}"')
    zones = {match[1] for one in everything for arg in one.args if (match := _ZONE.match(arg))}
    shared = [one for one, block in pairs if one.name == "zone" and block.name == "upstream" and is_given(one)]
    sized = {one.value for one in shared if len(one.args) > 1}
    yield from (problem_at(one, f'{_NO_SIZE} "{one.value}"') for one in shared if one.value not in sized)
    for one in filter(is_given, everything):
        if one.name == "access_log" and one.value != "off" and len(one.args) > 1 and one.args[1].lower() not in formats:
            yield problem_at(one, f'unknown log format "{one.args[1]}"')
        elif one.name in {"limit_req", "limit_conn"} and (name := _zone_of(one)) not in zones:
            yield problem_at(one, f'{_NO_SIZE} "{name}"' if name else '"limit_req" must have "zone" parameter')
        elif one.name in _CACHES and one.value != "off" and "$" not in one.value and one.value not in zones:
            yield problem_at(one, f'"{one.name}" zone "{one.value}" is unknown')


def _unknown_pools(main: Block) -> Iterator[Problem]:
    pools = {"default", *(said.value for said in main.local("thread_pool"))}
    for said, _ in main.everything():
        _, is_named, name = said.value.partition("threads=")
        if said.name == "aio" and is_named and name not in pools and "$" not in name and is_given(said):
            yield problem_at(said, f'unknown thread pool "{name}"')


def _zone_of(said: Statement) -> str:
    if said.name == "limit_conn":
        return said.value
    return next((arg.removeprefix("zone=") for arg in said.args if arg.startswith("zone=")), "")
