"""Rows are adapted to stream{}, to the module that connects to the upstream, and to the directive in a message."""

import re

import pytest

from tuneproof.explain.diagnosis.particulars import applied
from tuneproof.messages.rows import messages


@pytest.mark.parametrize("name", [row.id for row in messages().values() if row.in_stream is not None])
def test_the_texts_of_a_row_are_replaced_by_those_for_stream(name: str) -> None:
    row = messages()[name]
    adapted = applied(row, "", only_streams=True)
    assert (adapted.id, adapted.name, adapted.words) == (row.id, row.name, row.words)
    assert adapted != row
    assert applied(row, "", only_streams=False) is row


@pytest.mark.parametrize("name", ["upstream_refused", "upstream_socket_missing", "upstream_handshake_timeout"])
def test_the_popular_wrong_advice_for_stream_names_proxy_timeout(name: str) -> None:
    """With proxy_read_timeout in stream{} or mail{}, nginx does not start."""
    popular = str(applied(messages()[name], "", only_streams=True).wrong)
    assert "proxy_timeout" in popular
    assert "proxy_read_timeout" not in popular


@pytest.mark.parametrize(
    ("scheme", "name"),
    [
        *(("fastcgi", "fastcgi_read_timeout"), ("uwsgi", "uwsgi_read_timeout"), ("suwsgi", "uwsgi_read_timeout")),
        *(("scgi", "scgi_read_timeout"), ("grpc", "grpc_read_timeout"), ("grpcs", "grpc_read_timeout")),
        *(("http", "proxy_read_timeout"), ("https", "proxy_read_timeout")),
    ],
)
def test_directives_are_those_of_the_module_that_connects_to_the_upstream(scheme: str, name: str) -> None:
    row = applied(messages()["upstream_header_timeout"], "", only_streams=False, schemes=[scheme])
    assert name in row.happened
    assert ("proxy_" in f"{row.happened} {row.first} {row.wrong}") == scheme.startswith("http")
    assert ("curl -w" in row.confirm) == scheme.startswith("http")


RESET = ("upstream_reset", "upstream_closed_early", "upstream_no_port", "upstream_refused", "upstream_connection_lost")


@pytest.mark.parametrize(
    ("name", "scheme", "named", "omitted"),
    [
        # With fastcgi_keep_conn, each idle connection occupies a PHP-FPM child; uwsgi and scgi have no such option.
        *((name, scheme, "", "keepalive") for name in RESET for scheme in ("fastcgi", "uwsgi", "scgi")),
        # An HTTP port behind fastcgi_pass or grpc_pass needs proxy_pass.
        ("upstream_fastcgi_protocol", "fastcgi", "proxy_pass", "grpc_"),
        ("upstream_http2_not_http2", "grpc", "proxy_pass", "fastcgi_"),
        # The grpc module has no grpc_busy_buffers_size.
        ("upstream_too_big_header", "grpc", "grpc_buffer_size", "_busy_buffers_size"),
        # The row's proxy_ directives are renamed, and no other module's directives are named.
        ("upstream_too_big_header", "uwsgi", "^Raise uwsgi_buffer_size", "proxy_|fastcgi_|grpc_"),
    ],
)
def test_the_remedy_suits_the_module_that_connects_to_the_upstream(
    name: str, scheme: str, named: str, omitted: str
) -> None:
    adapted = applied(messages()[name], "", only_streams=False, schemes=[scheme])
    assert re.search(named, adapted.first)
    assert not re.search(omitted, adapted.first)
    assert "gunicorn" not in adapted.why


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        *(("http", "proxy_http_version"), ("fastcgi", "fastcgi_pass unix:"), ("uwsgi", "uwsgi_pass unix:")),
        *(("scgi", "scgi_pass unix:"), ("grpc", "that grpc_pass names"), ("memcached", "that memcached_pass names")),
    ],
)
def test_each_module_has_its_own_remedy_for_a_lack_of_local_ports(scheme: str, words: str) -> None:
    adapted = applied(messages()["upstream_no_port"], "", only_streams=False, schemes=[scheme])
    assert words in adapted.first
    assert ("proxy_" in adapted.first) == (scheme == "http")


def test_messages_about_several_modules_have_the_remedy_for_each() -> None:
    """The remedy for the most frequent module comes first."""
    row = messages()["upstream_no_port"]
    adapted = applied(row, "", only_streams=False, schemes=["scgi", "uwsgi", "http"]).first
    places = [
        adapted.index(words) for words in ("scgi_pass unix:", "For upstreams behind uwsgi_pass: ", "proxy_http_version")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("name", ["upstream_reset", "upstream_closed_early", "upstream_header_timeout"])
def test_texts_about_memcached_omit_http(name: str) -> None:
    adapted = applied(messages()[name], "", only_streams=False, schemes=["memcached"])
    assert "gunicorn" not in adapted.why
    assert "curl" not in adapted.confirm
    assert "proxy_" not in f"{adapted.happened} {adapted.first} {adapted.wrong}"


def test_the_directives_of_further_modules_are_named() -> None:
    row = applied(messages()["upstream_header_timeout"], "", only_streams=False, schemes=["http", "fastcgi", "grpc"])
    assert row.first.endswith(
        "For upstreams behind fastcgi_pass and grpc_pass, the directives begin with fastcgi_ and grpc_."
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("http2", "new in nginx 1.25.1"),
        ("sticky", "new in nginx 1.29.6"),
        ("ssl", "nginx 1.25.1 removed"),
        ("stream", "libnginx-mod-stream"),
        ("gzip_static", "ngx_http_gzip_static_module"),
        ("brotli", "ngx_http_brotli_filter_module"),
        ("content_by_lua_block", "libnginx-mod-http-lua"),
        ("passenger_enabled", "Phusion Passenger"),
        ("vhost_traffic_status_zone", "nginx-module-vts"),
        ("listn", "did you mean listen"),
        ("more_set_header", "did you mean more_set_headers"),
        ("brotli_staic", "did you mean brotli_static"),
        ("lua_ssl_trusted_certificate", "libnginx-mod-http-lua"),
        ("geoip2_proxy", "libnginx-mod-http-geoip2"),
        ("4}$", "Put the pattern in quotes"),
        ("events:", "Write events and a space"),
        ("\ufeffserver", "byte order mark"),
        ("\u201cserver\u201d", "typographic quote"),
    ],
)
def test_why_a_directive_is_unknown_depends_on_its_name(name: str, words: str) -> None:
    row = messages()["unknown_directive"]
    adapted = applied(row, f'unknown directive "{name}" in /etc/nginx/nginx.conf:7', only_streams=False)
    assert words in f"{adapted.why} {adapted.first}"
    assert adapted.id == row.id


@pytest.mark.parametrize("name", ["http://127.0.0.1:3000", "xqzwv"])
def test_a_directive_without_known_facts_keeps_the_rows_text(name: str) -> None:
    row = messages()["unknown_directive"]
    assert applied(row, f'unknown directive "{name}" in /etc/nginx/nginx.conf:7', only_streams=False) is row


@pytest.mark.parametrize(
    ("row", "message", "words"),
    [
        ("directive_not_allowed", '"proxy_pass" directive is not allowed here', "allowed in location"),
        ("directive_not_allowed", '"http" directive is not allowed here', "outside of all blocks"),
        ("directive_arguments", 'invalid number of arguments in "proxy_set_header" directive', "takes 2."),
        ("directive_arguments", 'invalid number of arguments in "server_name" directive', "takes 1 or more."),
        ("directive_arguments", 'invalid number of arguments in "keepalive_timeout" directive', "takes 1 to 2."),
    ],
)
def test_the_row_names_where_and_with_how_many_arguments_a_directive_is_allowed(
    row: str, message: str, words: str
) -> None:
    adapted = applied(messages()[row], f"{message} in /etc/nginx/nginx.conf:7", only_streams=False)
    assert words in adapted.happened
    unknown = applied(messages()[row], message.replace('"', '"x'), only_streams=False)
    assert unknown is messages()[row]


@pytest.mark.parametrize(("client", "is_loop"), [("127.0.0.1", True), ("10.0.0.9", False)])
def test_a_proxy_loop_is_suspected_if_client_and_upstream_are_local(client: str, *, is_loop: bool) -> None:
    """Such a loop exhausts any number of worker_connections."""
    adapted = applied(
        messages()["worker_connections"],
        f"512 worker_connections are not enough while connecting to upstream, client: {client}, server: a, "
        'request: "GET / HTTP/1.0", upstream: "http://127.0.0.1:80/", host: "a"',
        only_streams=False,
    )
    assert ("lead back to nginx itself" in adapted.why) is is_loop
