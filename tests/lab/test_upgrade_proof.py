"""``./lab upgrade --prove`` shows the differences between two versions, and none between equal versions."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.places import CHECKOUT
from tuneproof.report.results.run_file import load

# The tests with labs take a minute; a quick test in test_own_nginx.py also covers a missing image.
pytestmark = [pytest.mark.engine, pytest.mark.slow]

WITHIN_S: Final = 1200
CONF: Final = """
events { }
http {
    upstream app { server app.internal:8080; }
    server {
        listen 80;
        add_header X-Node $hostname;
        add_header X-Request-ID $request_id;
        location / { proxy_pass http://app; }
    }
}
"""


def upgraded(folder: Path, *arguments: str, conf: str = CONF) -> tuple[int, str, str]:
    """Return the exit status, the output and the messages of ``upgrade --prove``."""
    path = folder / "nginx.conf"
    path.write_text(conf, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "tuneproof.cli", "upgrade", *arguments, "--prove", f"--results={folder}", str(path)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


def proof(folder: Path, *versions: str) -> dict[str, Any]:
    old, new = versions
    status, out, err = upgraded(folder, "--from", old, "--to", new, "--json")
    assert status == 0, err
    found: dict[str, Any] = json.loads(out)["proof"]
    assert not found["not_compared"]
    return found


def test_a_changed_default_shows_in_the_behaviour(tmp_path: Path) -> None:
    """Since 1.29.7, connections to an upstream block are reused by default; in 1.26, each request has its own."""
    found = {one["what"]: (one["before"], one["after"]) for one in proof(tmp_path, "1.26", "1.30")["differences"]}
    before, after = found["connections to the upstream for 32 requests, 4 at a time"]
    assert before == "32"
    assert int(after) <= 4
    cells = load(tmp_path / "latest").cells
    assert sum(cell.verdict == "holds" for cell in cells) == len(found)
    assert (tmp_path / "latest/trials.jsonl").is_file()


def test_a_version_does_not_differ_from_itself(tmp_path: Path) -> None:
    """No difference is reported, although the names of containers and the ids of requests differ."""
    found = proof(tmp_path, "1.26", "1.26")
    assert found["differences"] == []
    assert found["comparisons"] > 10


def test_a_version_that_does_not_start_is_reported_with_nginxs_message(tmp_path: Path) -> None:
    conf = CONF.replace("listen 80;", "listen 80; http2 on;")
    status, out, _ = upgraded(tmp_path, "--from", "1.26", "--to", "1.22", conf=conf)
    assert status == 1
    assert "starts: yes -> no" in out
    assert 'unknown directive "http2"' in out


def test_a_missing_image_gives_one_error(tmp_path: Path) -> None:
    status, out, err = upgraded(tmp_path, "--from", "1.26", "--to-image", "tuneproof.invalid/none:1")
    assert (status, out) == (2, "")
    assert "--to-image tuneproof.invalid/none:1: the engine has no such image, and none can be pulled" in err
    assert not (tmp_path / "latest").exists()
