"""The modules that a configuration needs, and which of them are packaged."""

import pytest

from tuneproof.conf.modules import unpackaged, used_modules
from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import Configuration, read_configuration
from tuneproof.nginx_modules import MODULES, module_in, module_of


def read(http: str, *, main: str = "") -> Configuration:
    text = f"{main}\nevents {{ }}\nhttp {{\n{http}\n}}\n"
    return read_configuration(Dump({"nginx.conf": text}, is_complete=True))


@pytest.mark.parametrize(
    ("http", "main", "needed"),
    [
        ("server { more_set_headers 'Server: x'; }", "", ["http_headers_more_filter"]),
        ("server { location / { content_by_lua_block { ngx.say('}') } } }", "", ["ndk_http", "http_lua"]),
        # "#" begins a comment in nginx, and is the length operator of Lua.
        ("server { listen 80; # see access_by_lua_block {\nsubs_filter a b; }", "", ["http_subs_filter"]),
        (
            "# no log_by_lua_block\nlog_by_lua_block { return #t } access_by_lua_block { f('}') } perl_modules '#';",
            "",
            ["http_perl", "ndk_http", "http_lua"],
        ),
        ("brotli on; brotli_static on;", "", ["http_brotli_filter", "http_brotli_static"]),
        ("geoip2 /a.mmdb { $c country iso_code; echo; }", "", ["http_geoip2"]),
        ("js_import a.js;", "stream { js_import b.js; }", ["stream", "stream_js", "http_js"]),
        ("map $a $b { echo 1; }", "", []),
        # Unlike sub_filter, subs_filter comes from a separate module.
        ("server { subs_filter a b; subs_filter_types text/css; }", "", ["http_subs_filter"]),
        ("server { add_header a b; set_real_ip_from 10.0.0.1; geo $x { default 0; } }", "", []),
    ],
)
def test_the_modules_of_directives_are_listed(http: str, main: str, needed: list[str]) -> None:
    """Each module is listed once, after modules that it needs. nginx's own directives with similar names need none."""
    configuration = read(http, main=main)
    used = used_modules(configuration)
    assert not any("unknown directive" in problem.message for problem in configuration.problems)
    assert [one.module.name for one in used] == needed
    assert not any(one.is_loaded for one in used)


def test_modules_that_the_files_load_are_not_loaded_again() -> None:
    """The folder of the module's file does not matter."""
    configuration = read("server { echo hello; }", main="load_module /opt/ngx_http_echo_module.so;")
    (used,) = used_modules(configuration)
    assert (used.module.name, used.is_loaded, used.what) == (
        "http_echo",
        True,
        "load_module /opt/ngx_http_echo_module.so",
    )


def test_unpackaged_modules_are_reported_with_their_places() -> None:
    """Directives of unpackaged and commercial modules are reported; those inside a packaged module's block are not."""
    configuration = read(
        "server { no_such_directive on; echo a; status_zone a; }\ngeoip2 /a { $b country; }\nrtmp { no_such; }\n"
        "otel_exporter { endpoint a:1; } server { auth_jwt a; } upstream b { least_time header; }",
        main="load_module modules/ngx_http_nobodys_module.so;",
    )
    found = list(unpackaged(configuration))
    assert [one.rpartition(" (")[0] for one in found] == [
        "load_module modules/ngx_http_nobodys_module.so",
        "no_such_directive",
        "status_zone",
        "otel_exporter",
        "auth_jwt",
    ]


def test_each_row_has_a_unique_name_and_is_found_by_its_file() -> None:
    assert len({module.name for module in MODULES}) == len(MODULES)
    for module in MODULES:
        assert module_in(f"modules/{module.file}") is module
        assert not module.needs or module.needs in {one.name for one in MODULES}
    assert module_of("proxy_pass", in_stream=False) is None
    assert MODULES[0].packages == ("libnginx-mod-http-ndk",)
