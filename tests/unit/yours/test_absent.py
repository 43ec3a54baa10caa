"""Parts that a fragment of a configuration uses but does not define are added around it."""

from pathlib import Path

import pytest

from tests.support.own_configurations import http, opened, written
from tuneproof.yours.absent import Absent, absent_of
from tuneproof.yours.proposal import Wanted, propose


def lines(folder: Path, text: str) -> tuple[str, ...]:
    found, _ = opened(folder, {"site.conf": text})
    return absent_of(found.facts, folder="/etc/nginx").lines


def server(text: str) -> str:
    return f"server {{\n    listen 80;\n    {text}\n}}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("access_log /var/log/a.log main;", ['log_format main "$remote_addr $request $status";']),
        ("access_log /var/log/a.log combined; access_log off; access_log /b;", []),
        ("access_log /var/log/a.log buffer=32k; access_log /b gzip; access_log /c if=$loggable;", []),
        (
            "limit_req zone=one burst=5; limit_conn two 10;",
            [
                "limit_req_zone $binary_remote_addr zone=one:1m rate=1000000r/s;",
                "limit_conn_zone $binary_remote_addr zone=two:1m;",
            ],
        ),
        ("proxy_cache pages;", ["proxy_cache_path /var/cache/nginx/proxy_pages keys_zone=pages:1m;"]),
        (
            "fastcgi_cache pages; proxy_cache off; uwsgi_cache $zone;",
            ["fastcgi_cache_path /var/cache/nginx/fastcgi_pages keys_zone=pages:1m;"],
        ),
        ("location ~ \\.php$ { fastcgi_pass fpm; }", ["upstream fpm { server fpm; }"]),
        ("location / { uwsgi_pass 10.0.0.1:9000; } location /b { fastcgi_pass unix:/run/fpm.sock; }", []),
        ("location / { proxy_pass http://app; }", []),
        ("set $up app; location / { proxy_pass http://$up:81; }", ["resolver 127.0.0.11;"]),
        ("resolver 10.0.0.2; set $up app; location / { proxy_pass http://$up:81; }", []),
        ("listen 443 ssl;", ["ssl_certificate /etc/nginx/tls.crt;", "ssl_certificate_key /etc/nginx/tls.key;"]),
        ("listen 443 ssl; ssl_certificate a.pem; ssl_certificate_key a.key;", []),
    ],
)
def test_parts_that_another_file_defines_are_added(text: str, expected: list[str], tmp_path: Path) -> None:
    assert lines(tmp_path, server(text) + server(text.replace("listen 443 ssl;", ""))) == tuple(expected)


def test_existing_parts_are_not_added(tmp_path: Path) -> None:
    assert (
        lines(
            tmp_path,
            "log_format main '$status';\nlimit_req_zone $uri zone=one:1m rate=1r/s;\n"
            "proxy_cache_path /c keys_zone=pages:1m;\nlimit_conn_zone $uri zone=two:1m;\nupstream fpm { server a:1; }\n"
            + server(
                "access_log /a main; limit_req zone=one; limit_conn two 1; proxy_cache pages; "
                "location / { fastcgi_pass fpm; }"
            ),
        )
        == ()
    )


def test_nothing_is_added_around_a_whole_configuration(tmp_path: Path) -> None:
    """The lab must show that nginx refuses an incomplete configuration."""
    found, _ = opened(tmp_path, http(server("access_log /a main; limit_req zone=one;")))
    assert absent_of(found.facts, folder="/etc/nginx") == Absent()


def test_additions_are_in_the_file_around_the_fragment_and_are_reported(tmp_path: Path) -> None:
    """The additions come before the fragment, with the files and folders that they need."""
    text = server("listen 443 ssl; access_log /var/log/a.log main; proxy_cache c; location / { proxy_pass http://a; }")
    found = propose(Wanted(configuration=str(written(tmp_path, {"site.conf": text})), version="1.22"))
    own = found.scenario.arms[0].subject.own
    assert own is not None
    assert own.is_part
    around = own.files["/etc/nginx/nginx.conf"].decode().splitlines()
    assert any("listen 18080" in line for line in around), "the lab's server is not in the added nginx.conf"
    assert b"18080" not in own.files["/etc/nginx/tuneproof.d/site.conf"]
    assert around.index('log_format main "$remote_addr $request $status";') < around.index(
        "include /etc/nginx/tuneproof.d/site.conf;"
    )
    assert own.materials == {"/etc/nginx/tls.crt": "tls.crt", "/etc/nginx/tls.key": "tls.key"}
    assert "mkdir -p /var/log /var/cache/nginx" in own.files[own.script].decode()
    assert any(line.startswith("log_format main") and "do not define it" in line for line in found.notes)
    assert any(line.startswith("log_format main") for line in own.notes)
