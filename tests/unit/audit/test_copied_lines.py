"""Audits of lines that people copy from one nginx.conf to the next."""

import pytest

from tuneproof.audit.advice import Advised
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.audit.patches import apply
from tuneproof.audit.recorded import recorded_of
from tuneproof.catalogue import every_advice
from tuneproof.conf.sources import Dump
from tuneproof.lines import Concern, Line, every_line
from tuneproof.nginx_changes import STABLE_VERSIONS
from tuneproof.wording import as_numbers

NEWEST = STABLE_VERSIONS[-1]


def of(http: str = "", *, events: str = "", main: str = "", version: str = NEWEST) -> Audit:
    text = f"{main}\nevents {{ {events} }}\nhttp {{ {http} }}\n"
    return audit_source(Dump({"nginx.conf": text}, is_complete=True), version=version)


def states(audit: Audit, claim: str) -> list[str]:
    """Return the state of a claim's advice in each place."""
    return [one.state.value for one in audit.advice if one.claim == claim]


CONCERNS = [(line, concern) for line in every_line() for concern in line.audit]
BY_NAME = pytest.mark.parametrize(
    ("line", "concern"),
    CONCERNS,
    ids=[f"{concern.directive or concern.block}-{line.claim}" for line, concern in CONCERNS],
)


def whole(example: str) -> str:
    return example if "events {" in example else f"events {{ }}\nhttp {{ {example} }}\n"


def findings(line: Line, concern: Concern, example: str, *, version: str = "") -> list[Advised]:
    is_over = bool(concern.until) and as_numbers(concern.until) <= as_numbers(NEWEST)
    on = version or line.since or (STABLE_VERSIONS[0] if is_over else NEWEST)
    found = audit_source(Dump({"nginx.conf": whole(example)}, is_complete=True), version=on)
    words = concern.why.partition("{")[0]
    return [one for one in found.advice if one.claim == line.claim and words in one.why]


@BY_NAME
def test_a_line_is_shown_only_where_it_applies(line: Line, concern: Concern) -> None:
    """The row has examples with the finding (trips) and without it (spares); the patch removes the finding."""
    assert concern.trips, "the row needs a configuration with the finding (trips)"
    assert concern.spares or concern.args == ".*", "the row needs a configuration without the finding (spares)"
    for example in concern.trips:
        (one,) = findings(line, concern, example)
        assert one.state.value == concern.state, example
        assert bool(one.edits) == (concern.patch is not None)
        if one.edits:
            text = whole(example)
            assert findings(line, concern, apply(one.edits, {"nginx.conf": text})["nginx.conf"]) == []
    if concern.state == "cannot tell":
        assert concern.check, "the row needs a command that shows what the finding depends on (check)"
    for example in concern.spares:
        assert findings(line, concern, example) == [], example


@pytest.mark.parametrize(
    ("line", "concern", "version"),
    [(*pair, version) for pair in CONCERNS for version in (pair[0].version, pair[0].since) if version],
)
def test_a_line_is_shown_from_the_version_that_its_row_names(line: Line, concern: Concern, version: str) -> None:
    """Before that version, the directive is unknown or still needed, so the finding would be wrong."""
    major, minor, patch = as_numbers(version)
    before = f"{major}.{minor}.{patch - 1}" if patch else f"{major}.{minor - 1}"
    for example in concern.trips:
        assert findings(line, concern, example, version=before) == []
        assert len(findings(line, concern, example, version=version)) == 1


@pytest.mark.parametrize(
    ("lines", "reach"),
    [
        ("send_timeout 8s;", "(measured at 2s; yours is 8s)"),
        ("send_timeout 2;", ""),
        ("send_timeout 2000ms;", ""),
        ("client_header_buffer_size 1m;", "(measured at 3m; yours is 1m)"),
        ("large_client_header_buffers 8 3m;", ""),
        ("large_client_header_buffers 8 3k;", "(measured at 1k; yours is 3k)"),
        ("server { listen 80; limit_conn a 5; }", "(measured at 10; yours is 5)"),
        ("gzip on; gzip_types text/css; gzip_comp_level 9;", ""),
        ("tcp_nodelay on;", ""),
    ],
)
def test_a_value_other_than_the_measured_one_is_compared_with_it(lines: str, reach: str) -> None:
    # Only the finding about the last directive is checked: other rows may concern the directives before it.
    name = lines.rstrip("; }").rpartition(";")[2].rpartition("{")[2].split()[0]
    whys = [one.why for one in of(lines).advice if one.at.name == name]
    assert [why.endswith(reach) and ("measured at" in why) == bool(reach) for why in whys] == [True]


@pytest.mark.parametrize(
    ("options", "tries", "words"),
    [
        ("", "", "the first request ejects all but the last"),
        ("max_fails=1", "", "the first request ejects all but the last"),
        ("max_fails=3", "", "max_fails of them"),
        ("", "proxy_next_upstream_tries 0;", "the first request ejects all but the last"),
        ("", "proxy_next_upstream_tries 3;", "each of these requests ejects up to 2 of them"),
    ],
)
def test_the_number_of_peers_that_a_request_ejects_is_reported(options: str, tries: str, words: str) -> None:
    peers = "".join(f"server b:{port} {options}; " for port in range(1, 5))
    location = f"location / {{ proxy_pass http://a; proxy_next_upstream error http_500; {tries} }}"
    found = of(f"upstream a {{ {peers} }} server {{ {location} }}")
    [one] = [one for one in found.advice if one.claim == "listed_5xx_take_the_service_down"]
    assert words in one.why
    assert ("the first request" in one.why) == words.startswith("the first request")


@BY_NAME
def test_every_line_rests_on_a_recorded_claim_or_on_nginx_documentation(line: Line, concern: Concern) -> None:
    """This project does not give advice without a measurement; a documented fact links its documentation."""
    if line.scenario == "configuration":
        assert concern.source.startswith("https://")
        return
    assert line.claim in {claim for advice in every_advice() if advice.name == line.scenario for claim in advice.claims}
    assert recorded_of(line.scenario, line.claim, NEWEST) is not None, (
        f"the finding {concern.state} has no recorded measurement: "
        f"./lab run -k {line.claim}; .venv/bin/python -m tools.docs docs/results.json results/latest"
    )


def test_a_directive_without_arguments_does_not_end_the_audit() -> None:
    """Nginx refuses such a directive; the rest of the file is still audited."""
    names = sorted({name for _, concern in CONCERNS if concern.directive for name in concern.directives})
    text = "".join(f"{name}; " for name in names)
    http = f"{text} upstream {{ server; }} upstream u {{ server; {text} }} server {{ {text} location / {{ {text} }} }}"
    assert of(http, main=text, events=text).facts.configuration.is_broken


def test_a_block_with_an_empty_name_does_not_end_the_audit() -> None:
    assert of('"" { listen 80; }').advice == ()


@pytest.mark.parametrize("entry", ["'' ''", '"" $request_id', "multi_accept on", "default upgrade"])
def test_entries_of_a_map_are_not_directives(entry: str) -> None:
    """A row without a directive, such as that for keepalive_min_timeout, must not be reported at every empty key."""
    audit = of(f"map $a $b {{ {entry}; }} server {{ listen 80; }}", main="worker_shutdown_timeout 1h;")
    assert [one.at for one in audit.advice if one.at.name not in {"http", "events", "listen"}] == []


def test_a_name_that_another_file_may_define_gets_no_hint() -> None:
    """An upstream block in the http{} around the fragment may have this name."""
    text = "server { location / { proxy_pass http://app; } location /b { proxy_pass http://app.example; } }"
    found = audit_source(Dump({"site.conf": text}, is_complete=False), version=NEWEST)
    assert [one.at.args for one in found.advice if one.claim == "names_are_resolved_once"] == [("http://app.example",)]


NEXT = "proxy_next_upstream error timeout http_500 http_502;"
