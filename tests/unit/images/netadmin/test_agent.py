"""The responses of a netadmin container's agent, with a fake wire."""

import io
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from images.netadmin.netadmin import agent as agent_module
from images.netadmin.netadmin import half_open, native
from images.netadmin.netadmin.agent import Agent, answers
from images.netadmin.netadmin.wire import WireError
from tuneproof.lab.protocol import links
from tuneproof.lab.protocol.netadmin import Agent as Program
from tuneproof.lab.protocol.netadmin import HalfOpened
from tuneproof.lab.topology.program import Call

if TYPE_CHECKING:
    from images.netadmin.netadmin.wire import Wire

NOTHING: links.Impairments = {
    "egress": {"delay_us": 0, "limit_packets": 0},
    "ingress": {"delay_us": 0, "limit_packets": 0},
}
EGRESS: links.Impairments = {"egress": {"delay_us": 5000, "limit_packets": 100}, "ingress": NOTHING["ingress"]}
INGRESS: links.Impairments = {"egress": NOTHING["egress"], "ingress": {"delay_us": 5000, "limit_packets": 100}}
WHOLE = {"egress": False, "ingress": False}
SINGLE = {"egress": True, "ingress": False}


class FakeWire:
    """A wire that records its calls."""

    def __init__(self) -> None:
        self.alive = True
        self.done: list[str] = []

    @property
    def wire(self) -> "Wire":
        return cast("Wire", self)

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the requested figures, as guest.py does after reading them back."""
        # The question is sent as text over a serial line.
        ((task, figures),) = json.loads(json.dumps(question)).items()
        self.done.append(task)
        assert task == "shape"
        return dict(figures)

    def lead_through(self, *, through: bool) -> None:
        self.done.append("through" if through else "past")

    def start(self) -> float:
        self.alive = True
        return 0.5


@pytest.fixture
def switches(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Record how segmentation is switched; only the image contains pyroute2, which the real code needs."""
    states: list[bool] = []

    def switch_segmentation(names: Collection[str], *, on: bool) -> None:
        assert set(names) == {"eth0", "uplink", "aside"}
        states.append(on)

    fake_offloads(monkeypatch, switch_segmentation)
    return states


def fake_offloads(monkeypatch: pytest.MonkeyPatch, switch_segmentation: Callable[..., None]) -> None:
    fake = types.SimpleNamespace(switch_segmentation=switch_segmentation)
    monkeypatch.setitem(sys.modules, "images.netadmin.netadmin.offloads", fake)


def served(agent: Agent, *calls: Call) -> list[object]:
    """Return the responses to calls, or the errors in their place; calls are numbered from 7."""
    out = io.StringIO()
    answers(agent).serve([f"{call.line(7 + index)}\n" for index, call in enumerate(calls)], out)
    responses = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [plain["number"] for plain in responses] == [7 + index for index in range(len(calls))]
    parsed = [call.parse_answer(plain) for call, plain in zip(calls, responses, strict=True)]
    return [each if isinstance(each, str) else each.answer for each in parsed]


def agent(wire: "Wire | None" = None) -> Agent:
    return Agent(wire, links.Greeting())


@pytest.mark.usefixtures("switches")
def test_each_of_several_calls_gets_its_response(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_module, "LOG", tmp_path / "wire.log")
    monkeypatch.setattr(native, "why_impossible", lambda: "no netem")
    monkeypatch.setattr(agent_module, "why_impossible", lambda: "no tun")
    fake = FakeWire()
    fake.alive = False
    responses = served(
        Agent(fake.wire, links.Greeting(ready_s=0.5)),
        Call.of(Program.greet),
        Call.of(Program.status),
        Call.of(Program.revive),
        Call.of(Program.status),
        Call.of(Program.wire_log),
        Call.of(Program.shapers),
        Call.of(Program.switch_segmentation, False),
    )
    assert responses == [
        links.Greeting(ready_s=0.5),
        False,
        None,
        True,
        "",
        links.Shapers(native="no netem", wire="no tun"),
        None,
    ]


def test_an_agent_with_a_wire_that_did_not_start_reports_the_reason() -> None:
    failed = Agent(FakeWire().wire, links.Greeting(error="/dev/net/tun cannot be opened"))
    assert served(failed, Call.of(Program.greet), Call.of(Program.greet)) == ["/dev/net/tun cannot be opened"] * 2


@pytest.mark.parametrize(
    "error",
    [
        WireError("the wire's kernel ended with status 1"),
        OSError("there is no interface eth0"),
        TimeoutError("no more probes arrive from the agent that sends them"),
        RuntimeError("it cannot be switched off"),
        subprocess.CalledProcessError(3, ["python3"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_failing_call_gets_a_response_and_the_next_one_is_handled(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller waits for a response to every call."""

    def fail(*_: object) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(native, "shape", fail)
    responses = served(agent(), Call.of(Program.shape, EGRESS, SINGLE), Call.of(Program.greet))
    assert responses == [str(error), links.Greeting()]


def test_a_link_without_a_wire_always_counts_as_up() -> None:
    """Native shaping is done by the host's kernel, which does not need to be restarted."""
    assert served(agent(), Call.of(Program.status), Call.of(Program.revive)) == [True, None]


@pytest.mark.parametrize(
    ("wanted", "where"), [(EGRESS, "through"), (INGRESS, "through"), (NOTHING, "past")], ids=["egress", "ingress", "no"]
)
@pytest.mark.usefixtures("switches")
def test_only_a_shaped_link_goes_through_the_wire(wanted: links.Impairments, where: str) -> None:
    """The link is shaped first, so that no frame passes through a wire with other settings."""
    fake = FakeWire()
    (answer,) = served(agent(fake.wire), Call.of(Program.shape, wanted, WHOLE))
    assert fake.done == ["shape", where]
    assert answer == wanted


def test_without_a_wire_the_roles_own_link_is_shaped(switches: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ("eth0", EGRESS)
    monkeypatch.setattr(native, "shape", lambda *given: INGRESS if given == expected else NOTHING)
    assert served(agent(), Call.of(Program.shape, EGRESS, WHOLE)) == [INGRESS]
    assert switches == []


def test_segmentation_is_switched_only_when_its_setting_changes(switches: list[bool]) -> None:
    """Segmentation is on at the start."""
    one = agent(FakeWire().wire)
    for per_packet in (WHOLE, SINGLE, SINGLE, WHOLE):
        served(one, Call.of(Program.shape, EGRESS, per_packet))
    served(one, Call.of(Program.switch_segmentation, True), Call.of(Program.switch_segmentation, False))
    assert switches == [False, True, False]


def test_segmentation_that_could_not_be_switched_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure, it is not assumed to be off."""
    tried: list[bool] = []

    def fail(_names: Collection[str], *, on: bool) -> None:
        tried.append(on)
        raise RuntimeError("eth0 refuses")

    fake_offloads(monkeypatch, fail)
    off = Call.of(Program.switch_segmentation, False)
    for answer in served(agent(), off, off):
        assert isinstance(answer, str)
        assert "eth0 refuses" in answer
    assert tried == [False, False]


def test_the_end_of_a_long_log_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel's last lines contain the reason for its end. Invalid bytes are replaced."""
    log = tmp_path / "wire.log"
    log.write_bytes(b"begin" + b"x" * 100_000 + b"\xff Kernel panic")
    monkeypatch.setattr(agent_module, "LOG", log)
    (answer,) = served(agent(), Call.of(Program.wire_log))
    assert isinstance(answer, str)
    assert answer.endswith("\N{REPLACEMENT CHARACTER} Kernel panic")
    assert not answer.startswith("begin")


def test_half_open_connections_come_from_a_separate_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in that process keeps its message."""

    def flood(address: str, *, port: int, count: int) -> HalfOpened:
        if port != 8000:
            raise OSError(f"no MAC address is known for {address}")
        return HalfOpened(sent=count, seconds=float(os.getpid()))

    monkeypatch.setattr(half_open, "flood", flood)
    done, failed = served(
        agent(),
        Call.of(Program.half_open, "172.18.0.3", 8000, 9),
        Call.of(Program.half_open, "172.18.0.3", 8001, 9),
    )
    assert isinstance(done, HalfOpened)
    assert done.sent == 9
    assert done.seconds != os.getpid()
    assert failed == "no MAC address is known for 172.18.0.3"
