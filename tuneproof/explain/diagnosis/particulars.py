"""Rows as they apply to what was logged: in stream{}, and to the directive that a message names."""

import re
from dataclasses import replace
from typing import Final

from tuneproof.conf import directives
from tuneproof.messages.rows import Message
from tuneproof.nginx_modules import module_of
from tuneproof.wording import as_numbers, close_to, each_once

_UNKNOWN: Final = re.compile(r'unknown directive "([^"]{1,200})"')
_INSTEAD: Final = {"http2": "listen 443 ssl http2", "ssl": "listen 443 ssl"}
"""What means the same in versions without a directive."""
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
_LOAD: Final = (
    "Install the module for exactly this nginx, and load it with load_module at the top of nginx.conf; or remove the "
    "line."
)


def applied(row: Message, example: str, *, only_streams: bool) -> Message:
    """Return a row for its messages.

    ``example``: the first of them. ``only_streams``: whether all of them are about connections of stream{} or mail{}.
    """
    if only_streams and row.in_stream is not None:
        return row.in_stream
    if row.id == "unknown_directive" and (named := _UNKNOWN.match(example)) is not None:
        return _with_directive(row, named[1])
    return row


def _with_directive(row: Message, name: str) -> Message:
    """Return the row with what is known about the directive; unchanged if nothing is."""
    why, first = _facts(name)
    if not why and (meant := close_to(name, directives.known())):
        first = f"{name}: {meant} {row.first}"
    return replace(row, why=why or row.why, first=first) if first else row


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
