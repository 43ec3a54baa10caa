"""The lab's calls to the program in a netadmin container."""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

from tests.support.fake_netadmin import Program, container
from tuneproof.errors import LabError
from tuneproof.lab.network import agent
from tuneproof.lab.network.agent import agent_in, probe_path, shape
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.protocol import links


def test_both_directions_of_a_link_are_shaped_in_one_call() -> None:
    program = Program()
    egress, ingress = Impairment(delay_ms=1, rate_mbit=1000), Impairment(delay_ms=1, loss_pct=2)
    read_back = shape(agent_in(container(program)), LinkProfile(egress=egress, ingress=ingress))
    assert program.of("shape") == [
        {
            "wanted": {"egress": egress.to_netem(), "ingress": ingress.to_netem()},
            "per_packet": {"egress": False, "ingress": True},
        }
    ]
    assert read_back == {"egress": egress.to_netem(), "ingress": ingress.to_netem()}


class AtOnce(ThreadPoolExecutor):
    """A thread pool in which each call ends before submit() returns."""

    def submit(self, task: Any, /, *given: Any, **named: Any) -> Future[Any]:
        future = super().submit(task, *given, **named)
        wait([future])
        return future


def test_an_earlier_error_of_the_answering_agent_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "ThreadPoolExecutor", AtOnce)
    answering, leading = Program(), Program()
    answering.errors = {"answer_probes": "Operation not permitted"}
    leading.errors = {"probe_path": "Connection refused"}
    plan = links.ProbePath(
        address="127.0.0.1", port=1, own_port=3, packets=1, interval_s=1, payload_bytes=64, linger_s=1, loads={}
    )
    with pytest.raises(LabError, match="not permitted"):
        probe_path(plan, leading=agent_in(container(leading)), answering=agent_in(container(answering)))
    answering.errors = {}
    with pytest.raises(LabError, match="refused"):
        probe_path(plan, leading=agent_in(container(leading)), answering=agent_in(container(answering)))
