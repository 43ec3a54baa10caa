"""The versions that an audit is for: for an installed nginx's own files, its version; otherwise, all suitable ones."""

from pathlib import Path

import pytest

from tests.support.upgraded import source
from tuneproof.audit.auditing import audit, audit_source
from tuneproof.audit.render import render
from tuneproof.audit.version_choice import installed_version, lab_version
from tuneproof.conf.directives import newest
from tuneproof.conf.sources import Dump
from tuneproof.nginx_changes import STABLE_VERSIONS
from tuneproof.wording import as_numbers

PROGRAM = "#!/bin/sh\necho 'nginx version: nginx/1.22.1 (Debian)' >&2\necho 'configure arguments: --conf-path={}' >&2\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the configuration of an nginx on PATH."""
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "nginx.conf").write_text("events {}\nhttp { server { listen 80; } }\n", encoding="utf-8")
    (tmp_path / "nginx").write_text(PROGRAM.format(folder / "nginx.conf"), encoding="utf-8")
    (tmp_path / "nginx").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return folder


def test_the_installed_nginx_determines_the_version_for_its_own_configuration(installed: Path) -> None:
    for named in (installed, installed / "nginx.conf"):
        found = audit(str(named))
        assert (found.facts.version, found.is_installed, found.versions) == ("1.22.1", True, ())
        assert render(found, width=100).startswith("Audited for nginx 1.22.1, which is installed here: 1 server")


def test_a_copy_elsewhere_does_not_belong_to_the_installed_nginx(installed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.conf"
    copy.write_bytes((installed / "nginx.conf").read_bytes())
    assert installed_version(str(copy)) == ""
    assert audit(str(copy)).versions == ("1.18", "1.22", "1.26", "1.30")


def test_a_version_that_the_user_names_takes_precedence(installed: Path) -> None:
    assert audit(str(installed), version="1.30").facts.version == "1.30"


def test_an_installed_release_is_matched_to_a_version_in_the_lab() -> None:
    assert [lab_version(one) for one in ("1.22.1", "1.30.6", "1.24.0", "")] == ["1.22", "1.30", "", ""]


def test_a_problem_names_the_versions_that_have_it_unless_all_do() -> None:
    """Before 1.19.7, nginx only warned about spdy."""
    text = "events { }\nhttp { server { listen 80 spdy; } server { listen 80; listen 80; } }\n"
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True)).facts.configuration.problems
    assert [one.message for one in found] == [
        'invalid parameter "spdy" (on nginx 1.22, 1.26 and 1.30)',
        "a duplicate listen 0.0.0.0:80",
    ]


def test_a_line_that_only_older_versions_refuse_is_reported_and_does_not_prevent_patches() -> None:
    """Before 1.25.5, stream{} can have only one server for each address."""
    server = "server { listen 53; proxy_pass 127.0.0.1:1; }"
    text = f"worker_processes 2;\nevents {{ multi_accept on; }}\nstream {{ {server} {server} }}\n"
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True))
    shown = render(found, width=100)
    assert (
        'DO NOT START\n  nginx.conf:3: duplicate "0.0.0.0:53" address and port pair (on nginx 1.18 and 1.22)' in shown
    )
    assert not found.facts.configuration.is_broken
    assert "Patch for accepting" in shown


@pytest.mark.parametrize(
    ("version", "bound"),
    [
        ("1.99", f"after {newest()}"),
        (newest(), ""),
        ("1.31", ""),
        ("1.24", ""),
        ("1.18.0", ""),
        ("1.14", "before 1.18"),
    ],
)
def test_a_version_outside_the_known_range_is_reported(version: str, bound: str) -> None:
    found = audit_source(Dump({"nginx.conf": "events { }\n"}, is_complete=True), version=version)
    more = f" (changes {bound} are not known)" if bound else ""
    assert render(found, width=100).startswith(f"Audited for nginx {version}{more}: 0 servers")


PLUS = "upstream a { zone a 64k; least_time header; sticky cookie s; resolver 10.0.0.1; server b:1 resolve; }"


@pytest.mark.parametrize(
    ("http", "version", "because"),
    [
        ("server { listen 443 ssl http2; }", "1.18", ""),
        ("server { keepalive_time 1h; }", "1.22", "keepalive_time"),
        ("server { listen 443 ssl; http2 on; }", "1.26", "http2"),
        ("server { listen 443 quic; }", "1.26", "listen quic"),
        ("upstream u { server a resolve; }", "1.30", "server resolve"),
        ("upstream u { server a; keepalive 8 local; }", "1.30", "keepalive local"),
        ("upstream u { server a; keepalive 0; }", "1.30", "keepalive 0"),
        ("proxy_limit_rate $rate;", "1.30", "proxy_limit_rate with a variable"),
        ("proxy_limit_rate 8k;", "1.18", ""),
        ("proxy_ssl_certificate $name.pem;", "1.22", "proxy_ssl_certificate with a variable"),
        ("proxy_cache_path /a keys_zone=a:1m min_free=1g;", "1.22", "proxy_cache_path min_free="),
        ("proxy_socket_rcvbuf 32k;", "1.31", "proxy_socket_rcvbuf"),
        ("map $a $b { default 1; http2 2; }", "1.18", ""),
        (
            "server { ssl_verify_client on; ssl_trusted_certificate a; }",
            "1.30",
            "ssl_verify_client without ssl_client_certificate",
        ),
        # No version accepts this.
        ("server { ssl_verify_client on; }", "1.18", ""),
        ("server { ssl_verify_client on; ssl_client_certificate a; }", "1.18", ""),
        ("server { ssl_verify_client optional_no_ca; }", "1.18", ""),
        ("server { ssl_verify_client on; include a; }", "1.18", ""),
        ("geo $a { volatile; default 1; }", "1.30", "volatile"),
        ("geo $a { default volatile; } map $a $b { volatile; }", "1.18", ""),
        ("server { set $a b; server_name x; }", "1.18", ""),
        # Debian has packaged brotli since its nginx 1.22.
        ("brotli on;", "1.22", "brotli"),
        (PLUS, "1.31", "least_time"),
        # The status zone shows that the configuration is for nginx Plus: its directives rule out no version.
        (f"{PLUS} server {{ status_zone a; }}", "1.18", ""),
    ],
)
def test_by_default_all_versions_that_have_all_directives_are_compared(http: str, version: str, because: str) -> None:
    """The oldest is the first lab version that has all directives; the audit names one that older versions lack."""
    found = audit_source(source(http))
    assert found.choice is not None
    assert found.choice.version == version
    newer = tuple(one for one in STABLE_VERSIONS if as_numbers(one) >= as_numbers(version))
    assert found.versions == (newer if len(newer) > 1 else ())
    assert (found.choice.because.what if found.choice.because else "") == because


def test_findings_that_apply_to_some_versions_name_those_versions() -> None:
    """Unless something breaks, such findings have no patch, since a patch would not suit the other versions."""
    found = audit_source(source("upstream u { server 10.0.0.1; } server { location / { proxy_pass http://u; } }"))
    states = {(one.claim, one.state.value): (one.versions, bool(one.edits)) for one in found.advice}
    assert states["connections_are_the_cause", "missing"] == (STABLE_VERSIONS[:-1], False)
    assert states["connections_are_the_cause", "in effect"] == (STABLE_VERSIONS[-1:], False)
    assert states["keepalive_timeout_below_spares_posts", "missing"] == (STABLE_VERSIONS[-1:], True)
    (missing,) = [one for one in found.advice if (one.claim, one.state) == ("connections_are_the_cause", "missing")]
    assert "With the patch" not in missing.reason
    assert missing.reason.endswith(f"--nginx {STABLE_VERSIONS[-2]} shows a patch")
