"""Routes of requests to each proxied location."""

from pathlib import Path

import pytest

from tests.support.own_configurations import http, opened
from tests.support.tables import table
from tuneproof.errors import BadInputError
from tuneproof.yours.routes import Route, Unreachable, probes_of, routes_of

PROXIES = "proxy_pass http://a:1;"
MOVED = "return 301 https://$host$request_uri;"


def routes(folder: Path, text: str, **options: str) -> list[Route | Unreachable]:
    found, _ = opened(folder, http(text))
    return routes_of(found.facts, **options)


@pytest.mark.parametrize(("server", "shown"), table("routes"))
def test_a_request_takes_the_route_that_nginx_would_choose(tmp_path: Path, server: str, shown: str) -> None:
    """A route consists of a port that a client can connect to, a name of the server, and a path of the location."""
    found = routes(tmp_path, server.replace("PASS", PROXIES).replace("MOVED", MOVED))
    assert [route.shown if isinstance(route, Route) else route.why for route in found][:1] == [shown]


@pytest.mark.parametrize(("server", "why"), table("unreachable"))
def test_unreachable_places_are_reported_with_a_reason(tmp_path: Path, server: str, why: str) -> None:
    (found,) = routes(tmp_path, server.replace("PASS", PROXIES).replace("MOVED", MOVED))
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
    text = (
        f"server {{ listen 80; server_name a; location / {{ {PROXIES} }}\n"
        f"location ~ '^/[0-9]{{8}}$' {{ {PROXIES} }} }}\n"
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
    text = (
        "server { server_name a; location /x { return 200; } }\nserver { server_name b; location /y { return 200; } }"
    )
    assert probes(tmp_path, text, location="/x/1") == ["http://a/x/1"]
    assert probes(tmp_path, text, host="b") == ["http://b/", "http://b/y/tuneproof"]
    with pytest.raises(BadInputError, match="--location /nope: no server has a location for it"):
        probes(tmp_path, text, location="/nope")
    with pytest.raises(BadInputError, match="--host c: no such server"):
        probes(tmp_path, text, host="c")
