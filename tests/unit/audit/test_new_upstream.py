"""An upstream block replaces an address: everything else stays the same, or nothing is changed."""

import pytest

from tests.support.configurations import HEAD
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.audit.new_upstream import named_block
from tuneproof.audit.patches import apply
from tuneproof.conf.sources import Dump


def read(server: str, http: str = "") -> tuple[Audit, str]:
    text = f"{HEAD}http {{\n{http}server {{\n{server}\n}}\n}}\n"
    return audit_source(Dump({"nginx.conf": text}, is_complete=True), version="1.30"), text


def named(server: str, http: str = "") -> list[str]:
    """Return the proxy_ lines after a block has replaced the first proxied address; empty if it is not replaced."""
    found, text = read(server, http)
    edits = named_block(found.facts, found.facts.proxied[0].target, settings=("keepalive 8;",))
    if not edits:
        return []
    changed = apply(edits, {"nginx.conf": text})
    lines = changed["nginx.conf"].splitlines()
    return [line.strip() for line in lines if "proxy_" in line]


@pytest.mark.parametrize(
    ("location", "address", "expected"),
    [
        ("/", "10.0.0.1", ["proxy_pass http://10_0_0_1;", "proxy_redirect http://10.0.0.1/ /;"]),
        ("/a/", "10.0.0.1:81/b/", ["proxy_pass http://10_0_0_1_81/b/;", "proxy_redirect http://10.0.0.1:81/b/ /a/;"]),
        ("= /a", "[::1]:81/b", ["proxy_pass http://1_81/b;", "proxy_redirect http://[::1]:81/b /a;"]),
        (
            "~ \\.php$",
            "app.example:81",
            ["proxy_pass http://app_example_81;", "proxy_redirect http://app.example:81/ /;"],
        ),
        ("@app", "app", ["proxy_pass http://app;", "proxy_redirect http://app/ /;"]),
        # $proxy_host lacks the default port: nginx 1.18 and 1.30 send "Host: 10.0.0.1" to port 80.
        ("/", "10.0.0.1:80", ["proxy_pass http://10_0_0_1_80;", "proxy_redirect http://10.0.0.1:80/ /;"]),
        # If proxy_pass contains variables, nginx has no default redirect.
        ("/", "10.0.0.1:81/$1", ["proxy_pass http://10_0_0_1_81/$1;"]),
    ],
)
def test_redirects_to_the_address_are_still_rewritten_to_the_location(
    location: str, address: str, expected: list[str]
) -> None:
    """By default, nginx rewrites redirects according to proxy_pass. The backend also gets the same Host as before."""
    host = address.partition("/b")[0].removesuffix(":80").removesuffix("/$1")
    lines = named(f"location {location} {{\nproxy_pass http://{address};\n}}")
    assert lines == [*expected, f"proxy_set_header Host {host};"]


@pytest.mark.parametrize("variable", ["$proxy_host", "${proxy_host}", "a:$proxy_port"])
def test_an_address_that_a_variable_contains_is_not_replaced(variable: str) -> None:
    assert named("location / {\nproxy_pass http://10.0.0.1;\nproxy_set_header Host $host;\n}")
    assert named(f"location / {{\nproxy_pass http://10.0.0.1;\nproxy_set_header Host {variable};\n}}") == []


TO_ADDRESS = "location / { proxy_pass http://10.0.0.1;"
PASSED, REDIRECT = "proxy_pass http://10_0_0_1;", "proxy_redirect http://10.0.0.1/ /;"
HOST, OWN_HOST = "proxy_set_header Host x;", "proxy_set_header Host 10.0.0.1;"


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (f"{TO_ADDRESS} {HOST} proxy_redirect off; }}", [PASSED, HOST, "proxy_redirect off;"]),
        (f"{TO_ADDRESS} {HOST} proxy_redirect http://a/ /b/; }}", [PASSED, HOST, "proxy_redirect http://a/ /b/;"]),
        (f"{TO_ADDRESS} {HOST} proxy_redirect default; }}", [PASSED, HOST, REDIRECT]),
        (f"proxy_redirect off; {HOST} {TO_ADDRESS} }}", ["proxy_redirect off;", HOST, PASSED]),
        # Without the added Host header, the request to the backend would name the block.
        (
            f"{TO_ADDRESS} proxy_set_header X-Real-IP x; }}",
            [PASSED, REDIRECT, "proxy_set_header X-Real-IP x;", OWN_HOST],
        ),
        (
            f"{TO_ADDRESS} proxy_set_header Accept-Encoding x; }}",
            [PASSED, REDIRECT, "proxy_set_header Accept-Encoding x;", OWN_HOST],
        ),
        # A backend does not redirect to a socket's path.
        (
            "location / { proxy_pass http://unix:/a.sock:/b/; }",
            ["proxy_pass http://unix_a_sock/b/;", "proxy_set_header Host localhost;"],
        ),
        (
            "location / { proxy_pass http://unix:/a.sock; }",
            ["proxy_pass http://unix_a_sock;", "proxy_set_header Host localhost;"],
        ),
    ],
)
def test_only_missing_lines_are_added(server: str, expected: list[str]) -> None:
    """A proxy_redirect or Host header that the location or a block around it already has stays."""
    assert named(server.replace("; ", ";\n").replace("{ ", "{\n")) == expected


@pytest.mark.parametrize(
    "server",
    [
        "location / { proxy_pass http://10.0.0.1:$port/; }",
        "location / { proxy_pass http://$host; }",
        "location / { proxy_pass http://app.example/$1; }",
        "location / { proxy_pass https://10.0.0.1; }",
        "location / { fastcgi_pass 10.0.0.1:9000; }",
        "location / { if ($a) { proxy_pass http://10.0.0.1; } }",
        "location / { limit_except GET { proxy_pass http://10.0.0.1; } }",
        "location / { proxy_pass http://10.0.0.1; location /b { proxy_pass http://10.0.0.2; } }",
        "location / { proxy_pass http://10.0.0.1; limit_except GET { proxy_pass http://10.0.0.2; } }",
        "location '/a b' { proxy_pass http://10.0.0.1/; }",
        "proxy_cache c; location / { proxy_pass http://10.0.0.1; }",
        "proxy_cache pages; location / { proxy_pass http://10.0.0.1; }",
        "proxy_cache c; proxy_cache_key $proxy_host$uri; location / { proxy_pass http://10.0.0.1; }",
    ],
)
def test_an_address_is_not_replaced_if_anything_else_would_change(server: str) -> None:
    assert named(server) == []


def test_an_address_is_replaced_if_no_cache_key_contains_it() -> None:
    for cache in ("proxy_cache c; proxy_cache_key $host$uri;", "proxy_cache off;"):
        assert named(f"{cache}\nlocation / {{\nproxy_pass http://10.0.0.1;\n}}")


def test_an_address_is_not_replaced_if_an_upstream_already_has_the_name_of_its_block() -> None:
    assert named("location / { proxy_pass http://10.0.0.1; }", "upstream 10_0_0_1 { server 10.0.0.2; }\n") == []
