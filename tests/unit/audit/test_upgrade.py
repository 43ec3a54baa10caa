"""Changes for a configuration between two versions of nginx."""

import json
from pathlib import Path
from typing import Final

import pytest

from tests.support.tables import table
from tests.support.upgraded import changes, of, patched
from tuneproof.audit.differences import Effect
from tuneproof.audit.render import render_upgrade
from tuneproof.audit.upgrade import as_document, upgrade
from tuneproof.cli.main import main
from tuneproof.conf.directives import newest
from tuneproof.conf.sources import Dump
from tuneproof.errors import BadInputError
from tuneproof.nginx_changes import CHANGES, LAB_VERSIONS, Kind, changes_between
from tuneproof.wording import as_numbers

TLS = "ssl_certificate a; ssl_certificate_key a;"


@pytest.mark.parametrize(
    ("server", "effect", "what", "since", "after"),
    [
        ("listen 443;\nssl on;", Effect.REFUSED, "ssl", "1.25.1", "listen 443 ssl;\n}"),
        ("listen 443 ssl;\nssl on;", Effect.REFUSED, "ssl", "1.25.1", "listen 443 ssl;\n}"),
        ("listen 80;\nssl off;", Effect.REFUSED, "ssl", "1.25.1", "listen 80;\n}"),
        ("http2_push_preload on;", Effect.IGNORED, "http2_push_preload", "1.25.1", "server {\n}"),
        ("http2_max_requests 9;", Effect.IGNORED, "http2_max_requests", "1.19.7", "server {\n}"),
        ("listen 443 ssl spdy;", Effect.REFUSED, "listen spdy", "1.19.7", "listen 443 ssl;\n}"),
        ("listen 443 ssl http2;", Effect.DEPRECATED, "listen http2", "1.25.1", "listen 443 ssl;\nhttp2 on;\n}"),
    ],
)
def test_lines_that_a_newer_nginx_rejects_are_reported_and_patched(
    server: str, effect: Effect, what: str, since: str, after: str
) -> None:
    """A line is refused, ignored or deprecated from a version on; for a version before that, nothing is reported."""
    text = f"server {{\n{server}\n}}"
    found = changes(text)
    assert of(found, effect) == [(what, 3 + server.count("\n") + 1, since)]
    assert after in patched(found, defaults=False)
    assert found.is_refused == (effect is Effect.REFUSED)
    at = as_numbers(since)
    just_before = f"{at[0]}.{at[1]}.{at[2] - 1}"
    assert of(changes(text, new=just_before), effect) == []
    # A line that both versions refuse is still an error.
    assert bool(of(changes(text, old=since), effect)) == found.is_refused
    again = upgrade(Dump({"nginx.conf": patched(found, defaults=False)}, is_complete=True), old="1.18", new="1.30")
    assert of(again, effect) == []


TWO_SERVERS: Final = "ssl on;\nserver {\nlisten 443;\n}\nserver {\nlisten 80;\nssl off;\n}"


@pytest.mark.parametrize("around", ["http", "mail"])
def test_ssl_on_at_an_outer_level_is_replaced_in_its_servers(around: str) -> None:
    """Only servers in which TLS is on get ``listen … ssl``; nothing changes if a server's listens are unknown."""
    for text, expected in (
        (TWO_SERVERS, "server {\nlisten 443 ssl;\n}\nserver {\nlisten 80;\n}"),
        (f"include a;\n{TWO_SERVERS}", "ssl on;\nserver {\nlisten 443;\n}"),
        ("ssl on;\nserver {\nlisten 443;\n}\nserver {\ninclude a;\n}", "ssl on;\nserver {\nlisten 443;\n}"),
    ):
        whole = Dump({"nginx.conf": f"events {{ }}\n{around} {{\n{TLS}\n{text}\n}}\n"}, is_complete=True)
        assert expected in patched(upgrade(whole, old="1.22", new="1.26"), defaults=False)


def test_the_heading_states_that_a_patch_is_not_enough() -> None:
    """If only one of two servers on a socket has TLS, the user must decide whether the other gets it."""
    odd = f"server {{ listen 443; ssl on; {TLS} }}\nserver {{ listen 443; server_name b; }}"
    shown = render_upgrade(changes(f"{odd}\nserver {{ listen 444; ssl on; {TLS} }}"), width=200)
    assert "Patch for nginx 1.30 (nginx needs more changes to start: make the others by hand):\n" in shown
    assert "\nPatch for nginx 1.30:\n" in render_upgrade(changes(f"server {{ listen 444; ssl on; {TLS} }}"), width=200)


def test_a_refusal_by_only_the_old_version_is_not_reported_for_the_new_one() -> None:
    """Advice that the refusal suppressed is not reported as a change."""
    back = changes("server { listen 80 spdy; }", old="1.22", new="1.18")
    assert "NGINX 1.22 DOES NOT START\n  nginx.conf:3: invalid parameter" in render_upgrade(back, width=200)
    assert (back.starts, of(back, Effect.ADVICE)) == (True, [])
    early = changes("server { listen 80; early_hints 1; }", old="1.26", new="1.30")
    assert 'NGINX 1.26 DOES NOT START\n  nginx.conf:3: unknown directive "early_hints"' in render_upgrade(
        early, width=200
    )
    assert early.starts


def test_a_line_that_both_versions_refuse_prevents_the_start() -> None:
    """`nginx -t` of 1.26 and 1.30 reports `unknown directive "ssl"`."""
    for old, new in (("1.26", "1.30"), ("1.30", "1.26")):
        found = changes(f"server {{ listen 443; ssl on; {TLS} }}", old=old, new=new)
        assert of(found, Effect.REFUSED) == [("ssl", 3, "1.25.1")]
        assert found.starts is False
    misplaced = changes("server { ssl_object_cache_inheritable off; }", old="1.22", new="1.30")
    assert as_document(misplaced)["starts"] is False


@pytest.mark.parametrize("same", ["443", "*:443", "0.0.0.0:443"])
def test_a_socket_is_the_same_in_all_spellings_of_listen(same: str) -> None:
    """The parameters of listen apply to the whole socket; nothing changes for a server on another socket.

    Otherwise, a server with plain HTTP on that socket would get TLS, and one with HTTP/2 would lose HTTP/2.
    """
    shared = f"server {{\nlisten 443 ssl http2;\n}}\nserver {{\nlisten {same} ssl; server_name b;\n}}"
    after = patched(changes(f"{shared}\nserver {{\nlisten 444 ssl;\n}}"), defaults=False)
    assert after.count("http2 on;") == 2
    assert "listen 444 ssl;\n}" in after
    plain = f"server {{\nlisten 443;\nssl on;\n}}\nserver {{\nlisten {same}; server_name b;\n}}"
    found = changes(plain)
    assert [one.what for one in found.differences if one.effect is Effect.REFUSED] == ["ssl"]
    assert "ssl on;" in patched(found, defaults=False)


HANDLED: Final = "proxy_pass 127.0.0.1:9;"
PASSES: Final = "server { location / { proxy_pass http://a; } }"


def test_a_listen_that_redefines_protocols_is_reported_as_a_warning() -> None:
    """1.23.4: "now nginx issues a warning if protocol parameters of a listening socket are redefined"."""
    servers = "server { listen 443 ssl; }\nserver { listen 443; server_name a; }\nserver { listen *:443 ssl; }"
    for old, new, lines in (("1.22", "1.26", [5]), ("1.26", "1.30", []), ("1.26", "1.22", [])):
        found = [one for one in changes(servers, old=old, new=new).differences if "protocol options" in one.why]
        assert [one.at.line for one in found] == lines
        assert all("redefined for 0.0.0.0:443; as before" in one.why for one in found)


@pytest.mark.parametrize(
    ("servers", "old", "new", "line", "message"),
    [
        ("server {\nlisten 1; ssl_preread on;\n}", "1.30", "1.26", 3, "no handler for server"),
        ("server {\nlisten 1; ssl_preread on;\n}", "1.30", "1.27.1", 0, ""),
        ("server {\nlisten 1; js_preread a;\n}", "1.30", "1.26", 0, ""),
        ("server { listen 1; include a; }", "1.30", "1.26", 0, ""),
        ("server { listen 1; return a; }", "1.30", "1.26", 0, ""),
        (f"server {{ listen 1 udp; {HANDLED} }}\nserver {{ listen 1; {HANDLED} }}", "1.26", "1.22", 0, ""),
        (
            *(f"server {{ listen 1; {HANDLED} }}\nserver {{ listen *:1; {HANDLED} }}", "1.26", "1.22", 4),
            'duplicate "0.0.0.0:1" address and port pair',
        ),
    ],
)
def test_stream_servers_that_an_older_version_refuses_are_reported(
    servers: str, old: str, new: str, line: int, message: str
) -> None:
    """1.27.1: "now the stream module handler is not mandatory"; 1.25.5: "virtual servers in the stream module"."""
    found = upgrade(Dump({"nginx.conf": f"events {{ }}\nstream {{\n{servers}\n}}"}, is_complete=True), old=old, new=new)
    assert [(one.at.line, one.why) for one in found.differences if one.effect is Effect.REFUSED] == (
        [(line, message)] if line else []
    )


def test_a_line_that_several_servers_include_is_reported_once() -> None:
    servers = "server { include tls.conf; server_name a; } server { include tls.conf; server_name b; }"
    files = {"nginx.conf": f"events {{ }}\nhttp {{ {servers} }}\n", "tls.conf": "ssl_session_cache shared:a:1m;\n"}
    found = upgrade(Dump(files, is_complete=True), old="1.26", new="1.30").differences
    assert [one.at.file for one in found if one.what == "ssl_session_cache"] == ["tls.conf"]


def test_a_directive_that_security_updates_added_to_older_packages_may_be_refused() -> None:
    """Debian's 1.22.1 accepts max_headers since 1.22.1-9+deb12u8; nginx's own 1.22.1 refuses it."""
    back = changes("server {\nmax_headers 100;\n}", old="1.30", new="1.22")
    assert of(back, Effect.MAY_BE_REFUSED) == [("max_headers", 4, "1.29.8")]
    assert not back.is_refused
    between = changes("server { max_headers 100; }", old="1.18", new="1.22")
    assert [one[0] for one in of(between, Effect.MAY_BE_REFUSED)] == ["max_headers"]
    assert of(changes("server { max_headers 100; }", old="1.22", new="1.30"), Effect.MAY_BE_REFUSED) == []
    assert of(changes("server { max_headers 100; }", old="1.22", new="1.22"), Effect.MAY_BE_REFUSED) == []
    assert as_document(back)["starts"] is None
    (why,) = [one.why for one in changes("server { }", old="1.22").differences if one.what == "max_headers"]
    assert why.endswith("Distributions' security updates added it to some older packages, too")
    xslt = changes("server { location / { xslt_stylesheet a; } }", old="1.30", new="1.31").differences
    (why,) = [one.why for one in xslt if one.what == "xslt_stylesheet"]
    assert why.endswith("Distributions' security updates changed this in some older packages, too")


def test_headers_that_an_upstream_may_repeat_are_named() -> None:
    """A login server often sets two cookies. A log may contain any text."""
    name = "$upstream_http_set_cookie"
    for line, is_named in (
        (f"server {{ location / {{ auth_request /a; auth_request_set $b {name}; }} }}", True),
        (f"map {name} $b {{ default a; }}", True),
        (f"log_format a {name};", False),
        ("add_header Set-Cookie $upstream_status;", False),
    ):
        found = [one for one in changes(line, old="1.22", new="1.26").differences if one.since == "1.23.0"]
        assert [(one.what, "if the upstream sends" in one.why) for one in found] == ([(name, True)] if is_named else [])


def test_modules_must_be_built_for_the_new_version() -> None:
    """ngx_load_module: "module … version … instead of …", also within a branch."""
    text = Dump({"nginx.conf": "load_module a.so;\nevents { }\n"}, is_complete=True)
    assert of(upgrade(text, old="1.22", new="1.22.1"), Effect.MODULE) == [("load_module", 1, "")]
    assert upgrade(text, old="1.22", new="1.22").differences == ()
    loaded = (
        "load_module a/ngx_http_echo_module.so;\nevents { }\nhttp { server { echo a; brotli on; lua_x y; echo b; } }"
    )
    found = upgrade(Dump({"nginx.conf": loaded}, is_complete=True), old="1.26", new="1.30")
    assert of(found, Effect.MODULE) == [("load_module", 1, ""), ("brotli and lua_x", 3, "")]


def test_http2_enabled_by_listen_stays_on_where_http2_is_off() -> None:
    """The parameter enables HTTP/2 despite `http2 off;`, which would turn it off once the parameter is removed."""
    for text in ("server { listen 443 ssl http2; http2 off; }", "http2 off; server { listen 443 ssl http2; }"):
        after = patched(changes(text, old="1.22"), defaults=False)
        assert "http2 on;" in after.partition("server {")[2]
        assert "http2 off;" not in after.partition("server {")[2]


@pytest.mark.parametrize(
    "written", ["1.22.1", "v1.22.1", "nginx/1.22.1", "1.22.1-9+deb12u8", "1:1.22.1-1~bookworm", "1.22.1 (Ubuntu)"]
)
def test_a_version_may_have_the_form_of_a_packages_version(written: str) -> None:
    found = changes("server { }", old=written, new="1.26.0-3+deb13u1")
    assert (found.before.facts.version, found.after.facts.version) == ("1.22.1", "1.26.0")


def test_a_mainline_branch_means_its_last_release() -> None:
    """The tags of container images have the same meaning; here, the changes up to 1.29.8 are included."""
    since = {one.since for one in changes("server { listen 80; }", old="1.26", new="1.29").differences}
    assert "1.29.8" in since
    assert changes("server { listen 80; }", old="1.29", new="1.30").differences == ()


def test_advice_that_expires_is_reported() -> None:
    kept = 'proxy_http_version 1.1; proxy_set_header Connection "";'
    text = f"upstream u {{ server a; keepalive 8; }} server {{ location / {{ proxy_pass http://u; {kept} }} }}"
    whys = [one.why for one in changes(text, old="1.26").differences if one.effect is Effect.ADVICE]
    assert [why.partition(":")[0] for why in whys] == ["in effect -> expired"]
    assert not [one for one in changes(text, old="1.22", new="1.26").differences if one.effect is Effect.ADVICE]


def test_a_downgrade_is_reported_too() -> None:
    """The report lists what the older version lacks; no line is proposed for a default that this version lacks."""
    found = changes("server { listen 443 ssl; http2 on; }", old="1.30", new="1.22")
    assert of(found, Effect.REFUSED) == [("http2", 3, "1.25.1")]
    [why] = [one.why for one in found.differences if one.what == "max_headers"]
    assert why.startswith("no limit, 1000 in nginx 1.30: no longer so: ")
    assert found.patch(defaults=True) == ""
    text = render_upgrade(found, width=500)
    assert "  changed in 1.29.8: no limit, 1000 in nginx 1.30: no longer so: " in text
    assert "since 1.2" not in text


@pytest.mark.parametrize(("old", "new", "effect", "what", "places", "http"), table("upgrades"))
def test_exactly_the_lines_that_a_change_concerns_are_reported(
    old: str, new: str, effect: str, what: str, places: str, http: str
) -> None:
    """Otherwise, users would change lines for nothing, or would not notice that lines behave differently."""
    found = of(changes(http.replace("\\n", "\n"), old=old, new=new), Effect[effect.upper()])
    assert ", ".join(f"{line} {since}" for name, line, since in found if name == what) == places


def test_nothing_changes_between_a_version_and_itself() -> None:
    text = f"server {{ listen 443 ssl http2; {TLS} sendfile on; location / {{ proxy_pass http://a; }} }}"
    for version in LAB_VERSIONS:
        assert changes(text, old=version, new=version).differences == ()


def test_mainline_without_a_release_means_the_release_in_the_lab() -> None:
    text = "server { location / { grpc_pass grpc://a; grpc_set_header Host b; } }"
    found = changes(text, old="1.30", new="1.31")
    assert [one.since for one in found.differences] == ["1.31.3"]
    assert [one.since for one in changes(text, old="1.30", new="1.31.4").differences] == ["1.31.3", "1.31.4"]


def test_the_table_is_in_the_order_of_versions_without_duplicates() -> None:
    rows = [
        (change.directive, change.parameter, change.block, change.kind, change.version, change.args)
        for change in CHANGES
    ]
    assert len(set(rows)) == len(rows)
    assert [change.numbers for change in CHANGES] == sorted(change.numbers for change in CHANGES)
    last: dict[tuple[str, str], str] = {}
    for change in CHANGES:
        if change.kind is Kind.DEFAULT:
            key = (change.directive, change.block)
            assert last.get(key, change.before) == change.before
            last[key] = change.after
    assert [change.version for change in changes_between("1.29.7", "1.30")] == ["1.29.8", "1.29.8"]


def test_unknown_versions_are_rejected() -> None:
    with pytest.raises(BadInputError, match=r"--from 1\.16: changes before 1\.18"):
        changes("server { }", old="1.16")
    for version in ("new", "1", "1.30.x", "", "-1.30"):
        with pytest.raises(BadInputError, match=f"--to {version}: not a version"):
            changes("server { }", new=version)


def test_the_command_reports_places_and_writes_the_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nginx").mkdir()
    (tmp_path / "nginx/nginx.conf").write_text(
        "events { }\nhttp { server {\nlisten 443 ssl;\nssl on;\nssl_certificate a; ssl_certificate_key b;\n} }\n",
        encoding="utf-8",
    )
    options = ["upgrade", "--from", "1.22", "--to", "1.30", "nginx"]
    assert main([*options, "--patch", "up.patch"]) == 1
    out = capsys.readouterr().out
    assert "nginx does not start: ssl, nginx.conf:4\n  since 1.25.1: " in out
    assert "another default: ssl_protocols, nginx.conf:2" in out
    assert "\nOnly to keep the old defaults:\n--- a/nginx.conf\n" in out
    assert "-ssl on;" in (tmp_path / "up.patch").read_text(encoding="utf-8")
    assert main([*options, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["from"], report["to"], report["starts"]) == ("1.22", "1.30", False)
    assert {one["effect"] for one in report["differences"]} == {
        "nginx does not start",
        "another default",
        "behaves differently",
    }
    (tmp_path / "nginx/nginx.conf").write_text("events { }\nhttp { server { listen 80; } }\n", encoding="utf-8")
    assert main(["upgrade", "--from", "1.26", "--to", newest(), "nginx"]) == 0
    assert "does not know changes after" not in capsys.readouterr().out
    assert main(["upgrade", "--from", "1.26", "--to", f"{newest()}.1", "nginx"]) == 0
    assert f"This version of Tuneproof does not know changes after {newest()}." in capsys.readouterr().out
    (tmp_path / "nginx/nginx.conf").write_text("events { }\nhttp { server { listen 80; }\n", encoding="utf-8")
    assert main(options) == 2
    (tmp_path / "nginx/nginx.conf").write_text("events { }\nhttp { server { listen 80 spdy; } }\n", encoding="utf-8")
    assert main(["upgrade", "--from", "1.22", "--to", "1.18", "nginx"]) == 0
