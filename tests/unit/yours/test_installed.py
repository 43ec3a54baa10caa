"""The paths of the user's files in the container."""

from pathlib import Path

import pytest

from tests.support.own_configurations import HEAD, http, opened
from tuneproof.audit.auditing import audit_source
from tuneproof.conf.sources import open_source
from tuneproof.errors import BadInputError
from tuneproof.yours.installed import Installed, installed

MAIN = "/etc/nginx/nginx.conf"


def places(folder: Path, files: dict[str, str]) -> Installed:
    found, source = opened(folder, files)
    return installed(found.facts.configuration, source, main=MAIN)


def test_a_copy_is_put_where_its_includes_expect_it(tmp_path: Path) -> None:
    includes = ("conf.d/*.conf", "/etc/nginx/sites/*/site.conf", "/srv/ours/limits.conf")
    text = f"{HEAD}http {{ {' '.join(f'include {pattern};' for pattern in includes)} }}"
    files = {"nginx.conf": text, "conf.d/a.conf": "", "sites/b/site.conf": "", "ours/limits.conf": ""}
    found = places(tmp_path, files)
    by_end = {name.removeprefix(f"{tmp_path}/"): path for name, path in found.paths.items()}
    assert by_end == {
        "nginx.conf": MAIN,
        "conf.d/a.conf": "/etc/nginx/conf.d/a.conf",
        "sites/b/site.conf": "/etc/nginx/sites/b/site.conf",
        "ours/limits.conf": "/srv/ours/limits.conf",
    }


def test_files_from_a_dump_keep_their_paths(tmp_path: Path) -> None:
    """The main file, too, keeps its path, even outside /etc/nginx."""
    path = tmp_path / "dump.txt"
    path.write_text(
        f"# configuration file /opt/nginx/conf/nginx.conf:\n{HEAD}http {{ include sites/*.conf; }}\n"
        "# configuration file /opt/nginx/conf/sites/a.conf:\nserver { listen 80; }\n"
    )
    source = open_source(str(path))
    found = installed(audit_source(source, version="1.22").facts.configuration, source, main=MAIN)
    assert found.main == "/opt/nginx/conf/nginx.conf"
    assert set(found.paths.values()) == {found.main, "/opt/nginx/conf/sites/a.conf"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("upstream app { server a:1; }\nserver { listen 80; }", "include /etc/nginx/tuneproof.d/site.conf;"),
        (
            "listen 80;\nlocation / { proxy_pass http://a; }",
            "server { listen 80; include /etc/nginx/tuneproof.d/site.conf; }",
        ),
        (
            "proxy_pass http://a;\nproxy_set_header Host b;",
            "server { listen 80; location / { include /etc/nginx/tuneproof.d/site.conf; } }",
        ),
    ],
)
def test_the_missing_blocks_are_added_around_a_fragment(tmp_path: Path, text: str, wanted: str) -> None:
    """The fragment is in a separate file, which the added nginx.conf includes."""
    found = places(tmp_path, {"site.conf": text})
    assert wanted in found.wrapper.splitlines()
    assert found.files({str(tmp_path / "site.conf"): text}) == {
        "/etc/nginx/tuneproof.d/site.conf": text.encode(),
        MAIN: found.wrapper.encode(),
    }


def test_a_stream_fragment_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"stream\{\}"):
        places(tmp_path, {"site.conf": "server { listen 1; proxy_pass a:2; }"})


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_bytes_of_any_encoding_do_not_change(encoding: str, tmp_path: Path) -> None:
    raw = http("server { listen 80; # \u00e9\n }")["nginx.conf"].encode(encoding)
    (tmp_path / "nginx.conf").write_bytes(raw)
    source = open_source(str(tmp_path / "nginx.conf"))
    configuration = audit_source(source, version="1.22").facts.configuration
    (content,) = installed(configuration, source, main=MAIN).files(configuration.texts).values()
    assert content == raw
