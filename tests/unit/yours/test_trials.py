"""Trials with the user's own nginx: when they are void, and how many connections they open."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from tests.support.exchanged import answered
from tests.support.own_configurations import http, opened
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.protocol.exchanges import Connection
from tuneproof.yours import trials
from tuneproof.yours.routes import Route, routes_of


def route_of(folder: Path, lines: str) -> Route:
    text = f"proxy_cache_path /c keys_zone=a:1m; server {{ listen 80; location / {{ {lines} proxy_pass http://b; }} }}"
    (route,) = routes_of(opened(folder, http(text))[0].facts)
    assert isinstance(route, Route)
    return route


def test_rejected_readers_show_nothing_about_buffers(tmp_path: Path) -> None:
    route = route_of(tmp_path, "")
    missing = answered(404, body_bytes=153, total_s=0.001)
    rig = create_autospec(Rig, instance=True)
    rig.must.side_effect = partial(Rig.must, rig)
    rig.flow.return_value = [Connection(answers=(missing,), error="", closed_by_server=False, open_s=0.001)]
    with pytest.raises(VoidTrialError, match="answered with 404"):
        trials.slow_readers(route, trials.MIB)(rig)


@pytest.mark.parametrize(
    ("cache", "numbers", "is_void"),
    [
        ("", ["1.1", "2.1"], False),
        # Stand-ins on two machines may use the same numbers for their responses.
        ("", ["1.1", "1.1"], False),
        ("", ["1.1", ""], True),
        ("proxy_cache a;", ["1.1", "2.1"], False),
        ("proxy_cache a;", ["1.1", "1.1"], True),
    ],
)
def test_a_trial_is_void_unless_each_slow_reader_has_its_own_response(
    tmp_path: Path, cache: str, numbers: list[str], *, is_void: bool
) -> None:
    """A rejected client fills no buffers, and neither does one that reads a short response from a cache."""
    route = route_of(tmp_path, cache)
    answers = [replace(answered(200, body_bytes=1, total_s=0.001), numbered=number) for number in numbers]
    readers = [Connection(answers=(one,), error="", closed_by_server=False, open_s=1.0) for one in answers]
    rig = create_autospec(Rig, instance=True)
    rig.must.side_effect = partial(Rig.must, rig)
    rig.flow.return_value = readers[:1]
    rig.standing.return_value.__enter__.return_value = [readers]
    rig.workers.return_value = ()
    trial = trials.slow_readers(route, 32 * trials.MIB)
    if is_void:
        with pytest.raises(VoidTrialError, match="only 1 of 2 slow readers"):
            trial(rig)
    else:
        assert trial(rig)["readers"] == len(numbers)


@pytest.mark.parametrize(
    ("limit", "connections"),
    [
        ("", trials.CLIENTS),
        ("limit_req zone=a;", trials.ASKED),
        ("limit_conn a 1;", trials.ASKED),
        ("keepalive_timeout 0;", trials.ASKED),
        ("keepalive_requests 7;", trials.ASKED),
        ("keepalive_requests 8; keepalive_timeout 5s;", trials.CLIENTS),
    ],
)
def test_a_limit_or_a_short_client_connection_gives_each_request_its_own_client(
    tmp_path: Path, limit: str, connections: int
) -> None:
    route = route_of(tmp_path, limit)
    rig = create_autospec(Rig, instance=True)
    rig.flow.return_value = []
    trials.requests(route)(rig)
    flow = rig.flow.call_args.args[0]
    assert (flow.connections, flow.connections * flow.requests) == (connections, trials.ASKED)
    assert flow.at_once == trials.CLIENTS
