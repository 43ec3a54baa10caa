"""The subject as values: versions asked for, its nginx.conf, what was read back."""

import json

import pytest

from fixtures.errors import BadInputError
from fixtures.evidence.access_log import parse_line
from fixtures.subject.config import SubjectConfig
from fixtures.subject.snapshot import Snapshot
from fixtures.subject.versions import choose_versions


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ([], ("1.22",)),
        (["1.30"], ("1.30",)),
        (["1.30", "1.18", "1.30"], ("1.18", "1.30")),
        (["all"], ("1.18", "1.22", "1.26", "1.30")),
        (["1.22", "all"], ("1.18", "1.22", "1.26", "1.30")),
    ],
    ids=["default", "one", "two-and-a-repetition", "all", "one-and-all"],
)
def test_versions_come_once_each_and_the_oldest_first(asked: list[str], chosen: tuple[str, ...]) -> None:
    """The order of the options does not change the run."""
    assert choose_versions(asked) == chosen


def test_an_unknown_version_is_refused_with_the_known_ones() -> None:
    """The first wrong value is named, also beside right ones."""
    with pytest.raises(BadInputError) as caught:
        choose_versions(["1.22", "1.23", "9"])
    assert caught.value.what == "--nginx 1.23: no such version"
    assert caught.value.remedy == "one of: 1.18, 1.22, 1.26, 1.30, all"


def test_reuseport_is_the_only_difference_between_the_two_accept_queues() -> None:
    """One word in one line, and the number of listening sockets that must be seen for it."""
    own = SubjectConfig(upstream="backend:8000", reuseport=True)
    shared = SubjectConfig(upstream="backend:8000", reuseport=False)
    different = [
        (ours.strip(), theirs.strip())
        for ours, theirs in zip(own.render().splitlines(), shared.render().splitlines(), strict=True)
        if ours != theirs
    ]
    assert different == [("listen 8000 reuseport;", "listen 8000;")]
    assert (own.listeners, shared.listeners) == (2, 1)


def test_every_knob_reaches_the_configuration() -> None:
    """Nothing of the template is left open."""
    text = SubjectConfig(upstream="far:81", worker_processes=3, worker_connections=77, port=8080).render()
    for line in (
        "worker_processes 3;",
        "worker_connections 77;",
        "listen 8080 reuseport;",
        "proxy_pass http://far:81;",
    ):
        assert line in text
    assert text.count("{") == text.count("}")
    assert "{{" not in text


def test_the_log_that_the_configuration_asks_for_is_the_one_that_is_parsed() -> None:
    """The log_format of the template, with values in the place of its variables, is a line of evidence."""
    text = SubjectConfig(upstream="backend:8000").render()
    pieces = text.partition("log_format evidence")[2].partition(";")[0]
    line = "".join(piece.strip().strip("'") + (" " if piece.endswith(" '") else "") for piece in pieces.splitlines())
    values = {
        "$remote_addr": "172.18.0.3",
        "$time_local": "01/Oct/2025:10:00:00 +0000",
        "$request": "GET /small.bin HTTP/1.1",
        "$status": "200",
        "$body_bytes_sent": "3602590",
        "$request_time": "0.012",
        "$upstream_connect_time": "0.001",
        "$upstream_header_time": "0.002",
        "$upstream_response_time": "0.010",
        "$pid": "11",
        "$connection": "5",
        "$http_x_trial": "a-b1",
    }
    # The longest names first: $request is the beginning of $request_time, $connection of none.
    for name in sorted(values, key=len, reverse=True):
        line = line.replace(name, values[name])
    record = parse_line(" ".join(line.split()))
    assert (record.worker_pid, record.connection, record.trial, record.body_bytes) == (11, 5, "a-b1", 3_602_590)


def test_a_snapshot_is_read_from_the_line_that_netadmin_prints() -> None:
    """JSON has no whole numbers as names: ports come back as such."""
    line = json.dumps(
        {
            "sysctls": {"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.core.somaxconn": "4096"},
            "listener_backlogs": {"8000": [511, 511]},
            "counters": {"TcpExt.ListenDrops": 0},
            "cpu_model": "Xeon",
        }
    )
    snapshot = Snapshot.from_json_text(line)
    assert snapshot.listener_backlogs == {8000: (511, 511)}
    assert snapshot.triple("net.ipv4.tcp_rmem") == (4096, 131072, 6291456)
    assert (snapshot.counters["TcpExt.ListenDrops"], snapshot.cpu_model) == (0, "Xeon")


def test_a_line_that_is_no_snapshot_is_an_error() -> None:
    """A program that printed something else is noticed."""
    with pytest.raises(ValueError, match="Expecting value"):
        Snapshot.from_json_text("Traceback (most recent call last):")
