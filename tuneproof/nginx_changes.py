"""Additions, removals and changes in nginx since 1.18: directives, parameters, defaults and behaviour.

Directives and their defaults come from :mod:`tuneproof.conf.directives`. The rows here add parameters, behaviour,
and what a change means for users. They come from nginx's own CHANGES (https://nginx.org/en/CHANGES), checked against
the sources before and after each change; on its versions, the lab tests the changes that are visible from outside.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise
from typing import Any, Final

from tuneproof.conf.directives import Directive, Inheritance, changed, rows_of
from tuneproof.wording import as_numbers

STABLE_VERSIONS: Final = ("1.18", "1.22", "1.26", "1.30")
"""The versions in four Debian suites, the oldest first."""
LAB_VERSIONS: Final = (*STABLE_VERSIONS, "1.31")
"""The stable versions and mainline."""
# Debian's changelogs for nginx 1.18.0 and 1.22.1.
BACKPORTED: Final = frozenset({"max_errors", "max_headers", "xml_external_entities"})
"""Directives added by security fixes, which distributions also apply to packages of older versions."""


class Kind(StrEnum):
    """The kinds of changes."""

    NEW = "new"
    DEFAULT = "default"
    DEPRECATED = "deprecated"  # works, with a warning
    IGNORED = "ignored"  # does nothing, with a warning
    REMOVED = "removed"  # nginx does not start with it
    BEHAVIOUR = "behaviour"  # the same line has another effect


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change to a directive, or to one of its parameters."""

    version: str
    kind: Kind
    directive: str
    parameter: str = ""  # as written; a prefix if it ends with "="; or "$" for any variable
    block: str = ""  # the block that the change applies to; empty for any
    args: str = ".*"  # for behaviour: the affected arguments, as a regular expression
    behind: str = ""  # for behaviour: the directive that must come before it in the same block
    before: str = ""  # an old default, as written in nginx.conf; empty if it cannot be written
    after: str = ""
    instead: str = ""  # what to write now
    meaning: str = ""  # what changes, and for whom, in one sentence
    without_header: str = ""  # what else changes, unless proxy_set_header sets Connection

    @property
    def is_backported(self) -> bool:
        """Whether distributions' packages of older versions may have the change."""
        return self.directive in BACKPORTED and self.kind in {Kind.NEW, Kind.DEFAULT}

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as comparable numbers."""
        return as_numbers(self.version)

    def concerns(self, args: Sequence[str]) -> bool:
        """Tell whether the change applies to a directive with these arguments."""
        if not re.fullmatch(self.args, " ".join(args), re.DOTALL):
            return False
        if self.parameter == "$":
            return any("$" in arg for arg in args)
        is_beginning = self.parameter.endswith("=")
        return not self.parameter or any(
            arg.startswith(self.parameter) if is_beginning else arg == self.parameter for arg in args
        )


def _parameter(version: str, directives: str, parameter: str, block: str = "") -> Iterator[Change]:
    for directive in directives.split():
        yield Change(version=version, kind=Kind.NEW, directive=directive, parameter=parameter, block=block)


def _behaviour(version: str, directives: str, meaning: str, **more: str) -> Iterator[Change]:
    for directive in directives.split():
        yield Change(version=version, kind=Kind.BEHAVIOUR, directive=directive, meaning=meaning, **more)


_PASSING: Final = ("proxy_", "fastcgi_", "grpc_", "scgi_", "uwsgi_")
_TO_UPSTREAM: Final = "proxy_ssl_protocols", "grpc_ssl_protocols", "uwsgi_ssl_protocols"
_OF_CONNECTIONS: Final = (
    "HTTP/2 and HTTP/3 requests with Connection, Proxy-Connection, Keep-Alive, Transfer-Encoding or Upgrade, or a TE "
    "other than trailers, are answered with 400"
)
_KEEPS: Final = "a keepalive line above it now takes effect; before, this line discarded it"
_OF_PUSH: Final = {"meaning": "server push was removed; browsers had dropped it before"}
# Texts for changes that come from the table of directives: their meaning, and what to write instead.
_WORDS: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    ("http2_recv_timeout", "1.19.7"): {"instead": "client_header_timeout"},
    ("http2_idle_timeout", "1.19.7"): {"instead": "keepalive_timeout"},
    ("http2_max_requests", "1.19.7"): {"instead": "keepalive_requests"},
    ("http2_max_field_size", "1.19.7"): {"instead": "large_client_header_buffers"},
    ("http2_max_header_size", "1.19.7"): {"instead": "large_client_header_buffers"},
    ("sendfile_max_chunk", "1.21.4"): {"meaning": "one fast download no longer monopolizes a worker in sendfile(2)"},
    ("ssl_protocols", "1.23.4"): {"meaning": "clients that support TLSv1.3 use it"},
    **{(name, "1.23.4"): {"meaning": "TLSv1.3 is offered to the upstream as well"} for name in _TO_UPSTREAM},
    ("http2_push", "1.25.1"): _OF_PUSH,
    ("http2_push_preload", "1.25.1"): _OF_PUSH,
    ("http2_max_concurrent_pushes", "1.25.1"): _OF_PUSH,
    ("ssl", "1.25.1"): {"instead": "listen … ssl", "meaning": "nginx does not start with it"},
    ("ssl_protocols", "1.27.3"): {"meaning": "clients that only speak TLSv1 or TLSv1.1 are rejected"},
    **{
        (name, "1.27.3"): {"meaning": "handshakes with upstreams that only speak TLSv1 or TLSv1.1 fail"}
        for name in _TO_UPSTREAM
    },
    ("proxy_http_version", "1.29.7"): {
        "meaning": "the upstream may send chunked responses",
        "without_header": "it may keep the connection open, since Connection: close is no longer sent",
    },
    # 0 is allowed only from that version on, and means the old default.
    ("keepalive", "1.29.7"): {
        "before": "0",
        "meaning": "each worker keeps idle connections to this upstream, separately per location",
    },
}
_REQUESTS: Final = {
    "server": "an HTTP/1 client may send ten times as many requests per connection",
    "upstream": "nginx sends up to ten times as many requests per upstream connection",
}
_BY_HAND: Final = (
    *_parameter("1.19.1", "proxy_cache_path fastcgi_cache_path scgi_cache_path uwsgi_cache_path", "min_free="),
    Change(
        version="1.19.7",
        kind=Kind.REMOVED,
        directive="listen",
        parameter="spdy",
        instead="listen … http2",
        meaning="nginx does not start with it; before, it had no effect",
    ),
    *_behaviour(
        "1.19.7",
        "listen",
        "HTTP/2 connections follow keepalive_timeout (75 s unless set; with 0, one request each) and "
        "keepalive_requests; before, http2_idle_timeout (3 min unless set) and http2_max_requests (1000 unless set)",
        args=r".*\bhttp2\b.*",
    ),
    *_parameter("1.19.8", "listen", "proxy_protocol", "mail"),
    Change(
        version="1.19.10",
        kind=Kind.DEFAULT,
        directive="keepalive_time",
        block="server",
        after="1h",
        meaning="a client's connection is closed after its first request past one hour; before, there was no limit",
    ),
    Change(
        version="1.19.10",
        kind=Kind.DEFAULT,
        directive="keepalive_time",
        block="upstream",
        after="1h",
        meaning="a connection to this upstream is closed after its first request past one hour; before, there was no "
        "limit",
    ),
    *_parameter("1.21.0", "proxy_ssl_certificate grpc_ssl_certificate uwsgi_ssl_certificate", "$"),
    *_parameter("1.21.0", "proxy_ssl_certificate_key grpc_ssl_certificate_key uwsgi_ssl_certificate_key", "$"),
    *_parameter("1.21.0", "listen", "fastopen=", "stream"),
    *_behaviour(
        "1.21.1",
        "listen",
        "CONNECT, Content-Length with Transfer-Encoding, and spaces or control characters in a request line, a "
        "header name or Host are answered with an error",
        block="http",
    ),
    *_behaviour(
        "1.21.2",
        "ssl_ciphers",
        "@SECLEVEL decides which certificates nginx loads; before, OpenSSL's own level did",
        args=r".*@SECLEVEL=.*",
    ),
    *_behaviour("1.21.2", "listen", "HTTP/1.0 requests with Transfer-Encoding are answered with 400", block="http"),
    *_behaviour(
        "1.21.4",
        "listen",
        "handshakes fail for clients that offer (ALPN) only protocols that nginx does not speak",
        block="http",
        args=r".*\bssl\b.*",
    ),
    *_behaviour(
        "1.23.0", "fastcgi_pass scgi_pass uwsgi_pass", "request header lines with the same name are sent as one"
    ),
    *_parameter("1.23.1", "resolver", "ipv4="),
    *_parameter("1.25.0", "listen", "quic"),
    Change(
        version="1.25.1",
        kind=Kind.DEPRECATED,
        directive="listen",
        parameter="http2",
        instead="http2 on;",
        meaning="nginx warns about it at each start; `http2 on;` does the same for all listens of a server",
    ),
    *_behaviour(
        "1.25.1",
        "listen",
        "HTTP/1 clients are served there as well; before, only HTTP/2 clients were",
        block="http",
        args=r"(?!.*\bssl\b).*\bhttp2\b.*",
    ),
    *_parameter("1.25.5", "listen", "deferred", "stream"),
    *_parameter("1.25.5", "listen", "default_server", "stream"),
    *_parameter("1.27.0", "proxy_limit_rate fastcgi_limit_rate scgi_limit_rate uwsgi_limit_rate", "$"),
    *_parameter("1.27.3", "server", "resolve", "upstream"),
    *_parameter("1.27.3", "server", "service=", "upstream"),
    *_behaviour(
        "1.27.4",
        "ssl_certificate",
        "a reload keeps the certificates and keys of files with the same inode and modification time, unless "
        "`ssl_object_cache_inheritable off;`",
        args=r"(?!data:)[^$]*",
    ),
    *_behaviour(
        "1.27.4",
        "ssl_verify_client",
        "to resume a TLSv1.3 session that began with another server name fails up to 1.29.1; since 1.29.2, nginx does "
        "not resume sessions of servers with other certificates or CAs. Before, this could bypass the check of client "
        "certificates (CVE-2025-23419). Distributions' security updates changed it in some older packages, too",
        args="(?!(?i:off)$).*",
    ),
    *_behaviour("1.27.5", "ssl_session_cache", "sessions up to 8192 bytes are kept; before, 4096", args=r".*shared:.*"),
    *_behaviour("1.27.5", "listen", "HTTP/3 uses CUBIC congestion control; before, NewReno", args=r".*\bquic\b.*"),
    *_behaviour(
        "1.29.1",
        "listen",
        "certificates are no longer compressed in TLSv1.3, as OpenSSL 3.2 and later did by default",
        block="http",
        args=r".*\bssl\b.*",
    ),
    Change(version="1.29.3", kind=Kind.NEW, directive="volatile", block="geo"),
    *_parameter("1.29.4", "proxy_http_version", "2"),
    *_behaviour(
        "1.29.4",
        "listen",
        "a Host that RFC 3986 does not allow, and a chunked body with a single LF as line end, are answered with 400",
        block="http",
    ),
    *_behaviour("1.29.4", "proxy_pass", "a chunked response with a single LF as line end is an error", block="http"),
    *_parameter("1.29.6", "server", "route=", "upstream"),
    *_parameter("1.29.6", "server", "drain", "upstream"),
    *_parameter("1.29.7", "keepalive", "local", "upstream"),
    *_parameter("1.29.7", "keepalive", "0", "upstream"),
    *_behaviour("1.29.7", "least_conn ip_hash hash random", _KEEPS, block="upstream", behind="keepalive"),
    *_behaviour(
        "1.29.7",
        "proxy_http_version",
        "Connection: close is sent only if proxy_set_header sets it: the upstream may keep the connection open",
        args=r"1\.1",
    ),
    *_parameter("1.29.7", "listen", "multipath"),
    Change(
        version="1.29.8",
        kind=Kind.DEFAULT,
        directive="max_headers",
        block="server",
        after="1000",
        meaning="requests with more header lines are answered with 400; before, only their size was limited",
    ),
    *_behaviour("1.31.0", "http2", _OF_CONNECTIONS, args="on"),
    *_behaviour("1.31.0", "listen", _OF_CONNECTIONS, args=r".*\b(http2|quic)\b.*"),
    *_behaviour(
        "1.31.0",
        "dav_methods",
        "a COPY or MOVE to the same place, into itself, or onto a collection around it is rejected",
        args=r".*\b(COPY|MOVE)\b.*",
    ),
    *_behaviour("1.31.3", "grpc_pass", "response headers above grpc_buffer_size in all are an error (502)"),
    *_behaviour(
        "1.31.3", "proxy_http_version", "response headers above proxy_buffer_size in all are an error (502)", args="2"
    ),
    *_behaviour(
        "1.31.3",
        "xslt_stylesheet",
        "external entities are loaded only with `xml_external_entities on;`. Distributions' security updates changed "
        "this in some older packages, too",
    ),
    *_behaviour(
        "1.31.4",
        "proxy_set_header",
        "HTTP/1.1 requests carry $proxy_host as Host; before, they had no Host",
        args="(?i:host) ",
    ),
    *_behaviour("1.31.4", "grpc_set_header", "it is sent as :authority, no longer as Host", args="(?i:host) .+"),
    *_parameter("1.31.4", "proxy_protocol", "v2", "stream"),
    *_parameter("1.31.4", "proxy_protocol", "v2", "mail"),
)


VARIABLES: Final[Mapping[str, str]] = {
    "connection_time": "1.19.10",
    "ssl_alpn_protocol": "1.21.4",
    "ssl_curve": "1.21.5",
    "proxy_protocol_tlv_": "1.23.2",
    "http3": "1.25.0",
    **dict.fromkeys(("request_port", "is_request_port", "ssl_sigalg", "ssl_client_sigalg"), "1.29.3"),
    **dict.fromkeys(("ssl_ech_status", "ssl_ech_outer_server_name"), "1.29.4"),
    "ssl_sigalgs": "1.31.2",
}
"""nginx's own new variables, and the versions that added them; a name that ends with "_" is a prefix."""


def _of_table() -> Iterator[Change]:
    """Yield the changes that come from the table of directives (tuneproof.conf.directives)."""
    for (name, module), group in groupby(changed(), key=lambda row: (row.name, row.module)):
        rows = list(group)
        if rows[0].since:
            yield Change(version=rows[0].since, kind=Kind.NEW, directive=name, block=_block(rows[0]))
        for old, new in pairwise(rows):
            if new.inheritance != old.inheritance and new.inheritance is Inheritance.NEVER:
                yield _with_words(Change(version=new.since, kind=Kind.IGNORED, directive=name))
            elif new.default and new.default != old.default and module.startswith("ngx_http_"):
                yield _moved(old, new)
        if rows[-1].until:
            gone = Change(version=rows[-1].until, kind=Kind.REMOVED, directive=name, block=_block(rows[-1]))
            yield _with_words(replace(gone, meaning="nginx does not start with it"))


def _moved(old: Directive, new: Directive) -> Change:
    block = "upstream" if new.contexts == {"upstream"} else "server"
    if new.name.startswith(_PASSING):
        block = "location"
    change = Change(
        version=new.since,
        kind=Kind.DEFAULT,
        directive=new.name,
        block=block,
        before=old.default or "",
        after=new.default or "",
        meaning=_REQUESTS[block] if new.name == "keepalive_requests" else "",
    )
    return _with_words(change)


def _block(row: Directive) -> str:
    """Return the block that distinguishes a directive from older ones with its name; empty if there are none."""
    if row.contexts <= {"upstream", "stream upstream"}:
        return "upstream"
    family = row.module.split("_")[1]
    if family in {"stream", "mail"}:
        return family
    others = [other for other in rows_of(row.name) if f"_{family}_" not in other.module]
    return family if any(as_numbers(other.since or "0") < as_numbers(row.since or "0") for other in others) else ""


def _with_words(change: Change) -> Change:
    return replace(change, **_WORDS.get((change.directive, change.version), {}))


def _in_order(changes: Iterable[Change]) -> Iterator[Change]:
    """Yield changes by version; a change for any block replaces the same change for one block."""
    found = {(one.version, one.kind, one.directive, one.parameter, one.args, one.block): one for one in changes}
    for (*rest, block), change in sorted(found.items(), key=lambda item: item[1].numbers):
        if not block or (*rest, "") not in found:
            yield change


CHANGES: Final = tuple(_in_order((*_of_table(), *_BY_HAND)))


def changes_between(old: str, new: str) -> tuple[Change, ...]:
    """Return the changes in the versions after the old one, up to the new one, in order."""
    return tuple(change for change in CHANGES if as_numbers(old) < change.numbers <= as_numbers(new))


def of_directive(name: str) -> tuple[Change, ...]:
    """Return all changes to a directive."""
    return tuple(change for change in CHANGES if change.directive == name)


def since(kind: str, directive: str, parameter: str = "") -> str:
    """Return the version that changed a directive, or a parameter of it, in this way.

    Raises LookupError: No change matches.
    """
    for change in CHANGES:
        if (change.kind, change.directive, change.parameter) == (kind, directive, parameter):
            return change.version
    raise LookupError(f"no change matches {kind} {directive} {parameter}".rstrip())
