"""Audits of realistic configurations."""

from pathlib import Path
from typing import Final

import pytest

from tests.support.configurations import CASES
from tests.support.own_configurations import written
from tuneproof.audit.auditing import audit, audit_source
from tuneproof.audit.document import SCHEMA_VERSION, document
from tuneproof.conf.sources import Dump

_BUFFERS_BYTES: Final = 36864
_OUTPUT_BUFFER_BYTES: Final = 32 << 10


@pytest.mark.parametrize("name", CASES)
def test_an_audit_reports_proxied_locations_and_problems(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    report = document(audit(str(written(tmp_path, case.files)), version=case.version))
    assert report["schema"] == SCHEMA_VERSION
    proxied = [
        (item["location"], item["keepalive"], item["buffering"], item["reader_bytes"]) for item in report["proxied"]
    ]
    assert proxied == list(case.proxied), [item["why"] for item in report["proxied"]]
    assert [(item["line"], item["message"]) for item in report["problems"]] == list(case.problems)
    assert {name: report[name] for name in case.expects} == dict(case.expects)


@pytest.mark.parametrize(
    ("settings", "version", "held_bytes"),
    [
        ("", "1.30", 2 * _OUTPUT_BUFFER_BYTES),
        ("", "1.9.5", 2 * _OUTPUT_BUFFER_BYTES),
        ("", "1.9.4", _OUTPUT_BUFFER_BYTES),
        ("output_buffers 4 64k;", "1.30", 256 << 10),
        ("output_buffers 4 nonsense;", "1.30", None),
        ("sendfile off;", "1.30", 2 * _OUTPUT_BUFFER_BYTES),
        ("sendfile on;", "1.30", 0),
        ("sendfile on; output_buffers 4 64k;", "1.30", 0),
        ("sendfile on; listen 443 ssl;", "1.30", 2 * _OUTPUT_BUFFER_BYTES),
        ("proxy_max_temp_file_size 0;", "1.30", 0),
        ("proxy_max_temp_file_size 1m;", "1.30", 2 * _OUTPUT_BUFFER_BYTES),
    ],
)
def test_the_buffer_for_reading_a_temporary_file_is_counted(
    settings: str, version: str, held_bytes: int | None
) -> None:
    """output_buffers sets the size; there is no buffer with sendfile(2) and no TLS, or without a temporary file."""
    text = f"events {{ }} http {{ server {{ {settings} location / {{ proxy_pass http://b; }} }} }}"
    [place] = audit_source(Dump({"nginx.conf": text}, is_complete=True), version=version).facts.proxied
    assert place.reader_bytes == (None if held_bytes is None else _BUFFERS_BYTES + held_bytes)
    assert place.output_bytes == (held_bytes or 0)


def test_the_price_of_smaller_buffers_without_temporary_files_is_named() -> None:
    """Without the file, nginx reads from the backend only as fast as the client reads once the buffers are full."""
    text = "events { } http { server { location / { proxy_buffers 32 1m; %s proxy_pass http://b; } } }"
    for setting, price in (("", ""), ("proxy_max_temp_file_size 0;", "the backend waits for slow clients")):
        found = audit_source(Dump({"nginx.conf": text % setting}, is_complete=True), version="1.30")
        [one] = [one for one in found.advice if one.name == "proxy_buffering"]
        assert one.edits
        assert one.price.startswith(price)
        assert bool(one.price) == bool(price)
