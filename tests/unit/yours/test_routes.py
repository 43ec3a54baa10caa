"""Routes of requests to each proxied location."""

from pathlib import Path

import pytest

from tests.support.own_configurations import http, opened
from tuneproof.errors import BadInputError
from tuneproof.yours.routes import Route, Unreachable, probes_of, routes_of

PROXIES = "proxy_pass http://a:1;"
MOVED = "return 301 https://$host$request_uri;"


def routes(folder: Path, text: str, **options: str) -> list[Route | Unreachable]:
    found, _ = opened(folder, http(text))
    return routes_of(found.facts, **options)


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        ("server { location / { PASS } }", "http://lab/tuneproof"),
        ("server { listen 8080; server_name _; location /api/ { PASS } }", "http://lab:8080/api/"),
        ("server { listen [::]:80; listen 80; server_name a.example b.example; location /x { PASS } }",
         "http://a.example/x/tuneproof"),
        ("server { listen 443 ssl; server_name *.b.example; location = /one { PASS } }",
         "https://tuneproof.b.example/one"),
        ("server { listen 443 ssl; listen 80; server_name .c.example; location / { PASS } }",
         "http://c.example/tuneproof"),
        (r"server { listen 80; server_name ~^(?<x>.+)$ d.example; location ~ \.php$ { PASS } }",
         "http://d.example/index.php"),
        (r"server { listen 80; location ~* ^/(api|v1)/ { PASS } }", "http://lab/api/tuneproof"),
        ("server { listen 80; location / { try_files $uri @app; } location @app { PASS } }", "http://lab/tuneproof"),
        ("server { listen 80; location /a/ { location /a/b/ { PASS } } }", "http://lab/a/b/"),
        (r"server { listen 80; location / { PASS } location ~ ^/tune { return 403; } }", "http://lab/"),
        (r"server { listen 81 http2; listen 82; location / { PASS } }", "http://lab:82/tuneproof"),
        (r"server { listen 80; location ~ ^/app\.php(/|$) { PASS } }", "http://lab/app.php/"),
        (r"server { listen 80; location ~ ^/(?:files|media)/(?<id>\d+)/[^/]+\.zip$ { PASS } }", "http://lab/files/1/1.zip"),
        (r"server { listen 80; location ~* ^/u/(.*)/(edit|new)?$ { PASS } }", "http://lab/u/tuneproof/edit"),
        ("server { listen 80; location / { if (!-f $request_filename) { PASS } } }", "http://lab/tuneproof"),
        (f"server {{ listen 80; listen 443 ssl; if ($scheme = http) {{ {MOVED} }} location / {{ PASS }} }}",
         "https://lab/tuneproof"),
        (f"server {{ listen 443 ssl; listen 80; location / {{ if ($https = '') {{ {MOVED} }} PASS }} }}",
         "https://lab/tuneproof"),
        (f"server {{ listen 80; server_name b a; if ($host != a) {{ {MOVED} }} location / {{ PASS }} }}",
         "http://a/tuneproof"),
        ("server { listen 80; if ($http_user_agent ~* (bot|curl)) { return 403; } location / { PASS } }",
         "http://lab/tuneproof"),
        ("server { listen 80; rewrite ^(.*)/$ $1 permanent; location /a/ { PASS } }", "http://lab/a/tuneproof"),
        ("server { listen 80; location /a/ { rewrite ^/a/(.*) /$1 break; PASS } }", "http://lab/a/"),
        (r"server { listen 80; } server { listen 80; server_name ~^(?<x>.+)\.d$; location / { PASS } }",
         "http://tuneproof.d/tuneproof"),
        ("server { listen 80; satisfy any; allow 172.16.0.0/12; deny all; auth_basic a; location / { PASS } }",
         "http://lab/tuneproof"),
        ("server { listen 80; auth_basic a; location / { auth_basic off; PASS } }", "http://lab/tuneproof"),
        ("server { satisfy any; allow ::1; deny all; auth_basic a; location / { auth_request /b; PASS } }",
         "http://lab/tuneproof"),
        ("limit_conn_zone $host zone=z:1m; server { limit_conn z 1; limit_conn_dry_run on; location / { PASS } }",
         "http://lab/tuneproof"),
        ("server { listen 80; location / { auth_request /b; PASS } location = /b { return 204; } }",
         "http://lab/tuneproof"),
        ("server { listen 80; location / { proxy_ssl_verify on; PASS } }", "http://lab/tuneproof"),
        ("upstream u { server 127.0.0.1:80; server a:1; } server { listen 80; location / { proxy_pass http://u; } }",
         "http://lab/tuneproof"),
        ("limit_req_zone $remote_addr zone=z:1m rate=1r/s; server { limit_req zone=z; location / { PASS } }",
         "http://lab/tuneproof"),
        ("limit_req_zone $host zone=z:1m rate=1r/s; server { limit_req zone=z burst=500 nodelay; location / { PASS } }",
         "http://lab/tuneproof"),
        ("map $scheme $tls { https 1; default ''; } server { if ($tls) { return 301 /; } location / { PASS } }",
         "http://lab/tuneproof"),
        ("map $scheme $x { ~s 1; include a; } server { listen 80; if ($x) { return 301 /; } location / { PASS } }",
         "http://lab/tuneproof"),
        ("map $scheme $x { ~*T+P$ 0; default 1; } server { if ($x) { return 301 /; } location / { PASS } }",
         "http://lab/tuneproof"),
        ("map $scheme $x { ~(s) $1; default 0; } server { if ($x) { return 301 /; } location / { PASS } }",
         "http://lab/tuneproof"),
        (r'server { location ~ "^/[0-9]{8}/(?!b)[a-z]{2}-\w+$" { PASS } }', "http://lab/11111111/aa-1"),
        ("geo $a { 10.0.0.0/8 1; } server { if ($a = '') { return 403; } location / { PASS } }", "http://lab/tuneproof"),
        ("geo $a { default 1; include a; } server { if ($a) { return 403; } location / { PASS } }",
         "http://lab/tuneproof"),
        ("server { valid_referers none b; if ($invalid_referer) { return 403; } location / { PASS } }",
         "http://lab/tuneproof"),
        ("server { listen 443 ssl; if ($ssl_client_verify = FAILED) { return 403; } location / { PASS } }",
         "https://lab/tuneproof"),
        ("server { listen 80; location / { limit_except GET { deny all; } PASS } }", "http://lab/tuneproof"),
        ("server { listen 80; location / { internal; PASS } location /b { try_files /x /; } }", "http://lab/b/tuneproof"),
    ],
)  # fmt: skip
def test_a_request_takes_the_route_that_nginx_would_choose(tmp_path: Path, server: str, shown: str) -> None:
    """A route consists of a port that a client can connect to, a name of the server, and a path of the location."""
    found = routes(tmp_path, server.replace("PASS", PROXIES))
    assert [route.shown if isinstance(route, Route) else route.why for route in found][:1] == [shown]


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ("server { listen unix:/s; location / { PASS } }", "cannot connect"),
        ("server { listen [::1]:80; location / { PASS } }", "cannot connect"),
        ("server { listen name.example:80; location / { PASS } }", "cannot connect"),
        ("server { listen 443 quic; location / { PASS } }", "cannot connect"),
        ("server { listen 80; location / { grpc_pass grpc://a:1; } }", "stand-ins do not speak gRPC"),
        ("server { listen 80; location / { memcached_pass a:1; } }", "stand-ins do not speak memcached's protocol"),
        (r'server { listen 80; location ~ "^/(?=[0-9]{8}y)x$" { PASS } }', "no path is known"),
        ("server { listen 80; location / { return 404; } location @never { PASS } }", "no path is known"),
        (f"server {{ listen 80; {MOVED} location / {{ PASS }} }}", "go elsewhere (return at "),
        ("server { listen 80; location / { return 403; PASS } }", "go elsewhere (return at "),
        ("server { listen 80; location / { rewrite ^/(.*) /b/$1 last; PASS } }", "go elsewhere (rewrite at "),
        ("server { listen 80; location / { if ($http_x_key = '') { return 401; } PASS } }", "go elsewhere (if at "),
        ("server { listen 80; location / { if ($request_method = POST) { PASS } } }", "for which an if is true"),
        ("server { listen 80; location / { limit_except GET { PASS } } }", "only methods other than GET"),
        ("server { listen 80; location / { limit_except POST { deny all; } PASS } }", "no access (deny at "),
        (
            "server { listen 80; location / { internal; PASS } }",
            "only nginx's internal redirects reach it (internal at ",
        ),
        ("server { listen 80; auth_basic a; location / { PASS } }", "no access (auth_basic at "),
        ("server { listen 80; satisfy any; deny all; location / { PASS } }", "no access (deny at "),
        (
            "server { listen 80; allow 127.0.0.1; allow 2001:db8::/32; deny all; location / { PASS } }",
            "access (deny at ",
        ),
        (
            "server { listen 80; satisfy any; allow ::1; deny all; auth_basic a; location / { PASS } }",
            "no access (auth_",
        ),
        ("server { listen 443 ssl; ssl_verify_client on; location / { PASS } }", "no access (ssl_verify_client at "),
        ("server { listen 443 ssl; ssl_certificate $host.pem; location / { PASS } }", "its certificate depends"),
        (
            "server { listen 80; location / { proxy_bind 10.0.0.9; PASS } }",
            "no such address in the lab (proxy_bind at ",
        ),
        (
            "server { listen 80; location / { proxy_pass http://$host; } }",
            "its upstream, $host, depends on the request",
        ),
        (r"server { listen 80; location ~ ^/(\w+)$ { proxy_pass http://$1.b; } }", "$1.b, depends on the request"),
        ("server { listen 80 http2; location / { PASS } }", "cannot connect"),
        (
            "server { listen 80; location / { proxy_pass http://127.0.0.1:8080; } } server { listen 8080; }",
            "nginx itself listens on the address of its upstream, 127.0.0.1:8080",
        ),
        (
            "upstream u { server unix:/n; } server { listen unix:/n; listen 80; location / { proxy_pass http://u; } }",
            "nginx itself listens on the address of its upstream, u",
        ),
        (
            "server { listen 80; location / { proxy_ssl_verify on; proxy_pass https://a; } }",
            "a stand-in's certificate (proxy_ssl_verify at ",
        ),
        (
            "server { listen 80; location / { auth_request /b; PASS } location = /b { internal; return 401; } }",
            "no access (return at ",
        ),
        (
            "limit_req_zone $host zone=z:1m rate=1r/s; server { limit_req zone=z burst=9; location / { PASS } }",
            "all clients together would reject the requests (limit_req at ",
        ),
        (
            "limit_conn_zone $host zone=z:1m; server { listen 80; location / { limit_conn z 9; PASS } }",
            "all clients together would reject the requests (limit_conn at ",
        ),
        (
            "map $scheme $plain { https 0; default 1; } server { if ($plain) { return 301 /; } location / { PASS } }",
            "go elsewhere (if at ",
        ),
        ("map $http_user_agent $x { ~*TUNE 1; } server { if ($x) { return 403; } location / { PASS } }", "(if at "),
        ("map $scheme $x { ~s 0; default 1; } server { if ($x) { return 403; } location / { PASS } }", "(if at "),
        ("geo $x { default 1; 203.0.113.0/24 0; } server { if ($x) { return 403; } location / { PASS } }", "(if at "),
        ("server { valid_referers b; if ($invalid_referer) { return 403; } location / { PASS } }", "(if at "),
        ("server { if ($secure_link = '') { return 403; } location / { PASS } }", "(if at "),
        (
            "server { listen 443 ssl; if ($ssl_client_verify != SUCCESS) { return 403; } location / { PASS } }",
            "(if at ",
        ),
        ("server { listen 443 ssl; if ($ssl_client_s_dn !~ CN=a) { return 403; } location / { PASS } }", "(if at "),
        # The reported reason is that of the request that gets furthest: nginx redirects requests without TLS, and
        # asks for a password over TLS.
        (
            (
                f"server {{ listen 80; listen 443 ssl; if ($scheme = http) {{ {MOVED} }} "
                "location / { auth_basic a; PASS } }"
            ),
            "no access (auth_basic at ",
        ),
    ],
)
def test_unreachable_places_are_reported_with_a_reason(tmp_path: Path, server: str, why: str) -> None:
    (found,) = routes(tmp_path, server.replace("PASS", PROXIES))
    assert isinstance(found, Unreachable)
    assert why in found.why


def test_a_server_without_its_own_name_is_not_tested_by_requests_to_another(tmp_path: Path) -> None:
    """Requests without a known name reach the socket's default server."""
    for other in ("server_name _;", "server_name a;"):
        text = f"server {{ listen 80; server_name a; }}\nserver {{ listen 80; {other} location / {{ {PROXIES} }} }}"
        (found,) = routes(tmp_path, text)
        assert isinstance(found, Unreachable)
        assert "server at" in found.why


def test_a_redirect_to_https_is_avoided_by_the_header_of_a_load_balancer(tmp_path: Path) -> None:
    text = f"server {{ listen 80; if ($http_x_forwarded_proto != https) {{ {MOVED} }} location / {{ {PROXIES} }} }}"
    (found,) = routes(tmp_path, text)
    assert isinstance(found, Route)
    assert found.headers == (("X-Forwarded-Proto", "https"),)


def test_individual_addresses_are_reached_on_separate_ports(tmp_path: Path) -> None:
    """Several servers may listen on one port of different addresses. A server on all addresses is reached directly."""
    text = "".join(
        f"server {{ listen {listen}; server_name s{number}; location / {{ {PROXIES} }} }}\n"
        for number, listen in enumerate(("192.0.2.1:443 ssl", "192.0.2.2:443 ssl", "localhost:80", "443 ssl"))
    )
    found = [route for route in routes(tmp_path, text) if isinstance(route, Route)]
    assert [(route.port, route.listens_on) for route in found] == [(28080, 443), (28081, 443), (28082, 80), (443, 443)]
    assert found[0].shown == "https://s0/tuneproof"


def test_a_place_can_be_selected(tmp_path: Path) -> None:
    """A path or a host selects it; an unknown host is an error."""
    text = (
        f"server {{ listen 80; server_name a; location / {{ {PROXIES} }}\n"
        f"location ~ ^/[0-9]{{8}}$ {{ {PROXIES} }} }}\n"
        f"server {{ listen 81; server_name b; location / {{ {PROXIES} }} }}"
    )
    assert [route.shown for route in routes(tmp_path, text, location="/12345678") if isinstance(route, Route)] == [
        "http://a/12345678"
    ]
    assert [route.shown for route in routes(tmp_path, text, host="b") if isinstance(route, Route)] == [
        "http://b:81/tuneproof"
    ]
    with pytest.raises(BadInputError, match="--host c"):
        routes(tmp_path, text, host="c")


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("/x", "no location takes it"),
        ("/y", r"location /y \(nginx.conf:4\) takes it, and does not proxy requests"),
        ("/g", r"location /g \(nginx.conf:4\) takes it, and the lab's stand-ins do not speak gRPC"),
        ("/u", r"location /u \(nginx.conf:5\) takes it, and the lab's client cannot connect"),
    ],
)
def test_a_place_that_cannot_be_selected_is_reported_with_the_location_that_nginx_takes(
    tmp_path: Path, location: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (
        f"server {{ listen 80; location /y {{ return 200; }} location /g {{ grpc_pass a:1; }} }}\n"
        f"server {{ listen unix:/s; location /u {{ {PROXIES} }} }}"
    )
    with pytest.raises(BadInputError, match=f"--location {location}: {why}"):
        routes(Path(), text, location=location)


def test_any_server_may_define_a_sockets_protocols(tmp_path: Path) -> None:
    """The parameters ssl, http2 and proxy_protocol belong to the address and port (ngx_http_add_addresses)."""
    text = (
        f"server {{ listen 443 ssl http2; server_name a; location / {{ {PROXIES} }} }}\n"
        f"server {{ listen *:443 proxy_protocol; server_name b; location / {{ {PROXIES} }} }}\n"
        f"server {{ listen 80; listen 8443 ssl; http2 on; server_name c; location / {{ {PROXIES} }} }}\n"
        f"server {{ listen 8443; http2 on; server_name d; location / {{ {PROXIES} }} }}"
    )
    found = [route for route in routes(tmp_path, text) if isinstance(route, Route)]
    assert [(route.tls, route.http2, route.proxy_protocol) for route in found] == [
        (True, True, True),
        (True, True, True),
        (False, False, False),
        (True, True, False),
    ]


def probes(folder: Path, text: str, **options: str) -> list[str]:
    found, _ = opened(folder, http(text))
    return [probe.shown for probe in probes_of(found.facts, **options)]


def test_every_location_is_probed_with_and_without_tls(tmp_path: Path) -> None:
    """Nested locations are probed, too; a location without a known path is left out."""
    text = (
        "server { listen 80; listen 443 ssl; server_name a; location = /x { return 200; }\n"
        r'location /in/ { location /in/ner/ { deny all; } } location ~ "^/(?=[0-9]y)x$" { return 200; } }'
    )
    paths = ("/", "/x", "/in/", "/in/ner/")
    assert probes(tmp_path, text) == [f"{scheme}://a{path}" for scheme in ("http", "https") for path in paths]


def test_one_path_or_server_can_be_probed(tmp_path: Path) -> None:
    """An unknown path or server is an error in one sentence."""
    text = (
        "server { server_name a; location /x { return 200; } }\nserver { server_name b; location /y { return 200; } }"
    )
    assert probes(tmp_path, text, location="/x/1") == ["http://a/x/1"]
    assert probes(tmp_path, text, host="b") == ["http://b/", "http://b/y/tuneproof"]
    with pytest.raises(BadInputError, match="--location /nope: no server has a location for it"):
        probes(tmp_path, text, location="/nope")
    with pytest.raises(BadInputError, match="--host c: no such server"):
        probes(tmp_path, text, host="c")
