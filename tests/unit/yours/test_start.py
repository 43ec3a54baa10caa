"""The script and the changes to the user's files with which nginx starts in the lab."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.own_configurations import http, opened, written
from tuneproof.audit.auditing import audit_source
from tuneproof.audit.patches import apply
from tuneproof.conf.sources import open_source
from tuneproof.errors import BadInputError
from tuneproof.yours.needs import EMPTY, Needs, needs_of
from tuneproof.yours.start import changes_for, script

NEEDS = Needs(
    folders=("/var/log/app's",),
    made={"/etc/nginx/x.conf": EMPTY, "/etc/ssl/a.pem": "tls.crt"},
    accounts=("nginx",),
    starts_in_background=None,
    stays_in_foreground=False,
    modules=(),
)


def test_a_shell_can_parse_the_script() -> None:
    text = script(NEEDS, main="/etc/nginx/nginx.conf", served=("/srv/w w/index.php",), sockets=("/run/a.sock",))
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)
    assert text.splitlines()[-1] == "exec $nginx -c /etc/nginx/nginx.conf -g 'daemon off;'"
    assert "mkdir -p '/var/log/app'\"'\"'s' '/srv/w w' /run" in text
    assert "ln -sfn /var/lib/tuneproof/0.sock /run/a.sock" in text
    assert "[ -e /etc/nginx/x.conf ] || : >/etc/nginx/x.conf" in text
    assert "a.pem" not in text


def test_modules_are_loaded_from_the_paths_of_the_distribution() -> None:
    """A path in load_module becomes a link to the distribution's file; -g loads a module that no load_module names."""
    needs = replace(NEEDS, modules=("modules/ngx_stream_module.so", "/opt/n/ngx_http_lua_module.so"), prefix="/srv")
    text = script(needs, main="/n.conf", modules=("ndk_http_module.so",))
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)
    assert "ln -s /usr/lib/nginx/modules/ngx_stream_module.so /srv/modules/ngx_stream_module.so; }" in text
    assert "[ -e /opt/n/ngx_http_lua_module.so ] || { mkdir -p /opt/n" in text
    loaded = "load_module /usr/lib/nginx/modules/ndk_http_module.so; daemon off;"
    assert text.splitlines()[-1] == f"exec $nginx -p /srv/ -c /n.conf -g '{loaded}'"
    assert "/usr/share/nginx/a.so" in script(replace(NEEDS, modules=("a.so",)), main="/n.conf")


def test_daemon_is_set_only_once(tmp_path: Path) -> None:
    """With the directive in the file and on the command line, nginx does not start."""
    for directive in ("daemon off;", "daemon on;"):
        files = http("server { listen 80; }")
        files["nginx.conf"] = f"{directive}\n{files['nginx.conf']}"
        found, _ = opened(tmp_path, files)
        configuration = found.facts.configuration
        needs = needs_of(configuration, folder="/etc/nginx", there=())
        texts = apply(changes_for(configuration, needs, probe_port=18080).edits, configuration.texts)
        (text,) = texts.values()
        assert text.startswith("daemon off;")
        assert script(needs, main="/n.conf").splitlines()[-1] == "exec $nginx -c /n.conf"


def test_the_labs_server_is_added_to_http_in_any_file(tmp_path: Path) -> None:
    files = {"nginx.conf": "events { }\ninclude http.conf;\n", "http.conf": "http {\n    server { listen 80; }\n}\n"}
    found, _ = opened(tmp_path, files)
    configuration = found.facts.configuration
    changes = changes_for(configuration, NEEDS, probe_port=18080)
    texts = apply(changes.edits, configuration.texts)
    ((name, text),) = texts.items()
    assert name.endswith("http.conf")
    assert (
        text.replace(next(line for line in text.splitlines(keepends=True) if "18080" in line), "") == files["http.conf"]
    )
    assert any("18080" in line for line in changes.notes)
    assert any("/etc/ssl/a.pem" in line for line in changes.notes)


def test_without_http_there_is_nothing_to_test(tmp_path: Path) -> None:
    source = open_source(str(written(tmp_path, {"nginx.conf": "events { }\nstream { server { listen 1; } }\n"})))
    found = audit_source(source, version="1.22")
    with pytest.raises(BadInputError, match="no http"):
        changes_for(found.facts.configuration, NEEDS, probe_port=18080)


@pytest.mark.parametrize(
    ("directive", "reported"),
    [
        ("worker_rlimit_nofile 16385", ["worker_rlimit_nofile 16385: 16384 in the lab"]),
        ("worker_rlimit_nofile 16384", []),
        ("worker_rlimit_core 500m", ["worker_rlimit_core 500m: 0 in the lab, which keeps no core dumps"]),
        ("worker_rlimit_core 0", []),
        ("worker_priority -5", ["worker_priority -5: 0 in the lab, where no process takes precedence"]),
        ("worker_priority 5", []),
    ],
)
def test_a_limit_that_the_lab_does_not_raise_is_reported(directive: str, reported: list[str], tmp_path: Path) -> None:
    found, _ = opened(tmp_path, {"nginx.conf": f"{directive};\nevents {{ }}\nhttp {{ server {{ listen 80; }} }}\n"})
    lines = changes_for(found.facts.configuration, NEEDS, probe_port=18080).notes
    assert [line.partition("nginx.conf:1: ")[2] for line in lines[: len(reported)]] == reported
    assert len([line for line in lines if directive in line]) == len(reported), "reported too often"
