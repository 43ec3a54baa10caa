"""Reasons why a trial on the user's own nginx is void."""

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


def test_rejected_readers_say_nothing_about_buffers(tmp_path: Path) -> None:
    found, _ = opened(tmp_path, http("server { listen 80; location / { proxy_pass http://b; } }"))
    (route,) = routes_of(found.facts)
    assert isinstance(route, Route)
    missing = answered(404, body_bytes=153, total_s=0.001)
    rig = create_autospec(Rig, instance=True)
    rig.must.side_effect = partial(Rig.must, rig)
    rig.flow.return_value = [Connection(answers=(missing,), error="", closed_by_server=False, open_s=0.001)]
    with pytest.raises(VoidTrialError, match="answered by 404"):
        trials.slow_readers(route, trials.MIB)(rig)


@pytest.mark.parametrize(
    ("limit", "connections"),
    [("", trials.CLIENTS), ("limit_req zone=a;", trials.ASKED), ("limit_conn a 1;", trials.ASKED)],
)
def test_each_request_to_a_limited_location_has_its_own_client(tmp_path: Path, limit: str, connections: int) -> None:
    text = f"server {{ listen 80; location / {{ {limit} proxy_pass http://b; }} }}"
    found, _ = opened(tmp_path, http(text))
    (route,) = routes_of(found.facts)
    assert isinstance(route, Route)
    rig = create_autospec(Rig, instance=True)
    rig.flow.return_value = []
    trials.requests(route)(rig)
    flow = rig.flow.call_args.args[0]
    assert (flow.connections, flow.connections * flow.requests) == (connections, trials.ASKED)
    assert flow.at_once == trials.CLIENTS
