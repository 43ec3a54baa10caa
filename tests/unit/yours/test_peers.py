"""The servers that nginx contacts with a configuration."""

from pathlib import Path

import pytest

from tests.support.own_configurations import http, opened
from tuneproof.yours.peers import Peers, own_ports, peers_of


def peers(folder: Path, text: str) -> Peers:
    found, _ = opened(folder, http(text))
    return peers_of(found.facts)


def test_each_kind_of_peer_gets_its_stand_in(tmp_path: Path) -> None:
    """Peers are names, addresses, ports of this machine and unix sockets; default ports depend on the scheme."""
    found = peers(
        tmp_path,
        "upstream app { server app1.internal:8080; server 10.0.0.2:8081 backup; server unix:/run/app.sock; }\n"
        "upstream idle { server never.used:99; }\n"
        "server { listen 80;\n"
        "location / { proxy_pass http://app; }\n"
        "location /tls { proxy_pass https://secure.example; }\n"
        "location /local { proxy_pass http://localhost:3000; }\n"
        "location /loop { proxy_pass http://127.0.0.1:3001/x; }\n"
        "location ~ php { fastcgi_pass unix:/run/php/fpm.sock; } }",
    )
    assert found.names == ("app1.internal", "secure.example", "never.used")
    assert found.addresses == ("10.0.0.2",)
    assert found.ports == (99, 443, 8080, 8081)
    assert found.local_ports == (3000, 3001)
    assert found.sockets == ("/run/app.sock", "/run/php/fpm.sock")
    assert found.left_out == ()


def test_a_port_on_another_address_does_not_belong_to_nginx_itself(tmp_path: Path) -> None:
    """A backend on this machine may have the same port on 127.0.0.1."""
    text = "server { listen 192.0.2.1:80; listen [::]:80; location / { proxy_pass http://127.0.0.1:80; } }"
    found = peers(tmp_path, text)
    assert (found.local_ports, found.local_addresses) == ((80,), ("127.0.0.1",))


@pytest.mark.parametrize(
    ("listens", "to", "ports"),
    [
        ("http { server { listen 8000-8002; } }", "", {8000, 8001, 8002}),
        ("http { server { listen 127.0.0.2:80; listen 192.0.2.1:81; } }", "127.0.0.1", {80}),
        ("http { server { listen [::]:80; } }", "127.0.0.1", set()),
        ("http { server { listen [::]:80 ipv6only=off; listen [::1]:81; } }", "127.0.0.1", {80}),
        ("http { server { listen [::1]:80; listen 81; listen [::]:82; } }", "::1", {80, 82}),
        ("http { server { listen localhost:80; listen unix:/run/a.sock; } server { } }", "127.0.0.1", {80}),
        ("http { server { listen 443 quic; listen 80; } }", "", {80}),
        ("stream { server { listen 53 udp; } server { listen 5432; } server { listen [::1]:53; } }", "", {53, 5432}),
    ],
)
def test_all_ports_of_nginx_itself_are_found(tmp_path: Path, listens: str, to: str, ports: set[int]) -> None:
    """A listen directive may have a range, be for both address families, or be in stream{}; QUIC uses UDP."""
    found, _ = opened(tmp_path, {"nginx.conf": f"events {{ }}\n{listens}\n"}, version="1.26")
    assert own_ports(found.facts, to=to) == ports


def test_variables_are_followed_as_far_as_the_files_define_them(tmp_path: Path) -> None:
    found = peers(
        tmp_path,
        'resolver 10.9.9.9:53 127.0.0.53 [::1] valid=10s;\nserver { listen 80; set $up "api.internal";\n'
        "location / { proxy_pass http://$up:9000; }\nlocation /any { proxy_pass http://$host; } }",
    )
    assert (found.names, found.ports) == (("api.internal",), (9000,))
    assert found.left_out == ("$host: it has no stand-in",)
    assert found.resolvers == ("10.9.9.9", "127.0.0.53")
    assert found.addresses == ("10.9.9.9",)
    assert found.local_names


def test_default_ports_follow_the_scheme_even_in_a_variable(tmp_path: Path) -> None:
    """If the scheme depends on the request, the ports of all schemes are possible."""
    found = peers(
        tmp_path,
        "resolver 10.9.9.9;\nserver { listen 80; set $app wiki; set $proto HTTPS; set $url https://one.internal;\n"
        "location / { proxy_pass $proto://$app; }\nlocation /u { proxy_pass $url; }\n"
        "location /p { proxy_pass ${proto}://two.internal:8443; }\n"
        "location /s { proxy_pass $scheme://three.internal; } }",
    )
    assert {(peer.host, peer.port) for peer in found.passed_to} == {
        ("wiki", 443),
        ("one.internal", 443),
        ("two.internal", 8443),
        ("three.internal", 80),
        ("three.internal", 443),
    }


def test_names_in_stream_are_peers_since_nginx_resolves_them_at_its_start(tmp_path: Path) -> None:
    """The names must exist in the lab, although the lab tests nothing in stream{}."""
    files = http("server { listen 80; }")
    files["nginx.conf"] += (
        "stream { upstream db { server db.internal:5432; } server { listen 5432; proxy_pass db; } }\n"
    )
    found, _ = opened(tmp_path, files)
    assert (peers_of(found.facts).names, peers_of(found.facts).ports) == (("db.internal",), (5432,))


def test_ipv6_peers_have_a_stand_in_next_to_nginx(tmp_path: Path) -> None:
    """The stand-in listens on these addresses in nginx's network namespace, since the lab's network may lack IPv6."""
    found = peers(
        tmp_path,
        "upstream app { server [0:0::1]:8080; server [2001:db8::5]:8081; server [2001:db8::6]; server [::1::]:9; }\n"
        "server { listen [::]:80; listen 8080; location / { proxy_pass http://app; } }",
    )
    assert found.local_addresses == ("::1", "2001:db8::5")
    assert found.local_ports == (8080, 8081)
    assert found.addresses == ("2001:db8::5",)
    assert (found.ports, found.names, found.has_ipv6) == ((), (), True)
    assert found.left_out == (
        "[2001:db8::6]: it has no stand-in, since nginx listens on port 80 itself",
        "[::1::]:9: it has no stand-in",
    )


@pytest.mark.parametrize(
    ("listen", "own"), [("127.0.0.1:8080", "127.0.0.1"), ("[::]:8080", "[::1]"), ("[::1]:8080", "[::1]")]
)
def test_an_address_of_nginx_itself_needs_no_stand_in(listen: str, own: str, tmp_path: Path) -> None:
    text = f"server {{ listen 80; location / {{ proxy_pass http://{own}:8080; }} }}\nserver {{ listen {listen}; }}"
    assert peers(tmp_path, text).passed_to == ()
