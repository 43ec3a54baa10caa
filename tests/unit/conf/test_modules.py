"""Which modules a configuration needs, and which of them are packaged."""

import pytest

from tuneproof.audit.auditing import audit_source
from tuneproof.conf.modules import unpackaged, used_modules
from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import Configuration, read_configuration
from tuneproof.nginx_modules import MODULES, module_in, module_of


def dump(http: str, *, main: str = "") -> Dump:
    """Return a configuration of one file."""
    return Dump({"nginx.conf": f"{main}\nevents {{ }}\nhttp {{\n{http}\n}}\n"}, is_complete=True)


def read(http: str, *, main: str = "") -> Configuration:
    """Return what is in it."""
    return read_configuration(dump(http, main=main))


@pytest.mark.parametrize(
    ("http", "main", "needed"),
    [
        ("server { more_set_headers 'Server: x'; }", "", ["http_headers_more_filter"]),
        ("server { location / { content_by_lua_block { ngx.say('}') } } }", "", ["ndk_http", "http_lua"]),
        ("brotli on; brotli_static on;", "", ["http_brotli_filter", "http_brotli_static"]),
        ("geoip2 /a.mmdb { $c country iso_code; echo; }", "", ["http_geoip2"]),
        ("js_import a.js;", "stream { js_import b.js; }", ["stream", "stream_js", "http_js"]),
        ("map $a $b { echo 1; }", "", []),
        ("server { add_header a b; set_real_ip_from 10.0.0.1; geo $x { default 0; } }", "", []),
    ],
)
def test_directives_name_their_modules(http: str, main: str, needed: list[str]) -> None:
    """Behind what they need themselves, each once; not what only looks alike."""
    used = used_modules(read(http, main=main))
    assert [one.module.name for one in used] == needed
    assert not any(one.is_loaded for one in used)


def test_what_the_files_load_is_not_loaded_again() -> None:
    """Wherever the file of a module is said to be."""
    configuration = read("server { echo hello; }", main="load_module /opt/ngx_http_echo_module.so;")
    (used,) = used_modules(configuration)
    assert (used.module.name, used.is_loaded, used.what) == (
        "http_echo",
        True,
        "load_module /opt/ngx_http_echo_module.so",
    )


def test_what_nobody_packages_is_reported_with_its_place() -> None:
    """A module, a directive of one, and what is sold only; not what stands in a packaged module's own blocks."""
    configuration = read(
        "server { no_such_directive on; echo a; status_zone a; }\ngeoip2 /a { $b country; }\nrtmp { no_such; }",
        main="load_module modules/ngx_http_nobodys_module.so;",
    )
    found = list(unpackaged(configuration))
    assert [one.rpartition(" (")[0] for one in found] == [
        "load_module modules/ngx_http_nobodys_module.so",
        "no_such_directive",
        "status_zone",
    ]


def test_a_version_is_taken_that_the_module_is_packaged_for() -> None:
    """For the audit as well, so that both say the same."""
    found = audit_source(dump("brotli on;"))
    assert found.choice is not None
    assert found.choice.because is not None
    assert (found.choice.version, found.choice.because.what) == ("1.22", "brotli")


def test_each_row_has_a_name_of_its_own_and_finds_itself() -> None:
    """By its file, and what it needs is a row, too."""
    assert len({module.name for module in MODULES}) == len(MODULES)
    for module in MODULES:
        assert module_in(f"modules/{module.file}") is module
        assert not module.needs or module.needs in {one.name for one in MODULES}
    assert module_of("proxy_pass", in_stream=False) is None
    assert MODULES[0].packages == ("libnginx-mod-http-ndk",)
