"""The parts of responses and logs that are compared between two versions."""

from pathlib import Path

from tests.support.exchanged import answered
from tests.support.own_configurations import http, opened
from tuneproof.lab.protocol.exchanges import Connection
from tuneproof.yours.looks import looks_of, seen_in, warnings_in
from tuneproof.yours.routes import Route, probes_of, routes_of


def connection(status: int, *head: str, error: str = "") -> Connection:
    answer = answered(status, head=head)
    return Connection(answers=(answer,), error=error, closed_by_server=bool(error), open_s=0.0)


def test_statuses_and_header_lines_are_counted() -> None:
    """Neither nginx's own version nor a file's time stamp counts as a difference."""
    seen = seen_in(
        [
            [connection(200, "Server: nginx/1.22.1", "X-Tuneproof-Answer: 1.1", 'ETag: "5f-1"', "Vary: a")],
            [connection(404, "vary: b")],
        ]
    )
    assert seen == {
        "status: 200": 1,
        "status: 404": 1,
        "header: server": 1,
        "header server: nginx/VERSION": 1,
        "header: etag": 1,
        "header etag: False": 1,
        "header: vary": 2,
        "header vary: a": 1,
        "header vary: b": 1,
    }


def test_the_error_of_a_request_without_a_response_is_counted() -> None:
    assert seen_in([[connection(0, error="IncompleteReadError")]]) == {"status: none (IncompleteReadError)": 1}


def test_warnings_at_the_start_are_read_from_nginxs_output() -> None:
    """The error log may be standard error; its lines about requests are left out."""
    log = (
        "nginx version: nginx/1.30.6\nnginx: [warn] old thing in /etc/nginx/nginx.conf:3\n"
        "2026/01/01 10:00:00 [notice] 1#1: on\n2026/01/01 10:00:00 [warn] 1#1: another in /etc/nginx/a.conf:4\n"
        "2026/01/01 10:00:01 [warn] 7#7: *1 an upstream response is buffered\n"
    )
    assert warnings_in(log) == {
        "nginx warns: old thing in /etc/nginx/nginx.conf:3": 1,
        "nginx warns: another in /etc/nginx/a.conf:4": 1,
    }


def test_all_places_are_compared(tmp_path: Path) -> None:
    """Each location is requested; the memory for slow readers is compared once for all places that need the same."""
    found, _ = opened(
        tmp_path,
        http(
            "server { listen 80; location / { proxy_pass http://a; } location /b/ { proxy_pass http://b; }\n"
            "location /c { return 204; } }\nserver { listen 443 ssl; server_name t; }"
        ),
    )
    routes = [route for route in routes_of(found.facts) if isinstance(route, Route)]
    probes = probes_of(found.facts)
    assert [probe.shown for probe in probes] == [
        "http://lab/",
        "http://lab/tuneproof",
        "http://lab/b/",
        "http://lab/c/tuneproof",
        "https://t/",
    ]
    at = [look.at for look in looks_of(probes, routes, records_turns=True)]
    assert at == [
        "all workers",
        *(probe.shown for probe in probes),
        *["http://lab/"] * 2,  # lasting connections, and reloads
        *("http://lab", "https://t", "https://t"),  # HTTP/2, and TLS handshakes
        *("http://lab/tuneproof", "http://lab/b/"),  # connections to the upstreams
        *["http://lab/tuneproof"] * 2,  # slow readers, and large responses
    ]
    assert [look.at for look in looks_of(probes, routes, records_turns=False)] == at[:-1]
