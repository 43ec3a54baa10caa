"""A lab whose netadmin containers are not there: each has a program that answers, remembers, and fails when told to."""

import json
import struct
import types
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from tests.support.simulated_links import measured
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.protocol import links, netadmin
from tuneproof.lab.protocol.codec import from_plain, to_plain
from tuneproof.lab.protocol.links import PathSeen
from tuneproof.lab.protocol.messages import Done, Question
from tuneproof.lab.topology.channel import Channel

if TYPE_CHECKING:
    from tuneproof.lab.topology.container import LabContainer
    from tuneproof.lab.topology.lab import Lab

Q = TypeVar("Q", bound=Question[Any])


_KINDS = {kind.__name__: kind for kind in Question.__subclasses__()}


class Program:
    """What runs in a netadmin container, and the engine's connection to it.

    Attributes:
        asked: Every question but the greeting.
        numbers: The number of every question.
        errors: By kind of question what is answered instead.
        noise: Lines that are heard before the first answer.
        alive: Whether its wire lives.
        obeys: Whether its link does what was set; otherwise nothing happens to a packet.
        hangs: How often its link, once measured, passes nothing at all.
        carries_mbit: What its host carries, either way; unlimited at first.
        link: What was set.
        ahead_us: How far the clock at the other end of its link is ahead of its own.
    """

    def __init__(self, *, ready_s: float | None = None, error: str = "") -> None:
        self._greeting = links.Greeting(ready_s=ready_s)
        self._unheard = b""
        self.asked: list[Question[Any]] = []
        self.numbers: list[int] = []
        self.errors: dict[type[Question[Any]], str] = {links.Greet: error} if error else {}
        self.noise: list[dict[str, Any]] = []
        self.alive = True
        self.obeys = True
        self.hangs = 0
        self.carries_mbit = float("inf")
        self.link = LinkProfile()
        self.ahead_us = 0

    def channel(self, name: str) -> Channel:
        """Return the lab's end of the conversation."""
        return Channel(self, name=name, program="its program", status=lambda: None)

    def settimeout(self, timeout_s: float) -> None:
        """Wait for nothing."""
        assert timeout_s > 0

    def sendall(self, line: bytes) -> None:
        """Take a question."""
        plain = json.loads(line)
        self.numbers.append(plain["number"])
        question = from_plain(_KINDS[plain["ask"]], plain["of"])
        if not isinstance(question, links.Greet):
            self.asked.append(question)
        error = self.errors.get(type(question))
        told = {"answer": to_plain(self._answer(question))} if error is None else {"error": error}
        for message in (*self.noise, {"number": plain["number"], **told}):
            said = f"{json.dumps(message)}\n".encode()
            # The engine's frame around what a program prints on its standard output.
            self._unheard += struct.pack(">BxxxL", 1, len(said)) + said
        self.noise = []

    def recv(self, size: int) -> bytes:
        """Return what was not heard yet."""
        assert self._unheard
        heard, self._unheard = self._unheard[:size], self._unheard[size:]
        return heard

    def of(self, kind: type[Q]) -> list[Q]:
        """Return every question of one kind."""
        return [question for question in self.asked if isinstance(question, kind)]

    def _carried(self, link: LinkProfile) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return what arrived of loads on links that are faster than the host."""
        return {
            name: tuple((at_us, int(at_us * self.carries_mbit / 8)) for at_us in range(0, 300_000, 1000))
            for name, way in link.directions.items()
            if way.rate_mbit and way.rate_mbit > self.carries_mbit
        }

    def _answer(self, question: Question[Any]) -> object:
        if isinstance(question, links.Shape):
            self.link = LinkProfile(**{name: _impairment(way) for name, way in question.wanted.items()})
            return links.Shaped(read_back=question.wanted)
        if isinstance(question, links.ProbePath):
            return self._probe(question.packets)
        if isinstance(question, links.Revive):
            self.alive = True
        if isinstance(question, netadmin.LeaveHalfOpen):
            made_up = ("172.18.255.254", "172.18.255.191")
            return netadmin.HalfOpened(sent=question.count, seconds=0.01, sources=made_up)
        if isinstance(question, netadmin.SteerReceive):
            return netadmin.Steered(rps_cpus={"rx-0": question.cpus})
        told: dict[type[Question[Any]], object] = {
            links.Greet: self._greeting,
            links.ReadStatus: links.LinkStatus(alive=self.alive),
            links.ReadWireLog: links.Text(text="Kernel panic"),
            links.TryShapers: links.Shapers(native="", wire="no room"),
            netadmin.StopCapture: netadmin.Captured(file="/var/log/link.pcap"),
        }
        return told.get(type(question), Done())

    def _probe(self, packets: int) -> PathSeen:
        if self.hangs:
            self.hangs -= 1
            return PathSeen(sent=packets, late=(), there=(), back=(), loads={})
        link = self.link if self.obeys else LinkProfile()
        seen = measured(link, np.random.default_rng(7450), packets=packets)
        return replace(
            seen,
            there=tuple((number, there_us + self.ahead_us) for number, there_us in seen.there),
            back=tuple((number, back_us - self.ahead_us, both_us) for number, back_us, both_us in seen.back),
            loads={**seen.loads, **self._carried(link)},
        )


class FakeLab:
    """Containers by name: ``netadmin-client``, ``netadmin-backend`` and ``netadmin-subject``, and the subject.

    Attributes:
        away: Those of them that are on another machine than the subject.
    """

    def __init__(self, *, roles: tuple[str, ...] = ("client", "backend")) -> None:
        self.away: set[str] = set()
        self.programs = {name: Program(ready_s=0.5) for name in roles} | {"subject": Program()}

    @property
    def lab(self) -> "Lab":
        """This object, where a lab is wanted."""
        return cast("Lab", self)

    def __getitem__(self, name: str) -> "LabContainer":
        if name == "subject":
            return cast("LabContainer", types.SimpleNamespace(address=lambda: "172.18.0.2"))
        return container(self.programs[name.removeprefix("netadmin-")], name=name)

    def apart(self, one: str, other: str) -> bool:
        """Tell whether two containers are on different machines."""
        return (one in self.away) != (other in self.away)

    def asked(self) -> dict[str, list[type[Question[Any]]]]:
        """Return what each program was asked for since this was last called, where it was anything."""
        found = {name: [type(question) for question in program.asked] for name, program in self.programs.items()}
        for program in self.programs.values():
            program.asked.clear()
        return {name: kinds for name, kinds in found.items() if kinds}


def container(program: Program, *, name: str = "netadmin-client") -> "LabContainer":
    """Return the container of a program."""
    return cast(
        "LabContainer",
        types.SimpleNamespace(
            spec=types.SimpleNamespace(name=name),
            attach=lambda: program.channel(name),
            fetch=lambda path: f"content of {path}".encode(),
        ),
    )


def _impairment(netem: Mapping[str, float]) -> Impairment:
    """Return what netem was told to do, back in a user's units."""
    rate = netem["rate_bytes_per_s"]
    return Impairment(
        delay_ms=netem["delay_us"] / 1000,
        jitter_ms=netem["jitter_us"] / 1000,
        loss_pct=netem["loss_pct"],
        duplicate_pct=netem["duplicate_pct"],
        reorder_pct=netem["reorder_pct"],
        corrupt_pct=netem["corrupt_pct"],
        rate_mbit=rate * 8 / 1e6 if rate else None,
    )
