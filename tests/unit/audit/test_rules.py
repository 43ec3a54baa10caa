"""The states of advice, the claims behind it, and its presentation."""

import json
import re

import pytest

from tests.support.places import CHECKOUT
from tests.support.tables import table
from tools.docs.__main__ import RESULTS, WITH_EXAMPLES, documents
from tools.docs.example import COMMAND, LOGGED, with_example
from tools.docs.recorded import recorded as kept_of
from tuneproof.audit.advice import State
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.audit.differences import Effect
from tuneproof.audit.recorded import FILE, recorded_of
from tuneproof.audit.render import render
from tuneproof.audit.rules import copied_lines, every_rule
from tuneproof.audit.upgrade import upgrade
from tuneproof.catalogue import every_advice
from tuneproof.conf.sources import Dump
from tuneproof.lines import every_line
from tuneproof.nginx_changes import STABLE_VERSIONS
from tuneproof.report.results.run_file import load


def of(http: str, *, version: str = "1.22", main: str = "", events: str = "", complete: bool = True) -> Audit:
    text = f"{main}\nevents {{ {events} }}\nhttp {{ {http} }}\n"
    return audit_source(Dump({"nginx.conf": text}, is_complete=complete), version=version)


def states(found: Audit, name: str) -> list[str]:
    return [one.state.value for one in found.advice if one.name == name]


UP = "upstream u { server a:1; keepalive 8; }\n"
KEPT = 'proxy_http_version 1.1; proxy_set_header Connection "";'
TO_U = "proxy_pass http://u;"


PROXIED = "proxy_pass http://a:1;"


def server(inside: str) -> str:
    return f"{UP}server {{ {inside} }}"


def test_workers_that_allocate_more_on_newer_versions_are_one_finding() -> None:
    """A connection takes 424 bytes before 1.19.10, 440 from 1.25.0 on, and 432 between them."""
    text = "worker_processes auto; events { worker_connections 65535; } http { }"
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True))
    (one,) = (one for one in found.advice if one.name == "accepting")
    assert (one.versions, one.why.endswith("Each worker allocates at least 26.5 MiB at start")) == ((), True)


def test_http_2_to_the_upstream_is_not_among_the_lines_that_the_default_replaces() -> None:
    found = of(server(f"location / {{ {TO_U} proxy_http_version 2; }}"), version="1.30")
    (one,) = (one for one in found.advice if one.name == "upstream_keepalive")
    assert one.state.value == "expired"
    assert "proxy_http_version" not in one.reason


@pytest.mark.parametrize(("name", "expected", "version", "extent", "text"), table("advice"))
def test_each_rule_gives_advice_the_expected_state(
    name: str, expected: str, version: str, extent: str, text: str
) -> None:
    """Advice appears once for each socket or place that it applies to."""
    found = audit_source(Dump({"nginx.conf": text}, is_complete=extent == "whole"), version=version)
    assert ", ".join(one.state.value for one in found.advice if name in {one.name, one.claim}) == expected


@pytest.mark.parametrize(("name", "version", "extent", "part", "text"), table("reasons"))
def test_a_reason_names_the_lines_amounts_and_causes_of_its_finding(
    name: str, version: str, extent: str, part: str, text: str
) -> None:
    found = audit_source(Dump({"nginx.conf": text}, is_complete=extent == "whole"), version=version)
    assert part in "\n".join(one.why for one in found.advice if name in {one.name, one.claim})


@pytest.mark.parametrize(
    ("outside", "server", "inside", "is_patched"),
    [("", "", "", True), ("include a;", "", "", True), ("", "include a;", "", False), ("", "", "include a;", False)],
)
@pytest.mark.parametrize("address", ["10.0.0.1", "u"])
def test_a_directive_that_a_missing_file_may_contain_is_not_added(
    outside: str, server: str, inside: str, address: str, *, is_patched: bool
) -> None:
    """A file that the server or the location includes may contain it; a file that http{} includes does not matter."""
    location = f"location / {{ proxy_pass http://{address}; proxy_set_header Connection close; {inside} }}"
    found = of(f"{outside} upstream u {{ server a:1; keepalive 8; }} server {{ {server} {location} }}", complete=False)
    (advised,) = (one for one in found.advice if one.name == "upstream_keepalive")
    assert advised.state in {State.MISSING, State.WITHOUT_EFFECT}
    assert bool(advised.edits) == is_patched


def test_an_address_with_a_variable_is_not_replaced() -> None:
    """The variables are only the port and a path, so no value names an upstream block."""
    (advised,) = of("server { location / { proxy_pass http://127.0.0.1:$port/$2; } }", version="1.30").advice[:1]
    assert (advised.name, advised.state, advised.edits) == ("upstream_keepalive", State.MISSING, ())
    assert advised.why.endswith("connections are reused only through one")


def test_advice_rests_on_a_recorded_claim_or_on_documentation() -> None:
    """Each rule also gives advice for this configuration."""
    claims = {(advice.name, claim) for advice in every_advice() for claim in advice.claims}
    http = (
        f"{UP}server {{ listen 80 reuseport;\n"
        f"location / {{ {TO_U} }} location /b {{ {TO_U} proxy_buffers 8 1m; }}\n"
        f"location /o {{ {TO_U} proxy_buffering off; }} }}"
    )
    found = of(http, events="worker_connections 1000000;")
    # Copied lines are tested in a separate module.
    rows = {line.scenario for line in every_line() if line.audit}
    assert {one.name for one in found.advice} - rows == {
        __import__(rule.__module__, fromlist=["NAME"]).NAME for rule in every_rule()
    } - rows - {copied_lines.NAME}
    for one in found.advice:
        if one.source:  # nginx's documentation, in place of a measurement
            continue
        assert (one.name, one.claim) in claims
        assert recorded_of(one.name, one.claim, STABLE_VERSIONS[-1]) is not None


def test_the_recorded_results_are_those_in_docs() -> None:
    kept = json.loads((CHECKOUT / "tuneproof/audit" / FILE).read_text(encoding="utf-8"))
    assert kept == kept_of(load(RESULTS), documents())
    assert kept["cells"]["upstream_keepalive/connections_are_the_cause"]["page"] == "docs/upstream-keepalive.md"


def test_the_examples_in_docs_are_the_output_of_audit_and_explain() -> None:
    """The log in README's example is from the lab's nginx."""
    for path in WITH_EXAMPLES:
        page = path.read_text(encoding="utf-8")
        assert with_example(page) == page
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert "+    keepalive_timeout 4s;" in readme
    (example,) = LOGGED.finditer(readme)
    written = {
        line
        for log in CHECKOUT.glob("tests/captures/error_logs/*/*.log")
        for line in log.read_text(encoding="utf-8").splitlines()
    }
    assert set(example["log"].splitlines()) <= written
    tour = (CHECKOUT / "docs/tour.md").read_text(encoding="utf-8")
    assert [match["command"].split()[1] for match in COMMAND.finditer(tour)] == ["audit", "why", "explain"]


def test_the_most_important_findings_come_first() -> None:
    found = of(
        "server { listen 80; location / { proxy_pass http://10.0.0.1; proxy_buffer_size 64k; proxy_buffers 64 16m; } }"
    )
    assert [(one.state, one.name) for one in found.advice] == [
        (State.HARMFUL, "proxy_buffering"),
        (State.MISSING, "upstream_keepalive"),
        (State.MISSING, "listen_queue"),
    ]


def test_the_text_contains_places_reasons_and_patches() -> None:
    """All findings that need no action share one line, unless details are requested."""
    block = UP.replace("a:1;", "10.0.0.1; keepalive_timeout 4s;")
    found = of(f"{block}server {{ listen 80 backlog=4096;\nlocation / {{ {TO_U} }}\nlocation /k {{ {TO_U} {KEPT} }} }}")
    text = render(found, width=80)
    assert text.startswith(
        "Audited for nginx 1.22: 1 server, 1 upstream block, 2 proxied locations, 1 of\n"
        "which reuses upstream connections."
    )
    assert "\nnginx.conf:5: without effect, upstream_keepalive\n" in text
    assert "\n2 more are fine (--details).\n" in text
    assert f"\n+location / {{ {TO_U} {KEPT} }}\n" in text
    assert max(map(len, text.splitlines())) <= 160
    assert "nginx.conf:4: in effect, listen_queue" in render(found, width=80, details=True)
    alone = audit_source(Dump({"nginx.conf": "events {}\n"}, is_complete=True))
    assert render(alone, width=80).splitlines()[-1] == "Nothing to change."


def test_a_section_shows_the_same_measurement_once() -> None:
    text = render(of("tcp_nodelay on; postpone_output 1460; sendfile off;"), width=80)
    assert text.count('measured: "use epoll, tcp_nodelay on') == 1
    assert text.count("\n  measured: as above\n") == 1


@pytest.mark.parametrize(
    ("line", "name"), [("req_status_zone a b 1m;", "req_status_zone"), ("brotli on;", ""), ("gzip_typse a/b;", "")]
)
def test_problems_name_a_directive_whose_product_may_accept_the_lines(line: str, name: str) -> None:
    """Tengine has both lines. A misspelt directive or a packaged module does not suggest another product."""
    text = render(of(f"{line} server {{ error_page default; }}"), width=200)
    note = "is not nginx's own: a product or module that has it may accept these lines."
    assert 'invalid number of arguments in "error_page" directive' in text
    assert re.findall(rf"(\w+) \(nginx.conf:\d\) {note}", " ".join(text.split())) == ([name] if name else [])


@pytest.mark.parametrize("text", ["events { }\nhello world\n", "brotli_x a;\nreq_zone b;\n}\n"])
def test_a_syntax_error_is_not_attributed_to_another_product(text: str) -> None:
    """No product accepts a missing semicolon or a stray brace."""
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True), version="1.22")
    assert "unexpected" in render(found, width=200)
    assert "may accept" not in render(found, width=200)
    moved = upgrade(found.source, old="1.22", new="1.30")
    assert [one for one in moved.differences if one.effect is Effect.MODULE] == []


@pytest.mark.parametrize(
    ("value", "is_patched"), [('""', True), ("close", True), ("upgrade", False), ("$http_a", False)]
)
def test_a_patch_is_given_only_if_the_connection_header_is_empty_or_close(value: str, *, is_patched: bool) -> None:
    """The patch replaces "close". With other values, HTTP/1.1 alone does not help."""
    found = of(server(f"location / {{ {TO_U} proxy_set_header Connection {value}; }}"))
    [one] = [one for one in found.advice if one.name == "upstream_keepalive"]
    assert bool(one.edits) == is_patched


def test_a_patch_changes_a_line_only_once() -> None:
    """Two locations of one finding need different values in a line that both inherit."""
    places = [f"location /{size} {{ {PROXIED} proxy_buffer_size {size}; }}" for size in ("8k", "16k")]
    text = render(of(f"proxy_buffers 256 64k; server {{ {' '.join(places)} }}"), width=100)
    assert text.count("proxy_buffers 8 8k;") == 1
    assert "proxy_buffers 8 16k;" not in text


def test_one_patch_makes_a_change_that_two_findings_need() -> None:
    """Two patches applied in turn would add a line twice, which nginx refuses."""
    places = f"location / {{ {TO_U} }} location /kept {{ {TO_U} {KEPT} }}"
    text = render(of(server(places)), width=100)
    assert text.count("keepalive_timeout 4s;") == 1
    assert "Patch for dying_connections and upstream_keepalive:" in text


def test_the_summary_counts_servers_and_locations() -> None:
    """An ``if`` is not a separate location, and mail{} also has servers."""
    text = (
        "events { } mail { server { listen 25; protocol smtp; } }\n"
        "http { server { location / { if ($arg_a) { proxy_pass http://10.0.0.1; } proxy_pass http://10.0.0.2; } } }\n"
    )
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True), version="1.30")
    first = " ".join(render(found, width=200).split("\n\n", maxsplit=1)[0].split())
    assert first == (
        "Audited for nginx 1.30: 1 server, 0 upstream blocks, 1 mail server, "
        "1 proxied location, none of which reuse upstream connections."
    )


def test_findings_that_most_files_have_take_one_line() -> None:
    """One line covers any number of sockets and locations."""
    text = render(of("server { listen 80; listen 81; location / { proxy_pass http://10.0.0.1; } }"), width=200)
    hints = (
        "Routine hints, true of most configurations: upstream_keepalive (1), listen_queue (2); --details shows them."
    )
    assert " ".join(text.split()).endswith(f"Nothing to change. {hints}")
    assert text.count("listen_queue") == 1
    # The patches for the versions differ, but the place is counted once.
    text = "events { }\nhttp { server { listen 80; location / { proxy_pass http://10.0.0.1; } } }\n"
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True))
    assert found.versions
    assert "upstream_keepalive (1), listen_queue (1)" in " ".join(render(found, width=200).split())


def test_breaking_findings_come_before_costly_and_ineffective_ones() -> None:
    http = (
        "tcp_nodelay on; gzip on; server { listen 80; proxy_set_header Host a; "
        "location / { proxy_pass http://10.0.0.1; proxy_set_header B c; } }"
    )
    text = render(of(http, complete=False), width=200)
    titles = [line for line in text.splitlines() if line.isupper()]
    assert titles == ["BREAKS OR LEAKS", "COSTS", "NO EFFECT"]
    assert "does not inherit Host (nginx.conf:3)" in " ".join(text.split())
