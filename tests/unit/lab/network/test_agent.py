"""How the library talks to the program of a netadmin container."""

import pytest

from tests.support.fake_netadmin import Program, container
from tuneproof.errors import LabError
from tuneproof.lab.network.agent import LinkAgent
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.protocol import links
from tuneproof.lab.protocol.codec import to_plain
from tuneproof.lab.protocol.netadmin import HalfOpened

NOTHING = {
    "delay_us": 0,
    "jitter_us": 0,
    "loss_pct": 0,
    "duplicate_pct": 0,
    "reorder_pct": 0,
    "corrupt_pct": 0,
    "rate_bytes_per_s": 0,
    "limit_packets": 0,
}


def test_every_question_has_its_own_number_and_the_greeting_is_the_first() -> None:
    """A greeting that was printed before anybody listened is asked for again."""
    program = Program(ready_s=0.7)
    agent = LinkAgent(container(program))
    assert agent.name == "netadmin-client"
    assert agent.greeting == links.Greeting(ready_s=0.7)
    agent.revive()
    agent.switch_segmentation(on=False)
    assert program.numbers == [1, 2, 3]
    assert program.asked == [("revive", {}), ("switch_segmentation", {"on": False})]


@pytest.mark.parametrize(
    "noise",
    [
        [{"ready_s": 0.7}],
        [{"error": "no wire here"}],
        [{"ready_s": 0.7}, {"number": 99, "answer": {"alive": False, "pid": 7}}],
    ],
    ids=["greeting", "failed-greeting", "late-answer"],
)
def test_a_line_without_the_questions_number_is_no_answer_to_it(noise: list[dict[str, object]]) -> None:
    """What the program prints by itself, or answered too late, is passed over."""
    program = Program()
    agent = LinkAgent(container(program))
    program.noise = noise
    assert agent.is_alive()


def test_an_error_is_an_error_of_the_lab_with_the_containers_name() -> None:
    """The program's own words are the message."""
    program = Program()
    agent = LinkAgent(container(program))
    program.errors["revive"] = "/dev/net/tun cannot be opened (Operation not permitted)"
    with pytest.raises(LabError) as caught:
        agent.revive()
    assert caught.value.what == "/dev/net/tun cannot be opened (Operation not permitted)"
    assert caught.value.where == "container netadmin-client, revive"


def test_a_program_that_did_not_come_up_is_an_error_at_once() -> None:
    """Its greeting says why no wire can be raised."""
    with pytest.raises(LabError, match="no file system is mounted"):
        LinkAgent(container(Program(error="no file system is mounted at /wire")))


def test_a_link_is_shaped_direction_by_direction() -> None:
    """Each direction has its own figures, and says whether single packets are needed."""
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
    assert asked["wanted"] == {"egress": NOTHING, "ingress": Impairment(delay_ms=1).to_netem()}


def test_the_state_of_a_wire_is_told() -> None:
    """Its life, its log, and what shapers there are."""
    program = Program()
    agent = LinkAgent(container(program))
    assert (agent.is_alive(), agent.wire_log()) == (True, "Kernel panic")
    assert agent.shapers() == {"native": "", "wire": "no room"}
    program.alive = False
    assert not agent.is_alive()


def test_a_path_is_probed_as_planned() -> None:
    """The plan goes to the container as it is."""
    program = Program()
    agent = LinkAgent(container(program))
    agent.answer_probes(7450)
    load = links.LoadPlan(seconds=0.6, rate_bytes_per_s=1e6, stream=True)
    plan = links.ProbePath(
        address="172.18.0.2",
        packets=3,
        interval_s=0.002,
        payload_bytes=64,
        linger_s=0.1,
        loads={"egress": load},
        port=7450,
    )
    assert agent.probe_path(plan).sent == 3
    assert program.asked == [("answer_probes", {"port": 7450}), ("probe_path", {"asked": to_plain(plan)})]


def test_a_capture_is_fetched_from_where_it_was_written() -> None:
    """The filter goes to the container; the file comes back as bytes."""
    program = Program()
    agent = LinkAgent(container(program))
    agent.start_capture("tcp port 8000")
    assert agent.stop_capture() == b"content of /var/log/link.pcap"
    assert program.of("start_capture") == [{"filter_": "tcp port 8000", "snap_bytes": 192}]


def test_half_open_connections_are_asked_for_by_address_port_and_number() -> None:
    """What was sent comes back."""
    program = Program()
    answer = LinkAgent(container(program)).half_open("172.18.0.3", 8000, 300)
    assert answer == HalfOpened(sent=300, seconds=0.01, sources=("172.18.255.254", "172.18.255.191"))
    assert program.asked == [("half_open", {"address": "172.18.0.3", "port": 8000, "count": 300})]


def test_receiving_is_steered_where_the_host_lets_a_container_do_so() -> None:
    """What was read back comes back; elsewhere there is an error with the reason."""
    program = Program()
    agent = LinkAgent(container(program))
    assert agent.steer_receive((0, 1)) == {"rx-0": (0, 1)}
    assert program.asked == [("steer_receive", {"cpus": [0, 1]})]
    program.errors["steer_receive"] = "rps_cpus cannot be written: [Errno 30] Read-only file system"
    with pytest.raises(LabError, match="Read-only file system"):
        agent.steer_receive((0, 1))
