"""Files and names that nginx must find at its start."""

from pathlib import Path

from tests.support.own_configurations import http, opened
from tuneproof.yours.needs import CERTIFICATE, EMPTY, JAVASCRIPT, KEY, PARAMETERS, PLACES, Needs, needs_of
from tuneproof.yours.no_places import no_places


def needs(folder: Path, text: str, *, main: str = "", there: tuple[str, ...] = ()) -> Needs:
    files = http(text)
    files["nginx.conf"] = main + files["nginx.conf"]
    found, _ = opened(folder, files)
    return needs_of(found.facts.configuration, folder="/etc/nginx", there=there)


def test_named_certificates_are_created(tmp_path: Path) -> None:
    """Absolute ones or those below nginx.conf's folder; not existing ones, or ones in variables or in memory."""
    found = needs(
        tmp_path,
        "ssl_certificate /etc/ssl/a.pem; ssl_certificate_key certs/a.key; ssl_dhparam dh.pem;\n"
        "server { listen 443 ssl; ssl_certificate $ssl_server_name.crt; ssl_trusted_certificate there.pem; }\n"
        "server { ssl_certificate data:$pem; proxy_ssl_certificate_key /k; }",
        there=("/etc/nginx/there.pem",),
    )
    assert found.made == {
        "/etc/ssl/a.pem": CERTIFICATE,
        "/etc/nginx/certs/a.key": KEY,
        "/etc/nginx/dh.pem": PARAMETERS,
        "/k": KEY,
    }


def test_a_common_file_for_a_certificate_and_its_key_gets_both(tmp_path: Path) -> None:
    for text in ("ssl_certificate a; ssl_certificate_key a;", "ssl_certificate_key a; ssl_certificate a;"):
        assert needs(tmp_path, text).made == {"/etc/nginx/a": KEY}


def test_a_named_geoip_database_is_created(tmp_path: Path) -> None:
    """An existing one stays."""
    text = "geoip2 geo/city.mmdb { $city city names en; } geoip2 /there.mmdb { $a country iso_code; }"
    assert needs(tmp_path, text, there=("/there.mmdb",)).made == {"/etc/nginx/geo/city.mmdb": PLACES}
    # A tree of one node that leads nowhere, then its metadata.
    assert no_places().startswith(b"\0\0\1\0\0\1" + bytes(16) + b"\xab\xcd\xefMaxMind.com\xe9")
    assert b"\x4anode_count\xc1\x01" in no_places()


def test_an_imported_script_is_created(tmp_path: Path) -> None:
    """By its path alone, or after the name that it gets."""
    text = "js_import a/one.js; js_import two from /opt/two.js; js_import there.js;"
    found = needs(tmp_path, text, there=("/etc/nginx/there.js",))
    assert found.made == {"/etc/nginx/a/one.js": JAVASCRIPT, "/opt/two.js": JAVASCRIPT}


def test_the_working_directory_and_password_files_exist(tmp_path: Path) -> None:
    """Workers exit without the former, and nginx does not start without the latter."""
    text = "server { ssl_password_file /etc/p; location / { proxy_ssl_password_file q; } }"
    found, _ = opened(tmp_path, {"nginx.conf": f"working_directory /var/cores;\n{http(text)['nginx.conf']}"})
    made = needs_of(found.facts.configuration, folder="/etc/nginx", there=set())
    assert made.made == {"/etc/p": EMPTY, "/etc/nginx/q": EMPTY}
    assert "/var/cores" in made.folders


def test_a_missing_lua_file_is_empty(tmp_path: Path) -> None:
    """Without it, nginx answers each request with 500."""
    text = "server { location / { access_by_lua_file /etc/a.lua; content_by_lua_file $b; } }"
    found, _ = opened(tmp_path, http(text))
    made = needs_of(found.facts.configuration, folder="/etc/nginx", there=set()).made
    assert made == {"/etc/a.lua": EMPTY}


def test_folders_for_files_that_nginx_writes_are_created(tmp_path: Path) -> None:
    """For logs up to a variable, for caches without their last part; nothing for what is not a file."""
    found = needs(
        tmp_path,
        "access_log /var/log/app/$host.log; error_log syslog:server=a; access_log off; error_log stderr;\n"
        "proxy_cache_path /data/cache/a keys_zone=a:1m; client_body_temp_path /tmp/body;",
        main="pid /run/n/nginx.pid;\n",
    )
    assert set(found.folders) == {"/run/n", "/var/log/app", "/data/cache", "/tmp"}  # noqa: S108 - user files


def test_relative_logs_are_below_the_folder_of_nginx_conf(tmp_path: Path) -> None:
    """It is nginx's prefix in its own packages, and is made the prefix in others."""
    found = needs(
        tmp_path, "access_log logs/access.log; proxy_cache_path cache/a keys_zone=a:1m;", main="pid nginx.pid;\n"
    )
    assert set(found.folders) == {"/etc/nginx/logs", "/etc/nginx/cache", "/etc/nginx"}
    assert found.prefix == "/etc/nginx"
    assert needs(tmp_path, "access_log off; error_log stderr;").prefix == ""


def test_missing_includes_are_empty(tmp_path: Path) -> None:
    """A pattern that matches nothing needs nothing, and the tables come with nginx."""
    found = needs(tmp_path, "include /etc/nginx/snippets/ssl.conf; include extra/*.conf; include mime.types;")
    assert found.made == {"/etc/nginx/snippets/ssl.conf": EMPTY}
    assert "/etc/nginx/snippets" in found.folders


def test_accounts_modules_and_daemon(tmp_path: Path) -> None:
    """As set in the main context."""
    found = needs(tmp_path, "", main="daemon on;\nload_module modules/ngx_http_x_module.so;\n")
    assert (found.accounts, found.modules) == (("nginx",), ("modules/ngx_http_x_module.so",))
    assert found.starts_in_background is not None
    assert not found.stays_in_foreground
    assert needs(tmp_path, "", main="daemon off;\n").stays_in_foreground
