"""The settings in effect in a block; a lab test compares the results with nginx."""

import pytest

from tests.support.read_configurations import main_of, server_of
from tuneproof.conf.effective import Origin, effective
from tuneproof.conf.tree import Block

TEXT = """
events { }
http {
    proxy_read_timeout 9s; add_header A 1; add_header B 2; deny all; keepalive_timeout 7s; root /r;
    upstream u { server a; }
    server {
        return 404; error_page 404 /x; odd 1;
        location /a/ {
            add_header C 3; proxy_pass http://u; allow all; alias /b/; try_files $uri =404; internal;
            location /a/n/ { }
            if ($x) { add_header D 4; }
            limit_except GET { deny all; }
        }
    }
}
"""
MAIN = main_of(TEXT)


def block(*path: str) -> Block:
    found = MAIN
    for name in path:
        found = next(found.all(name))
    return found


@pytest.mark.parametrize(
    ("path", "name", "values", "origin"),
    [
        (("server",), "proxy_read_timeout", ["9s"], Origin.OUTER),
        (("server",), "add_header", ["A", "B"], Origin.OUTER),
        (("location",), "add_header", ["C"], Origin.HERE),
        (("location", "location"), "add_header", ["C"], Origin.OUTER),
        (("location", "if"), "add_header", ["D"], Origin.HERE),
        (("location",), "return", [], Origin.DEFAULT),
        (("location",), "error_page", ["404"], Origin.OUTER),
        (("location", "location"), "try_files", [], Origin.DEFAULT),
        (("location", "location"), "internal", [""], Origin.OUTER),
        (("location", "location"), "proxy_pass", [], Origin.DEFAULT),
        (("location", "if"), "proxy_pass", ["http://u"], Origin.OUTER),
        (("location", "limit_except"), "proxy_pass", ["http://u"], Origin.OUTER),
        # allow and deny share one list: the outer deny lines are no longer in effect.
        (("location",), "deny", [], Origin.HERE),
        (("location", "location"), "root", [], Origin.OUTER),
        (("location", "location"), "alias", ["/b/"], Origin.OUTER),
        (("upstream",), "keepalive_timeout", [], Origin.DEFAULT),
        (("location",), "nobody_knows_it", [], Origin.DEFAULT),
        (("server",), "odd", ["1"], Origin.HERE),
        (("location",), "odd", ["1"], Origin.UNKNOWN),
    ],
)
def test_settings_are_inherited_as_their_modules_merge_them(
    path: tuple[str, ...], name: str, values: list[str], origin: Origin
) -> None:
    found = effective(block(*path), name, (1, 22))
    assert ([said.value for said in found.statements], found.origin) == (values, origin)


def test_the_default_depends_on_the_version() -> None:
    server = server_of("location / { proxy_pass http://a; }")
    assert [effective(server, "proxy_http_version", version).value for version in ((1, 22), (1, 30))] == ["1.0", "1.1"]


@pytest.mark.parametrize(("mode", "names"), [("on", ["C"]), ("merge", ["C", "A"]), ("off", ["C"])])
def test_add_header_inherit_decides_whether_headers_are_merged(mode: str, names: list[str]) -> None:
    text = f"add_header_inherit {mode}; add_header A 1; location / {{ add_header C 2; location /in {{ }} }}"
    outer = next(server_of(text).all("location"))
    assert [said.value for said in effective(outer, "add_header", (1, 30)).statements] == names
    inner = effective(next(outer.all("location")), "add_header", (1, 30))
    assert [said.value for said in inner.statements] == ([] if mode == "off" else names)


def test_an_upstream_inherits_the_resolver_of_http() -> None:
    main = main_of("events { } http { resolver 192.0.2.1; upstream u { server a; } }")
    upstream = next(main.all("upstream"))
    assert effective(upstream, "resolver", (1, 30)).value == "192.0.2.1"


def test_a_missing_file_that_could_change_a_setting_makes_it_unknown() -> None:
    missing = "include /x.conf;"
    text = f"proxy_read_timeout 1s; location /a {{ {missing} }} location /b {{ proxy_read_timeout 2s; {missing} }}"
    first, second = server_of(text, is_complete=False).all("location")
    assert effective(first, "proxy_read_timeout", (1, 22)).origin is Origin.UNKNOWN
    assert effective(second, "proxy_read_timeout", (1, 22)).origin is Origin.HERE
    assert effective(second, "add_header", (1, 22)).origin is Origin.UNKNOWN


def test_settings_that_a_fragment_may_inherit_are_unknown() -> None:
    (location,) = main_of("server { location / { } }", is_complete=False).all("location")
    assert effective(location, "add_header", (1, 22)).origin is Origin.UNKNOWN
