"""An nginx container's nginx.conf, and the snapshot that a netadmin container prints."""

import json
from typing import Any

import pytest

from tuneproof.errors import LabError
from tuneproof.explain.parse.access_log.known import LAB
from tuneproof.explain.parse.access_log.nginx_conf import logging_settings
from tuneproof.lab.protocol.codec import to_plain
from tuneproof.lab.protocol.cpus import Cpus
from tuneproof.lab.protocol.links import Greeting
from tuneproof.lab.protocol.observer import Snapshot
from tuneproof.lab.subject.config import ACCESS_LOG_PATH, STATIC_PATH, SubjectConfig
from tuneproof.proof.scenario.hosts import read_snapshot


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"upstream": "far:81"}, ["proxy_pass http://far:81;"]),
        ({"worker_processes": 3}, ["worker_processes 3;"]),
        ({"reuseport": False}, ["listen 8000;"]),
        ({"worker_connections": 77}, ["worker_connections 77;"]),
        ({"workers_on": (0, 1, 33)}, [f"worker_cpu_affinity 1 10 1{33 * '0'};"]),
        ({"port": 8080, "backlog": 16}, ["listen 8080 reuseport backlog=16;"]),
        ({"backlog": 0, "reuseport": False}, ["listen 8000 backlog=0;"]),
        ({"listen_options": ("rcvbuf=64k", "deferred")}, ["listen 8000 reuseport rcvbuf=64k deferred;"]),
        ({"error_log_level": "warn"}, ["error_log /var/log/subject/error.log warn;"]),
        (
            {"location": ("proxy_http_version 1.1", 'proxy_set_header Connection ""')},
            ["proxy_http_version 1.1;", 'proxy_set_header Connection "";'],
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_every_option_changes_only_its_own_lines(options: dict[str, Any], lines: list[str]) -> None:
    plain = lines_of(SubjectConfig(upstream="backend:8000"))
    changed = lines_of(SubjectConfig(**{"upstream": "backend:8000", **options}))
    assert [line for line in changed if line not in plain] == lines
    assert len([line for line in plain if line not in changed]) <= 1


def test_each_worker_has_its_own_listener_only_with_reuseport() -> None:
    assert [SubjectConfig(reuseport=reuseport).listeners for reuseport in (True, False)] == [2, 1]


def test_an_upstream_block_contains_its_directives_and_replaces_the_proxied_address() -> None:
    """Without directives, a scenario shows the effect of the block alone."""
    for directives in ((), ("keepalive 32", "keepalive_timeout 5s")):
        lines = lines_of(SubjectConfig(upstream="backend:8000", upstream_block=directives))
        begin = lines.index("upstream articles {")
        block = ["server backend:8000;", *[f"{directive};" for directive in directives], "}"]
        assert lines[begin + 1 : begin + 1 + len(block)] == block
        assert "proxy_pass http://articles;" in lines
        assert "proxy_pass http://backend:8000;" not in lines


def test_without_an_upstream_nginx_proxies_nothing_and_still_answers_probes() -> None:
    lines = lines_of(SubjectConfig())
    assert [line for line in lines if line.startswith("location")] == [f"location = {STATIC_PATH} {{"]
    assert 'return 200 "ok";' in lines
    assert not any(line.startswith("proxy_pass") for line in lines)


def test_the_access_log_can_be_switched_off() -> None:
    logging, silent = (lines_of(SubjectConfig(upstream="b:1", access_log=log)) for log in (True, False))
    assert [line for line in logging if line not in silent] == ["access_log /var/log/subject/access.log evidence;"]
    assert {line for line in silent if line.startswith("access_log")} == {"access_log off;"}
    assert len(logging) == len(silent)


def lines_of(config: SubjectConfig) -> list[str]:
    return [line.strip() for line in config.render().splitlines() if line.strip()]


def test_the_configured_log_format_is_the_one_that_is_parsed() -> None:
    settings = logging_settings(SubjectConfig(upstream="backend:8000").render())
    assert [(item.text, item.escape) for item in settings.formats] == [(LAB.text, LAB.escape)]
    assert [(use.path, use.format_name) for use in settings.uses] == [
        (ACCESS_LOG_PATH, settings.formats[0].name),
        ("off", None),
    ]


def test_a_snapshot_is_read_from_the_line_that_netadmin_prints() -> None:
    """JSON's keys are strings, so ports are converted back to numbers."""
    taken = Snapshot(
        sysctls={"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.core.somaxconn": None},
        listener_backlogs={8000: (511, 511)},
        cpu_model="Xeon",
        cpus=Cpus(allowed="0-3", nodes=("0-1", "2-3"), cores=("0,1", "2,3")),
    )
    snapshot = read_snapshot(f"{json.dumps(to_plain(Greeting(snapshot=taken)))}\nmore\n")
    assert snapshot == taken
    assert snapshot.triple("net.ipv4.tcp_rmem") == (4096, 131072, 6291456)


@pytest.mark.parametrize("printed", ["", '{"ready_s": 0.5}\n'])
def test_a_line_without_a_snapshot_is_an_error(printed: str) -> None:
    with pytest.raises(LabError, match="a netadmin container printed no snapshot"):
        read_snapshot(printed)
