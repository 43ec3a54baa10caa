"""What a netadmin container answers, task by task, with a wire that is not there."""

import io
import json
import subprocess
import types
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from images.netadmin.netadmin import agent as agent_module
from images.netadmin.netadmin import native_agent
from images.netadmin.netadmin.agent import Agent
from images.netadmin.netadmin.wire import WireError

if TYPE_CHECKING:
    from images.netadmin.netadmin.wire import Wire

NOTHING = {"egress": {"delay_us": 0, "limit_packets": 0}, "ingress": {"delay_us": 0, "limit_packets": 0}}
EGRESS = {"egress": {"delay_us": 5000, "limit_packets": 100}, "ingress": NOTHING["ingress"]}
INGRESS = {"egress": NOTHING["egress"], "ingress": {"delay_us": 5000, "limit_packets": 100}}
WHOLE = {"egress": False, "ingress": False}
SINGLE = {"egress": True, "ingress": False}


class FakeWire:
    """Answers as a wire does, and remembers in which order it was asked for what."""

    def __init__(self) -> None:
        self.alive = True
        self.pid = 42
        self.done: list[str] = []
        self.error = ""

    @property
    def wire(self) -> "Wire":
        """This object, where a wire is wanted."""
        return cast("Wire", self)

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question's own figures as what was read back."""
        ((task, figures),) = question.items()
        self.done.append(task)
        if self.error:
            raise WireError(self.error)
        return {"read_back": figures}

    def lead_through(self, *, through: bool) -> None:
        """Remember where the role's frames go."""
        self.done.append("through" if through else "past")

    def raise_(self) -> float:
        """Come up again."""
        self.alive = True
        return 0.5


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the agent runs beside itself, without the interpreter."""
    ran: list[list[str]] = []

    def run(command: list[str], *, check: bool) -> None:
        assert check
        ran.append(command[1:])

    fake = types.SimpleNamespace(run=run, CalledProcessError=subprocess.CalledProcessError)
    monkeypatch.setattr(agent_module, "subprocess", fake)
    return ran


def served(agent: Agent, *questions: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the answers to questions, each of which gets the next number from 7 on."""
    lines = [f"{json.dumps({**question, 'number': 7 + index})}\n" for index, question in enumerate(questions)]
    answers = io.StringIO()
    agent.serve(lines, answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


@pytest.mark.usefixtures("commands")
def test_every_answer_carries_its_questions_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line for each question, in turn."""
    monkeypatch.setattr(agent_module, "LOG", tmp_path / "wire.log")
    monkeypatch.setattr(native_agent, "why_impossible", lambda: "no netem")
    monkeypatch.setattr(agent_module, "why_impossible", lambda: "no tun")
    fake = FakeWire()
    fake.alive = False
    answers = served(
        Agent(fake.wire, {"ready_s": 0.5}),
        {"task": "greeting"},
        {"task": "status"},
        {"task": "revive"},
        {"task": "status"},
        {"task": "wire_log"},
        {"task": "shapers"},
        {"task": "memory_inside"},
        {"task": "shape_natively_inside", "wanted": EGRESS},
        {"task": "segmentation", "on": False},
    )
    assert answers == [
        {"number": 7, "ready_s": 0.5},
        {"number": 8, "alive": False, "pid": 42},
        {"number": 9, "seconds": 0.5},
        {"number": 10, "alive": True, "pid": 42},
        {"number": 11, "log": ""},
        {"number": 12, "native": "no netem", "wire": "no tun"},
        {"number": 13, "read_back": True},
        {"number": 14, "read_back": EGRESS},
        {"number": 15, "segmentation": False},
    ]


@pytest.mark.parametrize(
    "error",
    [
        WireError("the wire's kernel ended with status 1"),
        OSError("there is no interface eth0"),
        TimeoutError("the leader of the probes fell silent"),
        RuntimeError("it cannot be switched off"),
        native_agent.NativeError("eth0 cannot be shaped"),
        subprocess.CalledProcessError(3, ["python3"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_task_that_fails_is_answered_and_the_next_one_is_taken(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for an answer that does not come."""

    def fail(*_: object) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(native_agent, "shape", fail)
    answers = served(Agent(None, {}), {"task": "shape", "wanted": EGRESS, "per_packet": SINGLE}, {"task": "greeting"})
    assert answers == [{"number": 7, "error": str(error)}, {"number": 8}]


def test_an_agent_without_a_wire_says_so() -> None:
    """What is shaped natively lives as long as the kernel does; nothing runs inside of anything."""
    answers = served(
        Agent(None, {}),
        {"task": "status"},
        {"task": "revive"},
        {"task": "memory_inside"},
        {"task": "shape_natively_inside", "wanted": EGRESS},
    )
    assert answers == [
        {"number": 7, "alive": True, "pid": None},
        {"number": 8, "seconds": 0.0},
        {"number": 9, "error": "no wire was raised"},
        {"number": 10, "error": "no wire was raised"},
    ]


@pytest.mark.parametrize(
    ("wanted", "where"), [(EGRESS, "through"), (INGRESS, "through"), (NOTHING, "past")], ids=["egress", "ingress", "no"]
)
@pytest.mark.usefixtures("commands")
def test_only_a_shaped_link_is_led_through_the_wire(wanted: dict[str, Any], where: str) -> None:
    """It is shaped first: no frame sees a wire that is not what was set."""
    fake = FakeWire()
    (answer,) = served(Agent(fake.wire, {}), {"task": "shape", "wanted": wanted, "per_packet": WHOLE})
    assert fake.done == ["shape", where]
    assert answer == {"number": 7, "read_back": wanted}


def test_a_link_that_could_not_be_shaped_is_led_nowhere_else(commands: list[list[str]]) -> None:
    """The error is the answer."""
    fake = FakeWire()
    fake.error = "inside the wire: it has something else"
    (answer,) = served(Agent(fake.wire, {}), {"task": "shape", "wanted": EGRESS, "per_packet": SINGLE})
    assert answer == {"number": 7, "error": "inside the wire: it has something else"}
    assert fake.done == ["shape"]
    assert commands == []


def test_without_a_wire_the_roles_own_link_is_shaped(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read back is the answer."""
    monkeypatch.setattr(native_agent, "shape", lambda interface, wanted: {interface: wanted})
    (answer,) = served(Agent(None, {}), {"task": "shape", "wanted": EGRESS, "per_packet": WHOLE})
    assert answer == {"number": 7, "eth0": EGRESS}
    assert commands == []


def test_segmentation_is_switched_when_it_changes(commands: list[list[str]]) -> None:
    """It is on at first; each change takes a process, which knows the link under all of its names."""
    agent = Agent(FakeWire().wire, {})
    for per_packet in (WHOLE, SINGLE, SINGLE, WHOLE):
        served(agent, {"task": "shape", "wanted": EGRESS, "per_packet": per_packet})
    served(agent, {"task": "segmentation", "on": True}, {"task": "segmentation", "on": False})
    names = ["eth0", "uplink", "aside"]
    assert commands == [["-m", "netadmin.offloads", state, *names] for state in ("off", "on", "off")]


def test_segmentation_that_could_not_be_switched_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure nobody believes that it is off."""
    ran: list[str] = []

    def run(command: list[str], *, check: bool) -> None:
        assert check
        ran.append(command[3])
        raise subprocess.CalledProcessError(1, command)

    fake = types.SimpleNamespace(run=run, CalledProcessError=subprocess.CalledProcessError)
    monkeypatch.setattr(agent_module, "subprocess", fake)
    off = {"task": "segmentation", "on": False}
    first, second = served(Agent(None, {}), off, off)
    assert "error" in first
    assert "error" in second
    assert ran == ["off", "off"]


def test_the_end_of_a_long_log_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel says last what it died of; bytes that are no text do not hide it."""
    log = tmp_path / "wire.log"
    log.write_bytes(b"begin" + b"x" * 100_000 + b"\xff Kernel panic")
    monkeypatch.setattr(agent_module, "LOG", log)
    (answer,) = served(Agent(None, {}), {"task": "wire_log"})
    assert answer["log"].endswith("\N{REPLACEMENT CHARACTER} Kernel panic")
    assert not answer["log"].startswith("begin")


def test_paths_are_probed_with_the_plan_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One agent leads, the other answers."""
    monkeypatch.setattr(agent_module, "probe_path", lambda **plan: {"plan": plan})
    monkeypatch.setattr(agent_module, "answer_probes", lambda port: {"arrivals": port})
    agent = Agent(None, {})
    answers = served(agent, {"task": "probe_path", "packets": 3}, {"task": "answer_probes", "port": 3})
    assert answers == [{"number": 7, "plan": {"packets": 3}}, {"number": 8, "arrivals": 3}]


def test_half_open_connections_are_left_behind_by_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes its memory along, does not hear the agent's questions, and its last word is the answer."""
    ran: list[list[str]] = []

    def run(command: list[str], *, check: bool, stdin: int, stdout: int) -> types.SimpleNamespace:
        assert check
        assert (stdin, stdout) == (subprocess.DEVNULL, subprocess.PIPE)
        ran.append(command[1:])
        return types.SimpleNamespace(stdout=answers.pop(0))

    monkeypatch.setattr(subprocess, "run", run)
    answers = [b'{"sent": 9}\n', b'{"error": "nobody tells the MAC address of 172.18.0.3"}\n']
    question = {"task": "half_open", "address": "172.18.0.3", "port": 8000, "count": 9}
    assert served(Agent(None, {}), question, question) == [
        {"number": 7, "sent": 9},
        {"number": 8, "error": "nobody tells the MAC address of 172.18.0.3"},
    ]
    assert ran == [["-m", "netadmin.half_open", "172.18.0.3", "8000", "9"]] * 2


def test_what_the_link_receives_is_steered_to_the_cpus_that_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that cannot be done, the reason is the answer."""

    def steer(cpus: list[int]) -> dict[str, Any]:
        if not cpus:
            raise OSError("rps_cpus cannot be written: [Errno 30] Read-only file system")
        return {"rps_cpus": {"rx-0": cpus}}

    monkeypatch.setattr(agent_module, "steer_receive", steer)
    questions = [{"task": "steer_receive", "cpus": cpus} for cpus in ([0, 1], [])]
    assert served(Agent(None, {}), *questions) == [
        {"number": 7, "rps_cpus": {"rx-0": [0, 1]}},
        {"number": 8, "error": "rps_cpus cannot be written: [Errno 30] Read-only file system"},
    ]
