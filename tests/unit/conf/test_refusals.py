"""Lines that nginx certainly refuses, with its messages; a lab test checks tests.support.refused against nginx."""

from pathlib import Path

import pytest

from tests.support.refused import LOADED, REFUSED, whole
from tests.support.tables import table
from tuneproof.audit.auditing import audit, audit_source
from tuneproof.conf.sources import Dump
from tuneproof.nginx_changes import LAB_VERSIONS


def problems(text: str, version: str = LAB_VERSIONS[0], *, is_complete: bool = True) -> list[str]:
    found = audit_source(Dump({"nginx.conf": text}, is_complete=is_complete), version=version)
    return [problem.message for problem in found.facts.configuration.problems]


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_lines_that_nginx_refuses_are_problems(text: str, message: str) -> None:
    found = {version: problems(whole(text), version) for version in LAB_VERSIONS}
    assert {version: ones for version, ones in found.items() if [message in one for one in ones] != [True]} == {}


@pytest.mark.parametrize("text", LOADED.values(), ids=LOADED)
def test_lines_that_nginx_loads_are_not_problems(text: str) -> None:
    found = {version: problems(whole(text), version) for version in LAB_VERSIONS}
    assert found == {version: [] for version in LAB_VERSIONS}


@pytest.mark.parametrize(("message", "text"), table("incomplete"))
def test_an_incomplete_configuration_has_only_the_problems_that_no_other_file_can_prevent(
    message: str, text: str
) -> None:
    for version in ("1.18", "1.30"):
        assert problems(text, version, is_complete=False) == ([message] if message else [])


def test_a_missing_include_is_a_problem_only_if_the_user_named_a_folder(tmp_path: Path) -> None:
    """A folder should contain everything that its nginx.conf includes by a relative name."""
    (tmp_path / "nginx.conf").write_text("events { }\nhttp { include more.conf; }\n", encoding="utf-8")
    alone, folder = (audit(str(named)).facts.configuration for named in (tmp_path / "nginx.conf", tmp_path))
    assert (alone.problems, alone.unseen) == ((), ("more.conf",))
    assert [one.message for one in folder.problems] == ['open() "more.conf" failed (2: No such file or directory)']


def test_nginx_conf_needs_events(tmp_path: Path) -> None:
    """A file with another name may contain only the http{} of a configuration."""
    found = []
    for name in ("nginx.conf", "http.conf"):
        (tmp_path / name).write_text("http { server { listen 80; } }\n", encoding="utf-8")
        found.append([one.message for one in audit(str(tmp_path / name)).facts.configuration.problems])
    assert found == [['no "events" section in configuration'], []]


def test_worker_processes_and_multi_accept_may_occur_only_once() -> None:
    text = "worker_processes 1;\nworker_processes 2;\nevents { multi_accept on; multi_accept off; }\n"
    assert problems(text) == [f'"{name}" directive is duplicate' for name in ("worker_processes", "multi_accept")]


def test_a_stand_in_does_not_name_an_upstream_block() -> None:
    text = whole("upstream backend { server 10.0.0.1; } server { location / { proxy_pass http://${API_HOST}; } }")
    [proxied] = audit_source(Dump({"nginx.conf": text}, is_complete=True)).facts.proxied
    assert proxied.target.host == "api-host"


def test_directives_of_other_products_are_not_problems() -> None:
    """Angie has client{} and HTTP/3 to upstreams; healthcheck comes from a separate module."""
    location = "location / { proxy_http_version 3; proxy_pass http://a; }"
    upstream = "upstream a { server 10.0.0.1:1; healthcheck interval=1s; keepalive 8; }"
    text = whole(f"client {{ location @a {{ }} }} {upstream} server {{ {location} }}")
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True), version="1.26")
    assert found.facts.configuration.problems == ()
    assert "HTTP/3" not in found.facts.proxied[0].reuse.why


def test_placeholders_get_distinct_stand_in_values() -> None:
    text = "server { server_name ${A_NAME} ${B_NAME}; listen ${A_PORT}; listen ${B_PORT}; root ${A_ROOT}; } # ${A_PORT}"
    found = audit_source(Dump({"nginx.conf": whole(text)}, is_complete=True), version="1.26")
    values = {one.name: one.value for one in found.facts.configuration.filled}
    assert len({*values.values()}) == len(values) == 5
    assert (values["A_PORT"], values["B_PORT"]) == ("8080", "8081")


@pytest.mark.parametrize(("version", "message", "block"), table("other_versions"))
def test_a_version_refuses_what_only_other_versions_allow(
    tmp_path: Path, version: str, message: str, block: str
) -> None:
    (tmp_path / "nginx.conf").write_text(f"events {{ }}\n{block}\n", encoding="utf-8")
    found = audit(str(tmp_path), version=version).facts.configuration.problems
    assert [problem.message for problem in found] == ([message] if message else [])


@pytest.mark.parametrize(("versions", "message", "block"), table("refused_blocks"))
def test_a_version_refuses_exactly_the_blocks_that_nginx_refuses(versions: str, message: str, block: str) -> None:
    for version in versions.split():
        assert problems(f"events {{ }} {block}", version) == ([message] if message else [])


def test_a_part_of_a_stream_server_proxies_no_http() -> None:
    source = Dump({"a.conf": "proxy_pass backend:5432;\nproxy_timeout 1h;\n"}, is_complete=False)
    assert audit_source(source).facts.proxied == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("server { location ~ ^/a{2}$ { } }", 'unknown directive "2}$"'),
        ("map $host $a { ~^a{2} 1; }", 'unexpected "{"'),
        ("server { rewrite ^/a{2}$ /b; }", 'directive "rewrite" is not terminated by ";"'),
    ],
)
def test_a_brace_in_a_regular_expression_without_quotes_begins_a_block(text: str, message: str) -> None:
    assert problems(f"events {{ }}\nhttp {{ {text} }}\n")[0] == message


def test_the_number_of_connections_has_no_unit() -> None:
    assert problems("events { worker_connections 1k; }", "1.30") == ['invalid number "1k"']


def test_quoted_words_of_a_condition_stay_together() -> None:
    text = """events { } http { server { if ( $http_user_agent = "a b" ) { return 403; } if ($uri ~ (a|(b))) { } } }"""
    main = audit_source(Dump({"nginx.conf": text}, is_complete=True), version="1.30").facts.configuration.main
    found = [block.args for block in main.all("if")]
    assert found == [("$http_user_agent", "=", "a b"), ("$uri", "~", "(a|(b))")]


@pytest.mark.parametrize(
    ("http", "stream", "line"),
    [
        ("listen 443;", "listen 443;", 3),
        ("listen 127.0.0.1:443;", "listen 443;", 3),
        ("listen 443;", "listen 127.0.0.1:443 reuseport;", 3),
        ("listen unix:/run/a;", "listen unix:/run/a;", 3),
        ("listen 443 reuseport;", "listen 443 reuseport;", None),
        ("listen 443;", "listen [::]:443;", None),
        ("listen 443;", "listen 443 udp;", None),
        ("", "listen 80;", None),
        ("listen ${PORT};", "listen 443;", None),
    ],
)
def test_an_address_that_http_and_stream_listen_on_is_a_problem(http: str, stream: str, line: int | None) -> None:
    """``nginx -t`` does not report it, but nginx does not start; a server without a listen may use another port."""
    text = f"events {{ }}\nhttp {{ server {{ {http} }} }}\nstream {{ server {{ {stream} proxy_pass 127.0.0.1:1; }} }}\n"
    for version in LAB_VERSIONS:
        source = Dump({"nginx.conf": text}, is_complete=True)
        found = audit_source(source, version=version).facts.configuration.problems
        assert [one.line for one in found if "98: Address already in use" in one.message] == [line] * (line is not None)
