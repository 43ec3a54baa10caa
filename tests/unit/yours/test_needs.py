"""Files, folders, accounts and modules that nginx needs to start."""

from pathlib import Path

import pytest

from tests.support.own_configurations import http, opened
from tuneproof.yours.needs import CERTIFICATE, EMPTY, JAVASCRIPT, KEY, PARAMETERS, PLACES, Needs, needs_of
from tuneproof.yours.no_places import no_places


def needs(folder: Path, text: str, *, main: str = "", there: tuple[str, ...] = ()) -> Needs:
    files = http(text)
    files["nginx.conf"] = main + files["nginx.conf"]
    found, _ = opened(folder, files)
    return needs_of(found.facts.configuration, folder="/etc/nginx", there=there)


@pytest.mark.parametrize(
    ("text", "there", "made"),
    [
        (
            "ssl_certificate /etc/ssl/a.pem; ssl_certificate_key certs/a.key; ssl_dhparam dh.pem;",
            "",
            {"/etc/ssl/a.pem": CERTIFICATE, "/etc/nginx/certs/a.key": KEY, "/etc/nginx/dh.pem": PARAMETERS},
        ),
        ("server { ssl_certificate $a.crt; ssl_trusted_certificate there.pem; }", "/etc/nginx/there.pem", {}),
        ("server { ssl_certificate data:$pem; proxy_ssl_certificate_key /k; }", "", {"/k": KEY}),
        ("ssl_certificate a; ssl_certificate_key a;", "", {"/etc/nginx/a": KEY}),
        ("ssl_certificate_key a; ssl_certificate a;", "", {"/etc/nginx/a": KEY}),
        ("geoip2 geo/city.mmdb { $city city names en; }", "", {"/etc/nginx/geo/city.mmdb": PLACES}),
        ("geoip2 /there.mmdb { $a country iso_code; }", "/there.mmdb", {}),
        # The path is the directive's only argument, or its last one.
        ("js_import a/one.js; js_import two from /b.js;", "", {"/etc/nginx/a/one.js": JAVASCRIPT, "/b.js": JAVASCRIPT}),
        ("js_import there.js;", "/etc/nginx/there.js", {}),
        # Without this file, nginx does not start.
        ("server { ssl_password_file /etc/p; }", "", {"/etc/p": EMPTY}),
        ("server { location / { proxy_ssl_password_file q; } }", "", {"/etc/nginx/q": EMPTY}),
        # Without this file, nginx answers each request with an error.
        ("location / { access_by_lua_file /etc/a.lua; content_by_lua_file $b; }", "", {"/etc/a.lua": EMPTY}),
    ],
)
def test_a_missing_file_is_created(tmp_path: Path, text: str, there: str, made: dict[str, str]) -> None:
    """Relative paths start at nginx.conf's folder; files that exist, are in memory or have variables are left out."""
    assert needs(tmp_path, text, there=(there,)).made == made


def test_a_created_geoip_database_contains_no_place() -> None:
    """The database has a search tree with a single empty node, and metadata."""
    assert no_places().startswith(b"\0\0\1\0\0\1" + bytes(16) + b"\xab\xcd\xefMaxMind.com\xe9")
    assert b"\x4anode_count\xc1\x01" in no_places()


def test_the_working_directory_is_created(tmp_path: Path) -> None:
    """Without the working directory, workers exit."""
    assert "/var/cores" in needs(tmp_path, "", main="working_directory /var/cores;\n").folders


def test_folders_for_files_that_nginx_writes_are_created(tmp_path: Path) -> None:
    """A log needs its folder, up to the first variable, and a cache its parent folder. Syslog and stderr need none."""
    found = needs(
        tmp_path,
        "access_log /var/log/app/$host.log; error_log syslog:server=a; access_log off; error_log stderr;\n"
        "proxy_cache_path /data/cache/a keys_zone=a:1m; client_body_temp_path /tmp/body;",
        main="pid /run/n/nginx.pid;\n",
    )
    assert set(found.folders) == {"/run/n", "/var/log/app", "/data/cache", "/tmp"}  # noqa: S108 - user files


def test_relative_paths_of_logs_are_below_the_folder_of_nginx_conf(tmp_path: Path) -> None:
    """In nginx's own packages, that folder is the prefix; the lab sets the prefix accordingly."""
    found = needs(
        tmp_path, "access_log logs/access.log; proxy_cache_path cache/a keys_zone=a:1m;", main="pid nginx.pid;\n"
    )
    assert set(found.folders) == {"/etc/nginx/logs", "/etc/nginx/cache", "/etc/nginx"}
    assert found.prefix == "/etc/nginx"
    assert needs(tmp_path, "access_log off; error_log stderr;").prefix == ""


def test_missing_includes_are_created_empty(tmp_path: Path) -> None:
    """A pattern may match no file, and files such as mime.types come with nginx."""
    found = needs(tmp_path, "include /etc/nginx/snippets/ssl.conf; include extra/*.conf; include mime.types;")
    assert found.made == {"/etc/nginx/snippets/ssl.conf": EMPTY}
    assert "/etc/nginx/snippets" in found.folders


def test_accounts_and_modules_of_the_main_context_are_found(tmp_path: Path) -> None:
    found = needs(tmp_path, "", main="daemon on;\nload_module modules/ngx_http_x_module.so;\n")
    assert (found.accounts, found.modules) == (("nginx",), ("modules/ngx_http_x_module.so",))
    assert found.starts_in_background is not None
    assert not found.stays_in_foreground
    assert needs(tmp_path, "", main="daemon off;\n").stays_in_foreground
