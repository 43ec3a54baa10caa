"""Directives that may have caused a response that did not come from the upstream."""

from pathlib import Path

from tests.support.own_configurations import http, opened
from tuneproof.yours.refusers import refusers


def test_directives_and_conditions_are_reported_by_their_status(tmp_path: Path) -> None:
    server = (
        "server {\nif ($bad) { return 403; }\ndeny all;\nlocation / {\nif (!-f $request_filename) { return 404; }\n"
        "if ($old) { return 404 gone; }\nif ($x) { set $y 404; }\nproxy_pass http://a;\n}\n}"
    )
    found, _ = opened(tmp_path, http(server))
    block = found.facts.proxied[0].target.block
    first = next(found.facts.configuration.main.all("server")).line
    found_lines = {
        status: [(one.name, one.line - first) for one in refusers(status, block)] for status in (401, 403, 404, 503)
    }
    assert found_lines == {401: [], 403: [("deny", 2), ("if", 1)], 404: [("if", 4), ("if", 5)], 503: []}
