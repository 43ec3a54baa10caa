"""The audit does not assume that a setting is absent if a missing file may contain it."""

import os
from pathlib import Path

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.auditing import audit, audit_source
from tuneproof.audit.render import render
from tuneproof.conf.sources import Dump

ABSENT = "include /etc/nginx/absent.conf;"


def advised(server: str, name: str, *, http: str = "") -> list[Advised]:
    text = f"worker_processes 2;\nevents {{ }}\nhttp {{\n{http}\nserver {{ listen 80;\n{server} }} }}\n"
    found = audit_source(Dump({"nginx.conf": text}, is_complete=False), version="1.26")
    return [one for one in found.advice if name in {one.name, one.claim}]


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


def test_an_included_pipe_is_reported_as_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secrets.conf")
    (tmp_path / "nginx.conf").write_text("events { }\nhttp { include secrets.conf; }\n", encoding="utf-8")
    found = audit(str(tmp_path / "nginx.conf"))
    assert "Not found, or not a regular file: secrets.conf." in render(found, width=100)
