"""How the library talks to the program of a netadmin container."""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

from tests.support.fake_netadmin import Program, container
from tuneproof.errors import LabError
from tuneproof.lab.network import agent
from tuneproof.lab.network.agent import LinkAgent
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.protocol import links


def test_an_agent_has_its_containers_name_and_its_programs_greeting() -> None:
    agent = LinkAgent(container(Program(ready_s=0.7)))
    assert (agent.name, agent.greeting) == ("netadmin-client", links.Greeting(ready_s=0.7))


def test_a_program_that_did_not_come_up_is_an_error_at_once() -> None:
    """Its greeting says why no wire can be raised."""
    with pytest.raises(LabError, match="no file system is mounted"):
        LinkAgent(container(Program(error="no file system is mounted at /wire")))


def test_a_link_is_shaped_direction_by_direction() -> None:
    program = Program()
    egress, ingress = Impairment(delay_ms=1, rate_mbit=1000), Impairment(delay_ms=1, loss_pct=2)
    read_back = LinkAgent(container(program)).shape(LinkProfile(egress=egress, ingress=ingress))
    assert program.of("shape") == [
        {
            "wanted": {"egress": egress.to_netem(), "ingress": ingress.to_netem()},
            "per_packet": {"egress": False, "ingress": True},
        }
    ]
    assert read_back == {"egress": egress.to_netem(), "ingress": ingress.to_netem()}


@pytest.mark.parametrize("idle", [Impairment(), Impairment(limit_packets=10)], ids=["nothing", "limit-alone"])
def test_where_nothing_is_shaped_all_figures_are_zero(idle: Impairment) -> None:
    """A limit, too: any other figure would put netem there."""
    program = Program()
    LinkAgent(container(program)).shape(LinkProfile(egress=idle, ingress=Impairment(delay_ms=1)))
    (asked,) = program.of("shape")
    assert set(asked["wanted"]["egress"].values()) == {0}
    assert asked["wanted"]["ingress"] == Impairment(delay_ms=1).to_netem()


def test_a_capture_is_fetched_from_where_it_was_written() -> None:
    """The filter goes to the container; the file comes back as bytes."""
    program = Program()
    agent = LinkAgent(container(program))
    agent.start_capture("tcp port 8000")
    assert agent.stop_capture() == b"content of /var/log/link.pcap"
    assert program.of("start_capture") == [{"filter_": "tcp port 8000", "snap_bytes": 192}]


class AtOnce(ThreadPoolExecutor):
    """Whatever it is given has come to its end before anything else is asked."""

    def submit(self, task: Any, /, *given: Any, **named: Any) -> Future[Any]:
        future = super().submit(task, *given, **named)
        wait([future])
        return future


def test_why_probes_are_not_answered_is_reported_rather_than_that_they_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "ThreadPoolExecutor", AtOnce)
    answering, leading = Program(), Program()
    answering.errors = {"answer_probes": "Operation not permitted"}
    leading.errors = {"probe_path": "Connection refused"}
    plan = links.ProbePath(
        address="127.0.0.1", port=1, own_port=3, packets=1, interval_s=1, payload_bytes=64, linger_s=1, loads={}
    )
    with pytest.raises(LabError, match="not permitted"):
        LinkAgent(container(leading)).probe_path(plan, answering=LinkAgent(container(answering)))
    answering.errors = {}
    with pytest.raises(LabError, match="refused"):
        LinkAgent(container(leading)).probe_path(plan, answering=LinkAgent(container(answering)))
