"""The pages in docs/generators/ judge every line of a configuration, and match their generators' descriptions."""

from pathlib import Path

import pytest

from tools.generators.described import FOLDER, Generator, every_generator
from tools.generators.judged import Status, judged
from tools.generators.page import audited, page
from tuneproof.audit.auditing import audit_source
from tuneproof.conf.sources import Dump
from tuneproof.nginx_changes import LAB_VERSIONS
from tuneproof.report.results.run_file import load

GENERATORS = every_generator()
FIX = "fix: .venv/bin/python -m tools.generators"
each_generator = pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.slug)


def known(text: str, version: str = "1.30") -> dict[str, Status]:
    """Return the status of each line in http{}, by its text."""
    text = f"events {{\n}}\nhttp {{\n{text}\n}}\n"
    found = judged(text, audit_source(Dump({"a.conf": text}, is_complete=True), version=version))
    return {line.text: line.status for line in found if line.within != "main"}


@each_generator
def test_a_configuration_and_a_page_match_the_description(generator: Generator) -> None:
    assert generator.file.read_text(encoding="utf-8") == generator.nginx_conf(), FIX
    assert (FOLDER / f"{generator.slug}.md").read_text(encoding="utf-8") == page(generator), FIX


@each_generator
def test_every_line_is_judged_once(generator: Generator) -> None:
    """Closing braces and comments are not judged."""
    lines = enumerate(generator.nginx_conf().splitlines(), start=1)
    wanted = [(number, line.strip()) for number, line in lines if line.strip() != "}" and not line.startswith("#")]
    found = judged(generator.nginx_conf(), audited(generator))
    assert [(line.line, line.text) for line in found] == wanted
    assert {line.status for line in found} >= {Status.TESTED, Status.UNTESTED}


@each_generator
def test_advice_is_shown_next_to_a_line(generator: Generator) -> None:
    """Each piece of the audit's advice belongs to exactly one line."""
    audit = audited(generator)
    assert audit.facts.configuration.problems == ()
    shown = [advised for line in judged(generator.nginx_conf(), audit) for advised in line.advised]
    assert len(shown) == len(audit.advice) > 0


@each_generator
def test_a_generator_is_named_with_version_and_licence(generator: Generator) -> None:
    assert generator.name
    assert generator.version
    assert generator.licence in {"MIT", "MPL-2.0", "Apache-2.0"}
    assert generator.source.startswith("https://")
    assert generator.nginx in LAB_VERSIONS


@each_generator
def test_measurements_belong_to_the_generators_configuration_and_version(generator: Generator) -> None:
    measured = [load(path) for path in (generator.results,) if path.exists()]
    assert {str(one.options["nginx_conf"]) for one in measured} <= {f"docs/generators/{generator.file.name}"}
    assert {cell.nginx for one in measured for cell in one.cells} <= {generator.nginx}


@pytest.mark.parametrize(
    ("text", "version", "status"),
    [
        ("sendfile on;", "1.30", Status.TESTED),
        ("ssl_buffer_size 4k;", "1.30", Status.TESTED),
        ("keepalive_timeout 75;", "1.18", Status.DEFAULT),
        ("client_body_timeout 1m;", "1.30", Status.DEFAULT),
        ("lingering_timeout 61s;", "1.30", Status.UNTESTED),
        ("proxy_buffers 8 4096;", "1.30", Status.DEFAULT),
        ("keepalive_requests 1000;", "1.30", Status.DEFAULT),
        ("keepalive_requests 1000;", "1.18", Status.UNTESTED),
        ("keepalive_requests 100;", "1.18", Status.DEFAULT),
        ("keepalive_time 1h;", "1.18", Status.UNTESTED),
        ("proxy_http_version 1.1;", "1.26", Status.TESTED),
        ("index index.php;", "1.30", Status.OWN),
        ("server_tokens off;", "1.30", Status.UNTESTED),
    ],
)
def test_a_lines_status_shows_whether_it_was_tested_or_is_a_default(text: str, version: str, status: Status) -> None:
    """A default depends on the version, and may be spelled differently."""
    assert known(text, version) == {text: status}


def test_a_line_that_restores_a_default_is_not_called_a_default() -> None:
    found = known("gzip_vary on;\nserver {\ngzip_vary off;\ngzip_proxied off;\n}")
    assert found["gzip_vary off;"] == Status.UNTESTED
    assert found["gzip_proxied off;"] == Status.DEFAULT


def test_an_upstream_has_its_own_defaults_and_inherits_nothing() -> None:
    found = known("keepalive_timeout 20s;\nupstream a {\nserver b:1;\nkeepalive_timeout 60s;\nkeepalive 32 local;\n}")
    assert found["keepalive 32 local;"] == Status.DEFAULT
    assert found["keepalive_timeout 60s;"] in {Status.DEFAULT, Status.TESTED}


def test_a_new_generator_is_one_file(tmp_path: Path) -> None:
    """The lab tests the output on its newest nginx up to the target version; until then, the page has the command."""
    (tmp_path / "new.toml").write_text(
        'name = "New"\nversion = "1"\nlicence = "MIT"\nsource = "https://new.example"\ntargets = "1.29.1"\n'
        'rendered = "all"\nleft_out = []\n[conf]\nuser = "a"\n[conf.events]\n'
        '[[conf.http.server]]\nlisten = ["80", "81"]\n[conf.http.server."location /"]\ninternal = ""\n',
        encoding="utf-8",
    )
    (found,) = every_generator(tmp_path)
    assert found.nginx == "1.26"
    assert found.nginx_conf().splitlines()[1:] == [
        "user a;",
        "events {",
        "}",
        "http {",
        "    server {",
        "        listen 80;",
        "        listen 81;",
        "        location / {",
        "            internal;",
        "        }",
        "    }",
        "}",
    ]
    assert "Not measured yet; `./lab run --nginx-conf docs/generators/new.conf --nginx 1.26` does it." in page(found)
