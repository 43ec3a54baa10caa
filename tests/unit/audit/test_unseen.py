"""The audit does not assume that a setting is absent if a missing file may contain it."""

import os
from pathlib import Path

import pytest

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.auditing import audit, audit_source
from tuneproof.audit.render import render
from tuneproof.conf.sources import Dump

ABSENT = "include /etc/nginx/absent.conf;"


def advised(server: str, name: str, *, http: str = "") -> list[Advised]:
    text = f"worker_processes 2;\nevents {{ }}\nhttp {{\n{http}\nserver {{ listen 80;\n{server} }} }}\n"
    found = audit_source(Dump({"nginx.conf": text}, is_complete=False), version="1.26")
    return [one for one in found.advice if name in {one.name, one.claim}]


@pytest.mark.parametrize(
    ("name", "server", "http"),
    [
        ("headers_need_the_first_buffer", "location / { proxy_pass http://127.0.0.1:1; proxy_buffers 64 32k; %s }", ""),
        ("headers_need_the_first_buffer", "%s location / { proxy_pass http://127.0.0.1; proxy_buffers 64 32k; }", ""),
        ("secp384r1_costs_a_round_trip", "listen 443 ssl; %s", "ssl_protocols TLSv1.3; ssl_ecdh_curve secp384r1;"),
        (
            "listed_5xx_take_the_service_down",
            "location / { proxy_pass http://a; %s }",
            "upstream a { server 127.0.0.1:1; server 127.0.0.1:2; } proxy_next_upstream error http_500;",
        ),
        (
            "dying_connections",
            "proxy_http_version 1.1; proxy_set_header Connection ''; location / { proxy_pass http://a; }",
            "upstream a { server 127.0.0.1:1; keepalive 8; %s }",
        ),
        (
            "upstream_peers",
            "proxy_http_version 1.1; proxy_set_header Connection ''; location / { proxy_pass http://a; }",
            "upstream a { server 127.0.0.1:1; server 127.0.0.1:2; %s }",
        ),
    ],
)
def test_a_setting_that_a_missing_file_may_contain_is_not_reported_as_absent(name: str, server: str, http: str) -> None:
    with_it, without = ([text.replace("%s", place) for text in (server, http)] for place in (ABSENT, ""))
    assert advised(without[0], name, http=without[1])
    assert advised(with_it[0], name, http=with_it[1]) == []


@pytest.mark.parametrize(
    ("name", "http"),
    [
        ("gzip_types_reach_more_than_html", "gzip on;"),
        ("small_answers_without_sendfile_are_split", "tcp_nopush on;"),
        ("limit_behind_a_proxy_hits_everybody", "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;"),
        ("sendfile_serves_https", "sendfile on; server { listen 443 ssl; }"),
        ("cache_lock_protects_expired_keys", "proxy_cache_lock on;"),
    ],
)
def test_missing_site_files_may_have_settings_for_http_but_missing_module_files_may_not(name: str, http: str) -> None:
    """For example, conf.d/gzip.conf may set gzip_types, and a missing site may listen on port 80."""
    found = [
        audit_source(Dump({"nginx.conf": f"{main} events {{ }}\nhttp {{ {http} {more} }}\n"}, is_complete=False)).advice
        for main, more in (("", ""), ("include modules-enabled/*.conf;", ""), ("", "include /etc/nginx/conf.d/*.conf;"))
    ]
    assert [name in [one.claim for one in advice] for advice in found] == [True, True, False]


@pytest.mark.parametrize(
    ("name", "lines", "is_hint"),
    [
        ("gzip_types_reach_more_than_html", "gzip on;", False),
        ("small_answers_without_sendfile_are_split", "tcp_nopush on;", False),
        ("log_with_variable_opens_each_time", "access_log /tmp/$host.log combined;", False),
        ("unbuffered_uploads_get_64k_per_round_trip", "listen 443 ssl http2; proxy_request_buffering off;", False),
        # A hint is still given, since it names its condition.
        ("limit_conn_stops_half_headers", "limit_conn a 5;", True),
    ],
)
def test_a_finding_that_depends_on_the_surroundings_is_not_given_for_a_site_file(
    name: str, lines: str, *, is_hint: bool
) -> None:
    site = f"server {{ listen 80; {lines} }}\n"
    texts = {"nginx.conf": f"events {{ }}\nhttp {{ {site} }}\n", "site.conf": site}
    found = [audit_source(Dump({file: text}, is_complete=False)).advice for file, text in texts.items()]
    assert [name in [one.claim for one in advice] for advice in found] == [True, is_hint]


def test_a_first_header_is_not_added_if_the_surroundings_may_have_others() -> None:
    """Any header in an inner block replaces the outer ones."""
    lines = (
        "upstream a { server 10.0.0.1; keepalive 8; }\nserver { listen 80; location / { proxy_pass http://a; %s } }\n"
    )
    edits = []
    for more in ("", "proxy_set_header Host $host;"):
        found = audit_source(Dump({"site.conf": lines % more}, is_complete=False), version="1.26")
        [one] = [one for one in found.advice if one.name == "upstream_keepalive"]
        edits.append(bool(one.edits))
    assert edits == [False, True]


def test_a_missing_file_may_reduce_what_a_slow_reader_holds() -> None:
    location = "location / { proxy_pass http://127.0.0.1:1; proxy_buffers 128 1m; proxy_buffer_size 1m; }"
    [found] = advised(location, "proxy_buffering")
    assert (found.state, bool(found.edits)) == (State.HARMFUL, True)
    [found] = advised(f"{ABSENT} {location}", "proxy_buffering")
    assert (found.state, found.edits) == (State.CANNOT_TELL, ())
    assert "unless /etc/nginx/absent.conf, which is not in these files, sets other sizes" in found.why
    assert "With the patch" not in found.reason
    # The missing file cannot set proxy_buffering again: nginx accepts it once per block.
    [found] = advised(f"{location[:-1]} proxy_buffering on; {ABSENT} }}", "proxy_buffering")
    assert found.state is State.HARMFUL


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("location / { proxy_pass http://$BACKEND; }", "$BACKEND is not set in these files"),
        ("location / { set $BACKEND $http_x; proxy_pass http://$BACKEND; }", "known only at request time"),
        ("location ~ /(?<NAME>.) { proxy_pass http://$NAME; }", "known only at request time"),
        ("location / { proxy_pass http://$http_x; }", "known only at request time"),
    ],
)
def test_a_variable_that_no_file_sets_is_distinguished_from_one_of_the_request(text: str, why: str) -> None:
    fragment = f"upstream a {{ server 127.0.0.1:1; }}\nserver {{ listen 80;\n{text} }}\n"
    found = audit_source(Dump({"site.conf": fragment}, is_complete=False), version="1.26")
    [one] = [one for one in found.advice if one.name == "upstream_keepalive"]
    assert why in one.why


def test_an_included_pipe_is_reported_as_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secrets.conf")
    (tmp_path / "nginx.conf").write_text("events { }\nhttp { include secrets.conf; }\n", encoding="utf-8")
    found = audit(str(tmp_path / "nginx.conf"))
    assert "Not found, or not a regular file: secrets.conf." in render(found, width=100)
