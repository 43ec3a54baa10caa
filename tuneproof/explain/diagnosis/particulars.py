"""Adapts rows to logged messages: to stream{} and mail{}, to the upstream's module, and to a named directive."""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from tuneproof.conf import directives
from tuneproof.messages.codes import only_about
from tuneproof.messages.rows import Message, WrongAdvice
from tuneproof.nginx_modules import module_of
from tuneproof.wording import as_numbers, close_to, each_once

_NAMING: Final = {
    "unknown_directive": re.compile(r'unknown directive "([^"]{1,200})"'),
    "directive_not_allowed": re.compile(r'"([^"]{1,200})" directive is not allowed here'),
    "directive_arguments": re.compile(r'invalid number of arguments in "([^"]{1,200})" directive'),
}
"""The pattern of the directive in a row's messages, by the row's id."""
_MODULES: Final = {
    "fastcgi": "fastcgi",
    "uwsgi": "uwsgi",
    "suwsgi": "uwsgi",
    "scgi": "scgi",
    "grpc": "grpc",
    "grpcs": "grpc",
    "memcached": "memcached",
}
"""The modules other than proxy, by the scheme with which they log an upstream."""
_OF_PROXY: Final = re.compile(r"\bproxy_\w+")
_WITHOUT_NGINX: Final = re.compile(r"\bcurl .*http://(?:UPSTREAM|ADDRESS)")
_CONFIRM: Final = {
    "fastcgi": "SCRIPT_FILENAME=FILE REQUEST_METHOD=GET cgi-fcgi -bind -connect ADDRESS: the same without nginx",
    "uwsgi": "the same request without nginx: uwsgi_curl ADDRESS /URI (uwsgi-tools)",
    "scgi": "the same request in the application's own log",
    "grpc": "the same call without nginx: grpcurl (with -plaintext for grpc://) ADDRESS SERVICE/METHOD",
    "memcached": "printf 'version\\r\\n' | nc ADDRESS PORT, from nginx's own machine or container",
}
# These messages show that the upstream speaks HTTP.
_SPEAK_HTTP: Final = frozenset({"upstream_fastcgi_protocol", "upstream_http2_not_http2", "upstream_tls_plain"})
# The texts of these rows compare modules, so the directives in them are not replaced.
_COMPARE: Final = frozenset({"upstream_fastcgi_protocol", "upstream_http2_not_http2", "upstream_http2_pool"})
_OWN: Final = r"(?:127\.0\.0\.1|\[?::1\]?)"
_TO_ITSELF: Final = re.compile(rf', client: {_OWN}, .*upstream: "\w+://{_OWN}[:/]')
# nginx takes the brace in "\d{4}$" for the beginning of a block; this is the text after the brace.
_QUANTITY: Final = re.compile(r"\d*,?\d*\}")
_INSTEAD: Final = {"http2": "listen 443 ssl http2", "ssl": "listen 443 ssl"}
"""The equivalent of a directive in versions that lack it."""
# Modules that Debian does not package, by their directives.
_ELSEWHERE: Final = (
    (r"vhost_traffic_status\w*", "nginx-module-vts"),
    (r"passenger_\w+", "Phusion Passenger"),
    (r"pagespeed", "ngx_pagespeed"),
    (r"check(_(?:http_send|http_expect_alive|keepalive_requests|shm_size|status))?", "nginx_upstream_check_module"),
    (r"auth_ldap\w*", "nginx-auth-ldap"),
    (r"testcookie\w*", "testcookie-nginx-module"),
    (r"(?:Main|Basic)Rule|SecRulesEnabled|LearningMode", "naxsi"),
    (r"opentracing\w*", "nginx-opentracing"),
    (r"otel_\w+", "ngx_otel_module"),
    (r"acme_\w+", "ngx_http_acme_module"),
    (r"cookie_flag|set_cookie_flag", "nginx_cookie_flag_module"),
)
# Directives of third-party modules that people mistype, too.
_COMMON: Final = frozenset(
    (  # noqa: SIM905 - one line for each of these names would hide the program around them
        "brotli brotli_static brotli_types brotli_comp_level zstd zstd_static zstd_types more_set_headers "
        "more_clear_headers more_set_input_headers more_clear_input_headers modsecurity modsecurity_rules "
        "modsecurity_rules_file geoip2 geoip2_proxy geoip2_proxy_recursive lua_package_path lua_package_cpath "
        "lua_shared_dict init_by_lua_block "
        "init_worker_by_lua_block set_by_lua_block rewrite_by_lua_block access_by_lua_block access_by_lua_file "
        "content_by_lua_block content_by_lua_file header_filter_by_lua_block body_filter_by_lua_block "
        "log_by_lua_block balancer_by_lua_block vhost_traffic_status vhost_traffic_status_zone "
        "vhost_traffic_status_display passenger_enabled passenger_root passenger_ruby passenger_app_root pagespeed "
        "rtmp subs_filter fancyindex auth_pam proxy_cache_purge nchan_subscriber nchan_publisher echo"
    ).split()
)
# The similarity by difflib, and how many first characters must be equal: lua_ssl_ciphers is not a misspelt
# ssl_ciphers.
_ALIKE: Final = 0.9
_BEGINNING: Final = 3
_LOAD: Final = (
    "Install the module for exactly this nginx, and load it with load_module at the top of nginx.conf; or remove the "
    "line."
)


def applied(
    row: Message,
    example: str,
    *,
    only_streams: bool,
    only_mail: bool = False,
    schemes: Iterable[str] = (),
    codes: Collection[str] = (),
) -> Message:
    """Return a row adapted to its messages.

    ``example``: the first of them. ``only_streams``: whether all of them are about connections in stream{} or mail{}.
    ``only_mail``: whether all of them are about mail{}. ``schemes``: the schemes of their upstreams, the most frequent
    first. ``codes``: the numbers in them, such as errno; "" for a message without one.
    """
    if only_mail and row.in_mail is not None:
        row = row.in_mail
    own = _of_place(row, example, only_streams=only_streams, schemes=schemes)
    return replace(own, why=only_about(own.why, codes)) if codes and "" not in codes else own


def _of_place(row: Message, example: str, *, only_streams: bool, schemes: Iterable[str]) -> Message:
    if only_streams:
        return _for_stream(row.in_stream or row)
    if row.id in _NAMING and (named := _NAMING[row.id].match(example)) is not None:
        return _with_directive(row, named[1])
    if row.id == "worker_connections" and _TO_ITSELF.search(example) is not None:
        return replace(
            row,
            why=f"{row.why} Here both client and upstream are this machine: proxy_pass may lead back to nginx itself, "
            "so that each request makes another one.",
            first="See whether the upstream's port is nginx's own (nginx -T | grep -nE 'listen|proxy_pass'). "
            f"{row.first}",
        )
    modules = list(dict.fromkeys(_MODULES.get(scheme, "proxy") for scheme in schemes)) or ["proxy"]
    adapted = _for_module(row, modules[0])
    own = _variant(row, modules[0])
    also = [
        f"For upstreams behind {module}_pass: {_for_module(row, module).first}"
        for module in modules[1:]
        if _variant(row, module).first != own.first
    ]
    if len(modules) > 1 and _OF_PROXY.search(f"{row.happened} {row.first}") is not None:
        passes, begin = (each_once(f"{module}_{end}" for module in modules[1:]) for end in ("pass", ""))
        also.append(f"For upstreams behind {passes}, the directives begin with {begin}.")
    return replace(adapted, first=" ".join((adapted.first, *also))) if also else adapted


def _for_stream(row: Message) -> Message:
    """Return a row with the timeout directive of stream and mail in its wrong advice, instead of that of HTTP."""

    def own(text: str) -> str:
        return text.replace("proxy_read_timeout", "proxy_timeout")

    return replace(
        row, wrong=tuple(WrongAdvice(advice=own(each.advice), because=own(each.because)) for each in row.wrong)
    )


def _variant(row: Message, module: str) -> Message:
    """Return a row's own facts about a module's upstreams; the row itself if it has none."""
    own: Message | None = getattr(row, f"in_{module}", None)
    return own or row


def _for_module(row: Message, module: str) -> Message:
    """Return the row with the directives and tools of the module that connects to the upstream."""
    if module == "proxy" or row.id in _COMPARE:
        return row
    row = _variant(row, module)

    def own(text: str) -> str:
        return _OF_PROXY.sub(lambda found: _renamed(found[0], module), text)

    confirm = _CONFIRM[module] if _WITHOUT_NGINX.search(row.confirm) and row.id not in _SPEAK_HTTP else row.confirm
    return replace(
        row,
        happened=own(row.happened),
        why=own(row.why),
        first=own(row.first),
        wrong=tuple(WrongAdvice(advice=own(each.advice), because=own(each.because)) for each in row.wrong),
        confirm=own(confirm),
        affects=own(row.affects),
    )


def _renamed(directive: str, module: str) -> str:
    name = f"{module}_{directive.removeprefix('proxy_')}"
    return name if name in directives.known() else directive


def _with_directive(row: Message, name: str) -> Message:
    """Return the row with the facts about the directive; unchanged if there are none."""
    if row.id != "unknown_directive":
        use = _place_of(name) if row.id == "directive_not_allowed" else _arguments_of(name)
        return replace(row, happened=f"{row.happened} {use}") if use else row
    names = {*directives.known(), *_COMMON}
    why, first = ("", "") if _is_misspelt(name, names) else _facts(name)
    if not why and (meant := close_to(name, names)):
        first = f"{name}: {meant} {row.first}"
    return replace(row, why=why or row.why, first=first) if first else row


def _is_misspelt(name: str, names: Collection[str]) -> bool:
    """Tell whether a name is almost the same as another one: a module's pattern may match both."""
    close = [] if name in names or not name.isidentifier() else get_close_matches(name, names, n=1, cutoff=_ALIKE)
    return any(each.startswith(name[:_BEGINNING]) for each in close)


def _place_of(name: str) -> str:
    contexts = {context for each in directives.rows_of(name) for context in each.contexts}
    places = [
        "the main level, outside of all blocks" if each == "main" else each
        for each in directives.CONTEXTS
        if each in contexts
    ]
    return f"{name} is allowed in {each_once(places)}." if places else ""


def _arguments_of(name: str) -> str:
    rows = directives.rows_of(name)
    if not rows:
        return ""
    least = min(each.least_args for each in rows)
    if any(each.most_args is None for each in rows):
        return f"{name} takes {least} or more."
    most = max(each.most_args or 0 for each in rows)
    return f"{name} takes {least if least == most else f'{least} to {most}'}."


def _facts(name: str) -> tuple[str, str]:
    """Return why nginx does not know a directive and what to do; empty texts if that is unknown."""
    if not name.isascii():
        return (
            (
                f"The first word of the line is not plain ASCII: {ascii(name)[1:-1]}. An editor or a web page put in a "
                "byte order mark, a typographic quote or a special space."
            ),
            "Type that line again in a plain editor, or save the file as UTF-8 without a byte order mark.",
        )
    if _QUANTITY.match(name):
        return (
            "nginx took the braces of a regular expression for a block, since the pattern has no quotes.",
            'Put the pattern in quotes: location ~ "^/a/\\d{4}$" { … }',
        )
    if (word := name.rstrip(":;={")) != name and word in directives.known():
        return f"{name} is {word} with other characters after it.", f"Write {word} and a space: nginx.conf is not YAML."
    module = module_of(name, in_stream=False)
    package = f" Debian's and Ubuntu's package is {module.packages[0]}." if module is not None else ""
    if directives.rows_of(name):
        return _of_own(name, package)
    if module is not None:
        return (
            f"{name} is a directive of ngx_{module.name}_module, which this nginx has not loaded.",
            f"{_LOAD}{package}",
        )
    other = next((other for pattern, other in _ELSEWHERE if re.fullmatch(pattern, name)), "")
    return (f"{name} is a directive of {other}, which this nginx does not have.", _LOAD) if other else ("", "")


def _of_own(name: str, package: str) -> tuple[str, str]:
    versions = directives.rows_of(name)
    modules = each_once(each.module for each in versions)
    instead = f": {_INSTEAD[name]} does the same" if name in _INSTEAD else ""
    if all(each.since for each in versions):
        since = min((each.since for each in versions), key=as_numbers)
        return (
            f"{name} is new in nginx {since}; this nginx is older, or was built without {modules}.",
            f"Compare nginx -v with {since}: update nginx, or remove the line{instead}.",
        )
    if all(each.until for each in versions):
        until = max((each.until for each in versions), key=as_numbers)
        return f"nginx {until} removed the directive {name}.", f"Remove the line{instead}."
    return (
        (
            f"{name} is a directive of {modules}: this nginx was built without it or has not loaded it; or the line "
            "before lacks its semicolon."
        ),
        (
            "nginx -V lists what it was built with; a module built with --with-…=dynamic needs load_module at the "
            f"top of nginx.conf.{package}"
        ),
    )
