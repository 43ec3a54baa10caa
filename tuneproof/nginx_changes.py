"""What nginx has learnt, forgotten and changed its mind about since 1.18: directives, parameters, defaults.

The one table of that kind. Each row is of nginx's own CHANGES (https://nginx.org/en/CHANGES), under its version; the
lab tries every directive and every default that shows from outside on the four versions that it has.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tuneproof.wording import as_numbers

LAB_VERSIONS: Final = ("1.18", "1.22", "1.26", "1.30")
"""What the four suites of Debian have, the oldest first."""


class Kind(StrEnum):
    """What a version has done."""

    NEW = "new"
    DEFAULT = "default"
    DEPRECATED = "deprecated"  # works, with a warning
    IGNORED = "ignored"  # does nothing, with a warning
    REMOVED = "removed"  # nginx does not start with it


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change of one directive, or of one of its parameters."""

    version: str
    kind: Kind
    directive: str
    parameter: str = ""  # as written, or how it begins where it ends with "="
    block: str = ""  # the block in which it is meant; empty for any
    before: str = ""  # an old default, as it would be written; empty where it cannot be
    after: str = ""
    instead: str = ""  # what is to be written now
    meaning: str = ""  # what changes for whom, in a sentence
    without_header: str = ""  # what changes besides, unless proxy_set_header says something of Connection

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers, which compare as versions do."""
        return as_numbers(self.version)


def _new(version: str, *directives: str, block: str = "") -> Iterator[Change]:
    for directive in directives:
        yield Change(version=version, kind=Kind.NEW, directive=directive, block=block)


def _parameter(version: str, directive: str, parameter: str, block: str = "") -> Change:
    return Change(version=version, kind=Kind.NEW, directive=directive, parameter=parameter, block=block)


_SENT_TO_TLS: Final = "handshakes of the upstream with TLSv1 and TLSv1.1 fail"
_TO_TLS13: Final = "TLSv1.3 is offered to the upstream as well"
_OLD_PROTOCOLS: Final = "TLSv1 TLSv1.1 TLSv1.2"
_ALL_PROTOCOLS: Final = "TLSv1 TLSv1.1 TLSv1.2 TLSv1.3"
_NEW_PROTOCOLS: Final = "TLSv1.2 TLSv1.3"

CHANGES: Final = (
    *_new("1.19.0", "ssl_ocsp", "ssl_ocsp_cache", "ssl_ocsp_responder"),
    *(_parameter("1.19.1", f"{kind}_cache_path", "min_free=") for kind in ("proxy", "fastcgi", "scgi", "uwsgi")),
    *_new("1.19.3", "proxy_cookie_flags", "userid_flags"),
    *_new("1.19.3", "set", block="stream"),
    *_new("1.19.4", "ssl_conf_command", "proxy_ssl_conf_command", "grpc_ssl_conf_command", "uwsgi_ssl_conf_command"),
    *_new("1.19.4", "ssl_reject_handshake"),
    *_new("1.19.4", "proxy_smtp_auth", block="mail"),
    *(
        Change(version="1.19.7", kind=Kind.IGNORED, directive=directive, instead=instead)
        for directive, instead in (
            ("http2_recv_timeout", "client_header_timeout"),
            ("http2_idle_timeout", "keepalive_timeout"),
            ("http2_max_requests", "keepalive_requests"),
            ("http2_max_field_size", "large_client_header_buffers"),
            ("http2_max_header_size", "large_client_header_buffers"),
        )
    ),
    *_new("1.19.10", "keepalive_time"),
    Change(
        version="1.19.10",
        kind=Kind.DEFAULT,
        directive="keepalive_requests",
        block="server",
        before="100",
        after="1000",
        meaning="clients keep a connection for ten times as many requests",
    ),
    Change(
        version="1.19.10",
        kind=Kind.DEFAULT,
        directive="keepalive_requests",
        block="upstream",
        before="100",
        after="1000",
        meaning="a connection to the upstream is kept for ten times as many requests",
    ),
    Change(
        version="1.19.10",
        kind=Kind.DEFAULT,
        directive="keepalive_time",
        block="server",
        after="1h",
        meaning="a client's connection is closed after its first request past one hour; before, there was no limit",
    ),
    *_new("1.21.0", "max_errors", block="mail"),
    *_new("1.21.4", "proxy_half_close", "ssl_alpn", block="stream"),
    *_new("1.21.4", "mp4_start_key_frame"),
    Change(
        version="1.21.4",
        kind=Kind.DEFAULT,
        directive="sendfile_max_chunk",
        block="server",
        before="0",
        after="2m",
        meaning="one fast download no longer keeps a worker in sendfile(2) for itself",
    ),
    _parameter("1.23.1", "resolver", "ipv4=off"),
    Change(
        version="1.23.4",
        kind=Kind.DEFAULT,
        directive="ssl_protocols",
        block="server",
        before=_OLD_PROTOCOLS,
        after=_ALL_PROTOCOLS,
        meaning="clients get TLSv1.3",
    ),
    *(
        Change(
            version="1.23.4",
            kind=Kind.DEFAULT,
            directive=f"{kind}_ssl_protocols",
            block="location",
            before=_OLD_PROTOCOLS,
            after=_ALL_PROTOCOLS,
            meaning=_TO_TLS13,
        )
        for kind in ("proxy", "grpc", "uwsgi")
    ),
    *_new("1.25.0", "http3", "http3_hq", "http3_max_concurrent_streams", "http3_stream_buffer_size"),
    *_new("1.25.0", "quic_active_connection_id_limit", "quic_bpf", "quic_gso", "quic_host_key", "quic_retry"),
    _parameter("1.25.0", "listen", "quic"),
    *_new("1.25.1", "http2"),
    Change(
        version="1.25.1",
        kind=Kind.DEPRECATED,
        directive="listen",
        parameter="http2",
        instead="http2 on;",
        meaning="nginx warns of it at each start; `http2 on;` says the same for one server",
    ),
    *(
        Change(
            version="1.25.1",
            kind=Kind.IGNORED,
            directive=directive,
            meaning="server push was removed, and browsers have left it before",
        )
        for directive in ("http2_push", "http2_push_preload", "http2_max_concurrent_pushes")
    ),
    Change(
        version="1.25.1",
        kind=Kind.REMOVED,
        directive="ssl",
        instead="listen … ssl",
        meaning="nginx does not start with it",
    ),
    *_new("1.25.5", "pass", block="stream"),
    *_new("1.25.5", "server_name", block="stream"),
    *_new("1.27.2", "proxy_pass_trailers"),
    Change(
        version="1.27.3",
        kind=Kind.DEFAULT,
        directive="ssl_protocols",
        block="server",
        before=_ALL_PROTOCOLS,
        after=_NEW_PROTOCOLS,
        meaning="clients that speak no TLSv1.2 are turned away",
    ),
    *(
        Change(
            version="1.27.3",
            kind=Kind.DEFAULT,
            directive=f"{kind}_ssl_protocols",
            block="location",
            before=_ALL_PROTOCOLS,
            after=_NEW_PROTOCOLS,
            meaning=_SENT_TO_TLS,
        )
        for kind in ("proxy", "grpc", "uwsgi")
    ),
    _parameter("1.27.3", "server", "resolve", "upstream"),
    _parameter("1.27.3", "server", "service=", "upstream"),
    *_new("1.27.3", "resolver", "resolver_timeout", block="upstream"),
    *_new("1.27.4", "ssl_object_cache_inheritable", "ssl_certificate_cache", "keepalive_min_timeout"),
    *_new("1.27.4", "proxy_ssl_certificate_cache", "grpc_ssl_certificate_cache", "uwsgi_ssl_certificate_cache"),
    *_new("1.29.0", "early_hints"),
    *_new("1.29.1", "ssl_certificate_compression"),
    *_new("1.29.3", "add_header_inherit", "add_trailer_inherit"),
    *_new("1.29.4", "ssl_ech_file"),
    _parameter("1.29.4", "proxy_http_version", "2"),
    *_new("1.29.6", "sticky", block="upstream"),
    _parameter("1.29.6", "server", "route=", "upstream"),
    _parameter("1.29.6", "server", "drain", "upstream"),
    Change(
        version="1.29.7",
        kind=Kind.DEFAULT,
        directive="proxy_http_version",
        block="location",
        before="1.0",
        after="1.1",
        meaning="the upstream may answer in chunks",
        without_header="it may keep the connection, since Connection: close is no longer sent",
    ),
    Change(
        version="1.29.7",
        kind=Kind.DEFAULT,
        directive="keepalive",
        block="upstream",
        before="0",
        after="32",
        meaning="each worker keeps idle connections to this upstream",
    ),
    _parameter("1.29.7", "keepalive", "local", "upstream"),
    _parameter("1.29.7", "listen", "multipath"),
    *_new("1.29.8", "max_headers"),
    Change(
        version="1.29.8",
        kind=Kind.DEFAULT,
        directive="max_headers",
        block="server",
        after="1000",
        meaning="requests with more header lines are answered by 400; before, only their size was limited",
    ),
)


def changes_between(old: str, new: str) -> tuple[Change, ...]:
    """Return what came with the versions after the old one, up to the new one, in their order."""
    return tuple(change for change in CHANGES if as_numbers(old) < change.numbers <= as_numbers(new))


def of_directive(name: str) -> tuple[Change, ...]:
    """Return all that has happened to a directive."""
    return tuple(change for change in CHANGES if change.directive == name)


def since(kind: str, directive: str, parameter: str = "") -> str:
    """Return the version that changed a directive, or a parameter of it, in some way.

    Raises LookupError: None has.
    """
    for change in CHANGES:
        if (change.kind, change.directive, change.parameter) == (kind, directive, parameter):
            return change.version
    raise LookupError(f"nothing here has {kind} {directive} {parameter}".rstrip())
