"""Lines that nginx certainly refuses, with its messages; a lab test gives those of tests.support.refused to nginx."""

from pathlib import Path
from typing import Final

import pytest

from tests.support.refused import LOADED, REFUSED, whole
from tuneproof.audit.auditing import audit, audit_source
from tuneproof.conf.sources import Dump
from tuneproof.nginx_changes import LAB_VERSIONS


def problems(text: str, version: str = LAB_VERSIONS[0], *, is_complete: bool = True) -> list[str]:
    found = audit_source(Dump({"nginx.conf": text}, is_complete=is_complete), version=version)
    return [problem.message for problem in found.facts.configuration.problems]


@pytest.mark.parametrize("version", LAB_VERSIONS)
@pytest.mark.parametrize("name", REFUSED)
def test_lines_that_nginx_refuses_are_problems(name: str, version: str) -> None:
    text, message = REFUSED[name]
    [found] = problems(whole(text), version)
    assert message in found


def test_a_missing_semicolon_is_one_problem() -> None:
    """If the number of arguments is wrong, nginx does not look at the words."""
    assert problems(whole("keepalive_timeout 65\ngzip on;"), "1.22") == [
        'invalid number of arguments in "keepalive_timeout" directive'
    ]


@pytest.mark.parametrize("version", LAB_VERSIONS)
@pytest.mark.parametrize("name", LOADED)
def test_lines_that_nginx_loads_are_not_problems(name: str, version: str) -> None:
    assert problems(whole(LOADED[name]), version) == []


@pytest.mark.parametrize(
    "text",
    [
        "upstream a { server 127.0.0.1:1; }\nupstream a { server 127.0.0.1:2; }\n",
        "gzip on;\nserver { }\ngzip on;\n",
        "events { }\nhttp { upstream a { consul 127.0.0.1:8500 app; } }\n",
        "events { }\nhttp { upstream a { include /etc/nginx/peers.conf; } }\n",
        "events { }\nhttp { server { location ${ONE_PATH} { } location ${OTHER_PATH} { } } }\n",
        "events { }\nhttp { upstream ${A_HOST} { server a:1; } upstream ${B_HOST} { server b:1; } }\n",
        "events { }\nhttp { server { access_log /tmp/a ${FORMAT}; limit_req zone=${ZONE}; } }\n",
        "events { }\nhttp { server { location ~ a { proxy_pass http://app${A_PATH}; } } }\n",
        "client_max_body_size ${MAX}m;\nproxy_read_timeout ${WAIT}s;\n",
        "events { }\nrtmp { server { listen 1935; application a { allow publish all; push_on rtmp://b; } } }\n",
        "events { }\nhttp { include conf.d/*.conf; proxy_buffer_size 64k; server { proxy_busy_buffers_size 8k; } }\n",
        "events { }\nhttp { server { proxy_buffer_size 64k; } }\n",
        "events { }\nhttp { server { listen 443 ssl; include /etc/nginx/snippets/tls.conf; } }\n",
        "events { }\nhttp { server { listen ${PORT} ssl; } }\n",
    ],
    ids=[
        *(
            "alternatives-in-a-fragment",
            "lines-in-a-fragment",
            "servers-from-another-module",
            "servers-in-a-missing-file",
        ),
        *("path-placeholders", "name-placeholders", "format-placeholders", "uri-placeholder", "size-placeholders"),
        *("block-of-another-module", "buffers-in-a-missing-file", "buffers-of-large-pages"),
        *("certificate-in-a-missing-file", "certificate-in-a-template"),
    ],
)
def test_lines_that_nginx_may_load_are_not_problems(text: str) -> None:
    assert problems(text, is_complete=False) == []


@pytest.mark.parametrize(
    ("text", "version", "is_known"),
    [
        ("http2 on;", "1.22", False),
        ("http2 on;", "1.26", True),
        ("map $uri $a { http2 on; }", "1.22", True),
        ("spdy_headers_comp 5;", "1.18", True),
        ("spdy_headers_comp 5;", "1.22", False),
        # Debian added this directive to 1.22.1 with a security fix.
        ("max_headers 100;", "1.22", True),
        # A later release of the same branch has this directive, and may be the packaged one.
        ("client_body_early_read on;", "1.31.3", True),
        ("client_body_early_read on;", "1.30", False),
        # nginx Plus, Angie and a packaged module had these directives before.
        ("upstream a { server 127.0.0.1:1; sticky cookie s; }", "1.22", True),
        ("upstream a { server 127.0.0.1:1; resolver 127.0.0.1; }", "1.22", True),
    ],
)
def test_a_version_refuses_the_directives_that_it_lacks(
    tmp_path: Path, text: str, version: str, *, is_known: bool
) -> None:
    (tmp_path / "nginx.conf").write_text(f"events {{ }}\nhttp {{ {text} }}\n", encoding="utf-8")
    given = audit(str(tmp_path), version=version).facts.configuration.problems
    found = [problem.message for problem in given]
    assert found == ([] if is_known else [f'unknown directive "{text.split(maxsplit=1)[0]}"'])


@pytest.mark.parametrize(("version", "messages"), [("1.18", ['invalid parameter "min_free=1g"']), ("1.22", [])])
def test_a_version_refuses_cache_parameters_of_later_versions(
    tmp_path: Path, version: str, messages: list[str]
) -> None:
    text = whole("proxy_cache_path /tmp/a keys_zone=a:1m min_free=1g;")
    (tmp_path / "nginx.conf").write_text(text, encoding="utf-8")
    found = audit(str(tmp_path), version=version).facts.configuration.problems
    assert [problem.message for problem in found] == messages


@pytest.mark.parametrize(
    ("version", "message"), [("1.26", "no ssl_client_certificate for ssl_verify_client"), ("1.30", "")]
)
def test_ssl_verify_client_needs_a_ca_that_the_version_uses(version: str, message: str) -> None:
    """Since 1.27.2, ssl_trusted_certificate is enough."""
    tls = "listen 443 ssl; ssl_certificate $host.pem; ssl_certificate_key $host.key; ssl_trusted_certificate /ca.pem;"
    assert problems(whole(f"server {{ {tls} ssl_verify_client on; }}"), version) == ([message] if message else [])


@pytest.mark.parametrize("version", ["1.29.2", "1.29.3"])
def test_stapling_is_refused_with_compressed_certificates(version: str) -> None:
    """Nginx 1.30.6 reports '"ssl_stapling" is incompatible with "ssl_certificate_compression"'."""
    tls = "ssl_certificate $host.pem; ssl_certificate_key $host.key; ssl_stapling on;"
    is_refused = version == "1.29.3"
    message = '"ssl_stapling" is incompatible with "ssl_certificate_compression"'
    for server, expected in (
        (f"listen 443 ssl; {tls} ssl_certificate_compression on;", [message] if is_refused else []),
        (f"listen 443 ssl; {tls} ssl_certificate_compression off;", []),
        (f"listen 443 ssl; {tls} ssl_certificate_compression on;".replace("stapling on", "stapling off"), []),
        ("listen 80; ssl_stapling on; ssl_certificate_compression on;", []),
    ):
        assert problems(whole(f"server {{ {server} }}"), version) == expected


def test_a_verified_upstream_of_a_stream_needs_a_ca() -> None:
    server = "server { listen 1; proxy_pass 127.0.0.1:2; proxy_ssl_verify on; %s }"
    text = f"events {{ }}\nstream {{ {server} }}\n"
    assert problems(text % "proxy_ssl on;") == ["no proxy_ssl_trusted_certificate for proxy_ssl_verify"]
    assert problems(text % "proxy_ssl on; proxy_ssl_trusted_certificate /ca.pem;") == []
    assert problems(text % "") == []


def test_a_version_refuses_a_directive_in_a_block_where_only_later_versions_allow_it(tmp_path: Path) -> None:
    """In stream{}, server_name is allowed since 1.25.5, and in http{} in all versions."""
    server = "server { listen 443; server_name a; proxy_pass 127.0.0.1:1; }"
    (tmp_path / "nginx.conf").write_text(f"events {{ }}\nstream {{ {server} }}\n", encoding="utf-8")
    given = [audit(str(tmp_path), version=version).facts.configuration.problems for version in ("1.22", "1.26")]
    assert [[one.message for one in each] for each in given] == [['"server_name" directive is not allowed here'], []]


@pytest.mark.parametrize(
    ("listen", "messages"),
    [
        ("listen 80\nserver_name a.example;", ['invalid parameter "server_name"']),
        ("listen 80 udp;", []),
        ("listen ${PORT}\nroot /srv;", ['invalid parameter "root"']),
    ],
)
def test_a_listen_without_its_semicolon_is_also_a_problem_in_a_fragment(listen: str, messages: list[str]) -> None:
    """A fragment's protocol is unknown, so unknown parameters are allowed, except for names of directives."""
    assert problems(f"server {{ {listen} }}\n", is_complete=False) == messages


def test_a_missing_include_is_a_problem_only_if_the_user_named_a_folder(tmp_path: Path) -> None:
    """A folder should contain everything that its nginx.conf includes by a relative name."""
    (tmp_path / "nginx.conf").write_text("events { }\nhttp { include more.conf; }\n", encoding="utf-8")
    alone, folder = (audit(str(named)).facts.configuration for named in (tmp_path / "nginx.conf", tmp_path))
    assert (alone.problems, alone.unseen) == ((), ("more.conf",))
    assert [one.message for one in folder.problems] == ['open() "more.conf" failed (2: No such file or directory)']


def test_a_server_in_a_fragment_may_have_directives_of_any_protocol() -> None:
    """The server may belong to http{}, stream{} or mail{}."""
    in_no_server = "server { limit_req_zone $uri zone=a:1m rate=1r/s; }\n"
    assert problems(in_no_server, is_complete=False) == ['"limit_req_zone" directive is not allowed here']
    for line in ("proxy_pass 127.0.0.1:1;", "auth_http 127.0.0.1/a;", "location / { }"):
        assert problems(f"server {{ listen 81; {line} }}\n", is_complete=False) == []


def test_nginx_conf_needs_events(tmp_path: Path) -> None:
    """A file with another name may contain only the http{} of a configuration."""
    found = []
    for name in ("nginx.conf", "http.conf"):
        (tmp_path / name).write_text("http { server { listen 80; } }\n", encoding="utf-8")
        found.append([one.message for one in audit(str(tmp_path / name)).facts.configuration.problems])
    assert found == [['no "events" section in configuration'], []]


def test_main_and_events_may_have_one_of_each_directive() -> None:
    text = "worker_processes 1;\nworker_processes 2;\nevents { multi_accept on; multi_accept off; }\n"
    assert problems(text) == [f'"{name}" directive is duplicate' for name in ("worker_processes", "multi_accept")]


@pytest.mark.parametrize(
    "lines",
    [
        "server { listen ${HTTP_PORT}; listen ${HTTPS_PORT}; }",
        "server { listen ${A_PORT} default_server; } server { listen ${B_PORT} default_server; }",
        "server { listen 8080; listen ${PORT}; }",
        "upstream ${A_HOST} { server a:1; } server { location / { proxy_pass http://${B_HOST}:80; } }",
        "upstream backend { server 10.0.0.1; } server { location / { proxy_pass ${API_URL}; } }",
    ],
)
def test_two_placeholders_are_not_duplicates(lines: str) -> None:
    assert problems(whole(lines)) == []


def test_a_stand_in_does_not_name_an_upstream_block() -> None:
    text = whole("upstream backend { server 10.0.0.1; } server { location / { proxy_pass http://${API_HOST}; } }")
    [proxied] = audit_source(Dump({"nginx.conf": text}, is_complete=True)).facts.proxied
    assert proxied.target.host == "api-host"


def test_directives_of_other_products_are_not_problems() -> None:
    """Angie has client{} and HTTP/3 to upstreams; healthcheck comes from a separate module."""
    location = "location / { proxy_http_version 3; proxy_pass http://a; }"
    upstream = "upstream a { server 10.0.0.1:1; healthcheck interval=1s; keepalive 8; }"
    text = whole(f"client {{ location @a {{ }} }} {upstream} server {{ {location} }}")
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True), version="1.26")
    assert found.facts.configuration.problems == ()
    assert "HTTP/3" not in found.facts.proxied[0].reuse.why


def test_placeholders_get_distinct_stand_in_values() -> None:
    text = "server { server_name ${A_NAME} ${B_NAME}; listen ${A_PORT}; listen ${B_PORT}; root ${A_ROOT}; } # ${A_PORT}"
    found = audit_source(Dump({"nginx.conf": whole(text)}, is_complete=True), version="1.26")
    values = {one.name: one.value for one in found.facts.configuration.filled}
    assert len({*values.values()}) == len(values) == 5
    assert (values["A_PORT"], values["B_PORT"]) == ("8080", "8081")


_OF_LISTEN = 'is defined for the "listen ... ssl" directive'
_OTHER = "server { listen 443 ssl; ssl_certificate a; ssl_certificate_key b; }"


@pytest.mark.parametrize(
    ("text", "version", "message"),
    [
        ("http { server { listen 443 ssl; ssl_reject_handshake on; } }", "1.22", ""),
        (
            "http { server { listen 443 ssl; ssl_reject_handshake on; } server { listen 443 ssl; server_name a; } }",
            "1.22",
            f'no "ssl_certificate" {_OF_LISTEN}',
        ),
        ("http { server { listen 443; ssl on; } }", "1.22", 'no "ssl_certificate" is defined for the "ssl" directive'),
        (
            "http { server { listen 443 quic; } }",
            "1.26",
            'no "ssl_certificate" is defined for the "listen ... quic" directive',
        ),
        (
            "http { ssl_protocols TLSv1.2; server { listen 443 quic; ssl_certificate a; ssl_certificate_key b; } }",
            "1.26",
            '"ssl_protocols" must enable TLSv1.3 for the "listen ... quic" directive',
        ),
        (
            (
                "http { ssl_certificate a; ssl_certificate_key b; server { listen 443 quic; ssl_protocols TLSv1.3; } "
                "server { listen 443 quic; server_name b; ssl_protocols TLSv1.2; } }"
            ),
            "1.26",
            "",
        ),
        ("http { server { listen 443 ssl; } }", "1.14", ""),
        ("http { server { listen 443 ssl; enable_ntls on; ssl_sign_certificate a; } }", "1.22", ""),
        ("stream { server { listen 443 ssl; proxy_pass a:1; } }", "1.22", f'no "ssl_certificate" {_OF_LISTEN}'),
        (
            "stream { ssl_certificate a; server { listen 443 ssl; proxy_pass a:1; } }",
            "1.22",
            f'no "ssl_certificate_key" {_OF_LISTEN}',
        ),
        ("stream { server { listen 443; ssl_certificate a; proxy_pass a:1; } }", "1.22", ""),
        (
            "stream { server { listen 443; ssl_certificate a; proxy_pass a:1; } }",
            "1.30",
            'no "ssl_certificate_key" is defined for certificate "a"',
        ),
        (f"stream {{ server {{ listen 0.0.0.0:443 ssl; proxy_pass a:1; }} {_OTHER} }}", "1.30", ""),
        ("mail { auth_http a:1; server { listen 993 ssl; } }", "1.30", f'no "ssl_certificate" {_OF_LISTEN}'),
        (
            "mail { auth_http a:1; starttls on; server { listen 143; } }",
            "1.30",
            'no "ssl_certificate" is defined for the "starttls" directive',
        ),
        (
            (
                "mail { auth_http a:1; ssl_certificate a; ssl_certificate b; "
                "server { listen 993 ssl; ssl_certificate_key c; } }"
            ),
            "1.30",
            'no "ssl_certificate_key" is defined for certificate "b" and the "listen ... ssl" directive',
        ),
        ("mail { auth_http a:1; starttls off; server { listen 143; ssl_certificate a; } }", "1.30", ""),
    ],
)
def test_missing_tls_settings_are_reported_as_nginx_reports_them(text: str, version: str, message: str) -> None:
    """The messages are those of nginx 1.18 to 1.31 with the modules of Debian 12 for stream{} and mail{}."""
    assert problems(f"events {{ }} {text}", version) == ([message] if message else [])


_INCOMPATIBLE = '"listen" directive "{}" parameter is incompatible with "udp"'
_TWICE = 'duplicate "0.0.0.0:53" address and port pair'


@pytest.mark.parametrize(
    ("servers", "version", "message"),
    [
        ("stream: listen 53 udp ssl", "1.18", _INCOMPATIBLE.format("ssl")),
        ("stream: listen 53 udp fastopen=4 backlog=4", "1.22", _INCOMPATIBLE.format("fastopen")),
        ("stream: listen 53 udp reuseport", "1.18", ""),
        ("stream: listen 53 http2", "1.22", 'the invalid "http2" parameter'),
        ("stream: listen 53 http2", "1.26", 'invalid parameter "http2"'),
        ("stream: listen 53 default_server", "1.22", 'the invalid "default_server" parameter'),
        ("stream: listen 53 default_server", "1.26", ""),
        ("stream: listen 53 rcvbuf=much", "1.30", 'invalid rcvbuf "rcvbuf=much"'),
        ("stream: listen 53; listen 53 udp", "1.22", ""),
        ("stream: listen 53, listen 53", "1.22", _TWICE),
        ("stream: listen 53, listen 53", "1.30", ""),
        ("stream: listen 53; listen 53", "1.30", "a duplicate listen 0.0.0.0:53"),
        (
            "stream: listen 53 default_server, listen 53 default_server",
            "1.30",
            "a duplicate default server for 0.0.0.0:53",
        ),
        ("stream: listen ${PORT} ssl, listen ${PORT}", "1.30", ""),
        ("mail: listen 53 proxy_protocol; protocol smtp", "1.18", 'the invalid "proxy_protocol" parameter'),
        ("mail: listen 53 proxy_protocol; protocol smtp", "1.22", ""),
        ("mail: listen 53 reuseport; protocol smtp", "1.30", 'invalid parameter "reuseport"'),
        ("mail: listen 53; protocol smtp, listen 53; protocol imap", "1.30", _TWICE),
        ("mail: listen ${PORT}", "1.30", ""),
        ("mail: listen 53", "1.30", "unknown mail protocol for server"),
        ("mail: listen 127.0.0.1:25; auth_http off", "1.30", ""),
        ("mail: protocol smtp", "1.30", 'no "listen" is defined for server'),
    ],
)
def test_servers_in_stream_and_mail_are_refused_as_in_nginx(servers: str, version: str, message: str) -> None:
    """For stream{}, nginx 1.18 to 1.31 print these messages; those for mail{} are in the sources of these versions."""
    protocol, written = servers.split(": ", 1)
    more = "auth_http a:1;" if protocol == "mail" else "ssl_certificate a; ssl_certificate_key b;"
    handler = "proxy_pass a:1;" if protocol == "stream" else ""
    blocks = " ".join(f"server {{ {one}; {handler} }}" for one in written.split(", "))
    found = problems(f"events {{ }} {protocol} {{ {more} {blocks} }}", version)
    assert found == ([message] if message else [])


_PASSED: Final = "server { listen 81; proxy_pass a; }"
_RETURNED: Final = "server { listen 81; return a; }"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"upstream a {{ server 127.0.0.1; }} {_PASSED}", 'no port in upstream "127.0.0.1"'),
        (f"upstream a {{ server [::1]; }} {_PASSED}", 'no port in upstream "[::1]"'),
        (f"upstream a {{ server unix:/a; server [::1]:1; server b:2; }} {_PASSED}", ""),
        (f"upstream a {{ server 127.0.0.1:x; }} {_PASSED}", 'invalid port in upstream "127.0.0.1:x"'),
        (f"upstream a {{ server http://b:1; }} {_PASSED}", 'invalid host in upstream "http://b:1"'),
        (f"upstream a {{ }} {_PASSED}", "no servers are inside upstream"),
        (f"upstream A {{ server b:1; }} {_PASSED}", ""),
        ("upstream a { server b:1; } server { listen 81; proxy_pass a:80; }", 'upstream "a" may not have port 80'),
        (_PASSED, 'no port in upstream "a"'),
        ("server { listen 81; proxy_pass http://b:80; }", 'invalid host in upstream "http://b:80"'),
        ("server { listen 81; proxy_pass unix:/a/b; }", ""),
        ("server { listen 81; proxy_pass $remote_addr; }", ""),
        (f"access_log /a; {_RETURNED}", "log format is not specified"),
        (f"access_log /a combined; {_RETURNED}", 'unknown log format "combined"'),
        (f"log_format combined $status; access_log /a Combined; {_RETURNED}", ""),
        (f"access_log off; {_RETURNED}", ""),
        (f"log_format b $status; access_log /a b gzip=10; {_RETURNED}", 'invalid compression level "10"'),
        (f"limit_conn_zone $remote_addr zone=b:1m; limit_conn b 65536; {_RETURNED}", "connection limit must be less"),
        (f"limit_conn b 1; {_RETURNED}", 'zero size shared memory zone "b"'),
        (f"geo b {{ default 0; }} {_RETURNED}", 'invalid variable name "b"'),
        (f"map $remote_addr $b {{ default 1; default 2; }} {_RETURNED}", "duplicate default map parameter"),
        (f"map $remote_addr $b {{ ~[ab c; }} {_RETURNED}", "missing terminating ] for character class"),
        (f"split_clients $remote_addr $b {{ 60% a; 50% b; }} {_RETURNED}", "percent total is greater than 100%"),
        (f"allow b; {_RETURNED}", 'invalid parameter "b"'),
        (f"resolver 127.0.0.1 valid=x; {_RETURNED}", "invalid parameter: valid=x"),
        (f"proxy_ssl_protocols TLSv1.4; {_RETURNED}", 'invalid value "TLSv1.4"'),
        ("server { listen 81; return $; }", "invalid variable name"),
    ],
)
def test_lines_of_stream_are_problems_if_nginx_refuses_them(text: str, message: str) -> None:
    """Nginx 1.18, 1.22 and 1.30 report these messages."""
    for version in ("1.18", "1.22", "1.30"):
        found = problems(f"events {{ }} stream {{ {text} }}", version)
        assert [message in one for one in found] == [True] * bool(message)


def test_a_server_in_stream_with_a_service_needs_no_port() -> None:
    text = "zone a 64k; resolver 127.0.0.1; server b service=_x._tcp resolve;"
    assert problems(f"events {{ }} stream {{ upstream a {{ {text} }} {_PASSED} }}", "1.30") == []


def test_a_mail_server_needs_auth_http() -> None:
    refusal = ['no "auth_http" is defined for server']
    assert problems("events { } mail { server { listen 25; } }") == refusal
    assert problems("events { } mail { include a.conf; server { listen 25; } }", is_complete=False) == []


def test_quoted_words_of_a_condition_stay_together() -> None:
    text = """events { } http { server { if ( $http_user_agent = "a b" ) { return 403; } if ($uri ~ (a|(b))) { } } }"""
    main = audit_source(Dump({"nginx.conf": text}, is_complete=True), version="1.30").facts.configuration.main
    found = [block.args for block in main.all("if")]
    assert found == [("$http_user_agent", "=", "a b"), ("$uri", "~", "(a|(b))")]


@pytest.mark.parametrize(
    ("upstream", "message"),
    [
        (
            "server b:1 resolve;",
            'resolving names at run time requires upstream "a" in nginx.conf:1 to be in shared memory',
        ),
        (
            "zone a 64k; server b:1 resolve;",
            'no resolver defined to resolve names at run time in upstream "a" in nginx.conf:1',
        ),
        ("zone a 64k; resolver 10.0.0.1; server b:1 resolve;", ""),
        ("server 10.0.0.2:1 resolve; server unix:/b resolve; server [::1]:1 resolve;", ""),
        ("zone a 64k; server b:1;", ""),
    ],
)
@pytest.mark.parametrize("block", ["http", "stream"])
def test_names_resolved_at_run_time_need_a_zone_and_a_resolver(block: str, upstream: str, message: str) -> None:
    """Nginx 1.30 and 1.31 require both. Versions before 1.27.3 lack the parameter resolve."""
    text = f"events {{ }} {block} {{ upstream a {{ {upstream} }} }}"
    assert problems(text, "1.30") == ([message] if message else [])
    assert problems(text, "1.26") == []
    assert problems(text.replace(" }", " include /etc/nginx/a; }", 2), "1.30", is_complete=False) == []


@pytest.mark.parametrize(
    ("http", "unknown"),
    [
        ("server { location / { proxy_set_header Connection $connection_upgrade; } }", "connection_upgrade"),
        ("log_format a '$remote_addr $upstream_adr'; log_format b '$upstream_adr';", "upstream_adr"),
        ("map $http_a $b { default $c; }", "c"),
        ("server { if ($maintenance) { return 503; } }", "maintenance"),
        ("upstream a { hash $session; server 127.0.0.1:1; }", "session"),
        ("map $nothing $b { default a; }", "nothing"),
        ("map $uri $b { '~^/(?<first>[^/]+)' $first; } server { return 200 $first$b; }", ""),
        ("server { location ~ ^/(?P<id>[0-9]+)$ { return 200 \"$ID ${arg_x} $1\"; } rewrite '^/(a)$' /$host$1; }", ""),
        ("server { set $a 1; return 200 $a$sent_http_x$upstream_trailer_y; }", ""),
        ("server { return 200 $session_time; }", "session_time"),
        ("server { return 200 $upstream_first_byte; }", "upstream_first_byte"),
        ("brotli on; server { return 200 $brotli_ratio; }", ""),
        ("server { keyval $a $b zone=c; return 200 $b; }", ""),
        ("server { return 200 $hosté; }", ""),
        ("server { return 200 ${A_NAME}; add_header A ${OTHER}; }", ""),
    ],
)
def test_a_variable_that_nothing_defines_is_refused(http: str, unknown: str) -> None:
    """The usual reason is a missing map. Variables from third-party modules are not refused: no list contains them."""
    text = f"events {{ }} http {{ {http} }}"
    found = [one for one in problems(text) if "variable" in one]
    assert found == ([f'unknown "{unknown}" variable'] if unknown else [])
    assert [one for one in problems(f"include a.conf; {text}", is_complete=False) if "variable" in one] == []


def test_stream_has_its_own_variables() -> None:
    server = "server { listen 1; proxy_pass 127.0.0.1:1; }"
    for name, known in (("session_time", True), ("request_time", False)):
        found = problems(f"events {{ }} stream {{ log_format a ${name}; {server} }}", "1.30")
        assert found == ([] if known else [f'unknown "{name}" variable'])


@pytest.mark.parametrize("version", LAB_VERSIONS)
def test_keepalive_0_is_a_problem_before_1_29_7(version: str) -> None:
    """Source: https://nginx.org/en/CHANGES, 1.29.7: "keepalive 0" turns the default off."""
    is_old = version in {"1.18", "1.22", "1.26"}
    message = 'invalid value "0" in "keepalive" directive'
    assert problems(whole("upstream a { server 127.0.0.1:1; keepalive 0; }"), version) == [message] * is_old


def test_http_and_stream_cannot_share_a_zone() -> None:
    block = "upstream a { zone a 64k; server 127.0.0.1:1; }"
    text = f"events {{ }}\nhttp {{ {block} }}\nstream {{ {block} }}\n"
    assert problems(text) == ['the shared memory zone "a" is already declared for a different use']


def test_an_unknown_thread_pool_may_be_in_a_missing_file() -> None:
    text = "include pools/*.conf;\nevents { }\nhttp { aio threads=pool; }\n"
    assert problems(text, is_complete=False) == []
    assert problems("thread_pool pool threads=2;\nevents { }\nhttp { aio threads=pool; }\n") == []
