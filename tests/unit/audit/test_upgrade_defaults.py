"""Defaults that differ between two versions of nginx: where they matter, and the lines that keep the old ones."""

from typing import Final

import pytest

from tests.support.upgraded import changes, of, patched
from tuneproof.audit.differences import Effect
from tuneproof.audit.upgrade import upgrade
from tuneproof.conf.sources import Dump

PASSED: Final = "server {\nlocation / {\n%s; }\n}"
IN_LOCATION: Final = "location / {\nproxy_http_version 1.0;"
TO_U: Final = "server { location / { proxy_pass http://u; } keepalive_requests 9; }"


@pytest.mark.parametrize(
    ("http", "what", "line", "since", "kept"),
    [
        ("server {\n}", "keepalive_requests", 2, "1.19.10", "keepalive_requests 100;"),
        ("server {\n}", "keepalive_time", 2, "1.19.10", ""),
        ("server {\nkeepalive_timeout 0; location /a { keepalive_timeout 9; }\n}", "keepalive_time", 2, "1.19.10", ""),
        ("server {\n}", "max_headers", 2, "1.29.8", ""),
        ("server {\nsendfile on;\n}", "sendfile_max_chunk", 2, "1.21.4", "sendfile_max_chunk 0;"),
        *(
            (http, what, line, "1.23.4 and 1.27.3", f"{what} TLSv1 TLSv1.1 TLSv1.2;")
            for http, what, line in (
                ("server {\nlisten 443 ssl;\n}", "ssl_protocols", 3),
                (PASSED % "proxy_pass https://a", "proxy_ssl_protocols", 5),
                (PASSED % "uwsgi_pass suwsgi://a:3031", "uwsgi_ssl_protocols", 5),
                ("} stream { server {\nlisten 443 ssl; proxy_pass a:1;\n}", "ssl_protocols", 3),
                ("} stream { server {\nlisten 443; proxy_ssl on;\nproxy_pass a:1;\n}", "proxy_ssl_protocols", 5),
                ("} mail { server {\nlisten 143; starttls on;\n}", "ssl_protocols", 3),
                ("server {\nlisten 443;\nssl on;\n}", "ssl_protocols", 3),
                ("server {\nlisten *:443; server_name a; }\nserver { listen 443 ssl;\n}", "ssl_protocols", 3),
                ("server { listen 443 ssl; ssl_protocols TLSv1.3; }\nserver {\nlisten 444 ssl;\n}", "ssl_protocols", 4),
            )
        ),
        (f"upstream u {{\nserver a; keepalive 9; }}\n{TO_U}", "keepalive_time", 3, "1.19.10", ""),
        (PASSED % "if ($a) {\nproxy_pass http://a; }\nroot /srv", "proxy_http_version", 6, "1.29.7", IN_LOCATION),
        (PASSED % "limit_except GET {\nproxy_pass http://a; }\nroot b", "proxy_http_version", 6, "1.29.7", IN_LOCATION),
        ("server {\nlocation / { sendfile on; }\n}", "sendfile_max_chunk", 2, "1.21.4", "sendfile_max_chunk 0;"),
        (PASSED % "proxy_pass http://a", "proxy_http_version", 5, "1.29.7", "proxy_http_version 1.0;"),
        (f"upstream u {{\nserver a; }}\n{TO_U}", "keepalive", 3, "1.29.7", "server a; keepalive 0;"),
        (
            *(f"upstream u {{\nserver a; keepalive 9; }}\n{TO_U}", "keepalive_requests", 3, "1.19.10"),
            "keepalive 9; keepalive_requests 100;",
        ),
    ],
)
def test_a_changed_default_is_reported_where_it_matters(http: str, what: str, line: int, since: str, kept: str) -> None:
    """If a line can keep the old default, the report contains it; with this line, nothing is reported."""
    found = changes(http)
    assert (what, line, since) in of(found, Effect.DEFAULT)
    after = patched(found, defaults=True)
    assert kept in after
    again = upgrade(Dump({"nginx.conf": after}, is_complete=True), old="1.18", new="1.30")
    assert bool(kept) == (what not in [one[0] for one in of(again, Effect.DEFAULT)])


def test_two_proxied_places_in_one_location_keep_their_old_default_with_one_directive() -> None:
    """Nginx refuses a second proxy_http_version in a block, and any in an "if"."""
    location = "location / { if ($a) { proxy_pass http://a; } if ($b) { proxy_pass http://b; } proxy_pass http://c; }"
    after = patched(changes(f"server {{ {location} }}", old="1.26"), defaults=True)
    assert after.count("proxy_http_version 1.0;") == 1
    assert "proxy_pass http://c; proxy_http_version 1.0; }" in after


def test_before_1_29_2_the_default_server_decides_the_tls_versions_of_its_socket() -> None:
    """1.29.2: "now the ssl_protocols directive works in a virtual server different from the default server"."""
    named = "server { listen 443 ssl default_server; ssl_protocols TLSv1.2; }\nserver {\nlisten 443 ssl;\n}"
    assert of(changes(named, old="1.22", new="1.26"), Effect.DEFAULT) == []
    for old, new in (("1.26", "1.30"), ("1.30", "1.26")):
        found = changes(named, old=old, new=new)
        assert "ssl_protocols" not in [one[0] for one in of(found, Effect.DEFAULT)]
        (why,) = [one.why for one in found.differences if one.what == "ssl_protocols"]
        assert ("of this server, TLSv1.2 TLSv1.3; before, those of the default server" in why) == (new == "1.30")


def test_each_socket_of_a_server_has_its_own_default_server() -> None:
    """Before 1.29.2, a client gets the ssl_protocols of its socket's default server, whichever server it names."""
    tls = "server {\nlisten 443 ssl;\nssl_protocols TLSv1.2;\n}\nserver {\nlisten 8443 ssl;\n}\n"
    found = changes(f"{tls}server {{\nlisten 443 ssl;\nlisten 8443 ssl;\nserver_name a;\n}}", old="1.26", new="1.30")
    (why,) = [one.why for one in found.differences if one.what == "ssl_protocols" and one.since == "1.29.2"]
    assert why == (
        "clients that name this server (SNI) on 0.0.0.0:443 get the TLS versions of this server, TLSv1.2 TLSv1.3; "
        "before, those of the default server (nginx.conf:3), TLSv1.2"
    )
    assert [line for _, line, since in of(found, Effect.BEHAVIOUR) if since == "1.29.1"] == [8, 12]
    assert ("ssl_protocols", 10, "1.27.3") in of(found, Effect.DEFAULT)


def test_the_effect_of_a_default_is_reported_exactly() -> None:
    """The default header "Connection: close" is no longer sent. If the client's is sent, the effect depends on it."""
    server = "upstream u { server a; } server { location / { %s proxy_pass http://u; } }"
    whys = {
        header: {one.what: one.why for one in changes(server % header, old="1.26").differences}
        for header in ("", "proxy_set_header Connection $http_connection;")
    }
    plain, passed = whys.values()
    assert "Connection: close is no longer sent" in plain["proxy_http_version"]
    assert passed["proxy_http_version"].endswith("the upstream may send chunked responses")
    assert "depends on the Connection header" not in plain["keepalive"]
    assert passed["keepalive"].endswith("whether it does depends on the Connection header of each request")


def test_the_risk_of_the_new_keepalive_default_comes_first_with_a_patch() -> None:
    """From 1.29.7 on, nginx keeps idle connections by default; a POST on one that the backend closes gets 502."""
    text = "upstream u {\nserver 10.0.0.1;\n}\nserver { location / { proxy_pass http://u; } }"
    found = changes(text, old="1.26", new="1.30")
    first = found.differences[0]
    assert (first.what, first.breaks) == ("dying_connections", True)
    assert "+keepalive_timeout 4s;" in found.patch(defaults=False)
