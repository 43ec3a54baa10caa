"""The table of directives: defaults, inheritance and error messages for a version and a context."""

import pytest

from tuneproof.conf.directives import CONTEXTS, Inheritance, argument_problem, directive, everything, known, rows_of


def inheritance(name: str, context: str, version: tuple[int, ...] = (1, 30)) -> str:
    found = directive(name, version, context=context)
    assert found is not None
    return found.inheritance


@pytest.mark.parametrize(
    ("name", "context", "version", "default"),
    [
        ("proxy_http_version", "location", (1, 29, 6), "1.0"),
        ("proxy_http_version", "location", (1, 29, 7), "1.1"),
        ("keepalive", "upstream", (1, 29, 6), None),
        ("keepalive", "upstream", (1, 29, 7), "32 local"),
        ("keepalive_requests", "server", (1, 18), "100"),
        ("keepalive_requests", "upstream", (1, 22), "1000"),
        ("ssl_protocols", "server", (1, 22), "TLSv1 TLSv1.1 TLSv1.2"),
        ("ssl_protocols", "server", (1, 26), "TLSv1 TLSv1.1 TLSv1.2 TLSv1.3"),
        ("ssl_protocols", "stream server", (1, 30), "TLSv1.2 TLSv1.3"),
        ("keepalive_timeout", "server", (1, 18), "75s"),
        ("keepalive_timeout", "upstream", (1, 18), "60s"),
        ("client_body_buffer_size", "http", (1, 30), "8k"),
        ("proxy_buffers", "location", (1, 30), "8 4k"),
        ("ssl_session_timeout", "http", (1, 30), "5m"),
        ("worker_connections", "events", (1, 18), "512"),
        ("access_log", "http", (1, 30), None),
    ],
)
def test_a_default_depends_on_the_version(
    name: str, context: str, version: tuple[int, ...], default: str | None
) -> None:
    found = directive(name, version, context=context)
    assert found is not None
    assert found.default == default


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        (
            Inheritance.INHERITED,
            "gzip http, root http, proxy_read_timeout server, auth_basic http, worker_processes main",
        ),
        (
            Inheritance.REPLACED,
            "proxy_set_header http, add_header server, error_page http, access_log http, index server",
        ),
        (Inheritance.REPLACED, "fastcgi_param http, allow http, limit_req server, ssl_certificate http, types http"),
        (
            Inheritance.NEVER,
            "proxy_pass location, try_files server, rewrite server, return server, if server, listen server",
        ),
        (Inheritance.NEVER, "keepalive upstream, server upstream, stub_status location, http2_push http"),
    ],
)
def test_an_inner_block_inherits_replaces_or_ignores_outer_directives(kind: Inheritance, places: str) -> None:
    for place in places.split(", "):
        name, context = place.split()
        assert inheritance(name, context) == kind, place


def test_a_name_in_several_modules_is_resolved_by_its_context() -> None:
    """Without a context, the row for http is used."""
    modules = {context: row.module for context in CONTEXTS if (row := directive("server", (1, 30), context=context))}
    assert modules == {
        "http": "ngx_http_core_module",
        "upstream": "ngx_http_upstream_module",
        "stream": "ngx_stream_core_module",
        "stream upstream": "ngx_stream_upstream_module",
        "mail": "ngx_mail_core_module",
    }
    found = directive("proxy_timeout", (1, 30))
    assert found is not None
    assert found.contexts == {"stream", "stream server"}
    first = directive("proxy_pass", (1, 30))
    assert first is not None
    assert first.module == "ngx_http_proxy_module"


def test_a_version_has_earlier_directives_unless_they_were_removed() -> None:
    assert directive("ssl", (1, 25, 0), context="server") is not None
    assert directive("ssl", (1, 25, 1), context="server") is None
    assert directive("max_headers", (1, 29, 7)) is None
    assert directive("max_headers", (1, 29, 8)) is not None
    assert directive("max_headers", (2, 0)) is not None
    assert directive("no_such", (1, 30)) is None


NOT_CLOSED = 'directive "gzip" is not terminated by ";"'
NUMBER = 'invalid number of arguments in "{}" directive'
SWITCH = 'invalid value "{1}" in "{0}" directive, it must be "on" or "off"'


@pytest.mark.parametrize(
    ("line", "context", "version", "problem"),
    [
        ("gzip on", "http", None, ""),
        ("gzip ON", "http", None, ""),
        ("gzip yes", "http", None, SWITCH.format("gzip", "yes")),
        ("gzip", "http", None, NUMBER.format("gzip")),
        ("gzip on {", "http", None, NOT_CLOSED),
        ("gzip on", "upstream", None, '"gzip" directive is not allowed here'),
        ("server {", "http", None, ""),
        ("server", "http", None, 'directive "server" has no opening "{"'),
        ("server", "upstream", None, NUMBER.format("server")),
        ("server a", "upstream", None, ""),
        ("server a", "", None, ""),
        ("server a", "geo", None, ""),
        ("gzip yes", "", None, SWITCH.format("gzip", "yes")),
        ("log_format a", "http", None, NUMBER.format("log_format")),
        ("log_format a b c d e f g h i j", "http", None, ""),
        ("auth_http_header a b", "mail", None, ""),
        ("keepalive 8 local", "upstream", (1, 26), NUMBER.format("keepalive")),
        ("keepalive 8 local", "upstream", (1, 30), ""),
        ("keepalive 8 local", "upstream", None, ""),
        ("ssl on", "server", (1, 30), ""),
        ("ssl yes", "server", None, SWITCH.format("ssl", "yes")),
        ("max_headers", "http", None, NUMBER.format("max_headers")),
        ("proxy_protocol v2", "stream", (1, 30), SWITCH.format("proxy_protocol", "v2")),
        ("proxy_protocol v2", "stream", None, ""),
        ("ssl_ocsp leaf", "server", (1, 22), ""),
        ("geoip2 a {", "http", None, ""),
        ("js_content", "location", None, ""),
        ("include a b", "server", None, NUMBER.format("include")),
    ],
)
def test_a_line_that_nginx_refuses_is_reported_with_its_message(
    line: str, context: str, version: tuple[int, ...] | None, problem: str
) -> None:
    """Without a version, only lines that all versions refuse are reported. Third-party directives are not checked."""
    name, *args = line.removesuffix(" {").split()
    found = argument_problem(name, args, has_block=line.endswith("{"), context=context, version=version)
    assert found == problem


def test_directives_of_other_modules_are_known_without_rows() -> None:
    assert {"proxy_pass", "js_content", "health_check"} <= known()
    assert rows_of("js_content") == rows_of("no_such") == ()


def test_a_directives_rows_do_not_overlap() -> None:
    """In each context, exactly one row of a directive applies to a version."""
    rows = list(everything())
    assert len(rows) > 800
    for row in rows:
        assert row.contexts <= set(CONTEXTS)
        bound = row.since or "1.18.0"
        version = tuple(map(int, bound.split(".")))
        same = [one for one in rows_of(row.name) if one.contexts & row.contexts and one.is_in(version)]
        assert same == [row]
