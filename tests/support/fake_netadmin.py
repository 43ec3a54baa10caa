"""A fake lab with netadmin containers; each has a program that answers calls, records them, and fails on demand."""

import json
import types
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tests.support.joined import Joined
from tests.support.simulated_links import measured
from tuneproof.errors import LabError
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.protocol import links
from tuneproof.lab.protocol.links import PathSeen
from tuneproof.lab.protocol.netadmin import Agent, HalfOpened
from tuneproof.lab.topology.program import Answered, Call

if TYPE_CHECKING:
    from tuneproof.lab.topology.container import LabContainer
    from tuneproof.lab.topology.lab import Lab


class Program(Joined):
    """The program in a netadmin container, and the lab's end of the connection to it."""

    def __init__(self, *, ready_s: float | None = None) -> None:
        super().__init__(Agent, self)
        self._greeting = links.Greeting(ready_s=ready_s)
        self.errors: dict[str, str] = {}  # error messages by function, in place of a response
        self.alive = True  # whether its wire is alive
        self.obeys = True  # whether its link is shaped as requested; otherwise, it is not shaped
        self.hangs = 0  # in this many of the next measurements, no packet arrives
        self.carries_mbit = float("inf")  # the rate that the host can carry in each direction
        self.link = LinkProfile()
        self.ahead_us = 0  # how far the clock at the other end of its link is ahead

    def ask(self, call: Call) -> Answered[Any]:
        if call.function in self.errors:
            self.asked.append(call)
            raise LabError(self.errors[call.function])
        return super().ask(call)

    def of(self, function: str) -> list[dict[str, Any]]:
        return [json.loads(asked.line(1))["with"] for asked in self.asked if asked.function == function]

    def _nothing(self, **_: object) -> None:
        """Accept a call that has no effect here."""

    answer_probes = fix_neighbours = lead_addresses = open_entries = _nothing
    start_capture = street = switch_segmentation = _nothing

    def greet(self) -> links.Greeting:
        return self._greeting

    def shape(self, wanted: links.Impairments, per_packet: Mapping[str, bool]) -> links.Impairments:  # noqa: ARG002
        self.link = LinkProfile(**{name: _impairment(way) for name, way in wanted.items()})
        return wanted

    def probe_path(self, asked: links.ProbePath) -> PathSeen:
        if self.hangs:
            self.hangs -= 1
            return PathSeen(sent=asked.packets, late=(), there=(), back=(), loads={})
        link = self.link if self.obeys else LinkProfile()
        seen = measured(link, np.random.default_rng(7450), packets=asked.packets)
        return replace(
            seen,
            there=tuple((number, there_us + self.ahead_us) for number, there_us in seen.there),
            back=tuple((number, back_us - self.ahead_us, both_us) for number, back_us, both_us in seen.back),
            loads={**seen.loads, **self._carried(link)},
        )

    def revive(self) -> None:
        self.alive = True

    def half_open(self, address: str, port: int, count: int) -> HalfOpened:  # noqa: ARG002
        return HalfOpened(sent=count, seconds=0.01)

    def steer_receive(self, cpus: tuple[int, ...]) -> Mapping[str, tuple[int, ...]]:
        return {"rx-0": cpus}

    def status(self) -> bool:
        return self.alive

    def wire_log(self) -> str:
        return "Kernel panic"

    def shapers(self) -> links.Shapers:
        return links.Shapers(native="", wire="no room")

    def stop_capture(self) -> str:
        return "/var/log/link.pcap"

    def _carried(self, link: LinkProfile) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return the loads in the directions in which the link is faster than this host."""
        return {
            name: tuple((at_us, int(at_us * self.carries_mbit / 8)) for at_us in range(0, 300_000, 1000))
            for name, way in link.directions.items()
            if way.rate_mbit and way.rate_mbit > self.carries_mbit
        }


class FakeLab:
    """Containers by name: ``netadmin-client``, ``netadmin-backend`` and ``netadmin-subject``, and the subject.

    away: the containers on a different machine from the subject's.
    """

    def __init__(self, *, roles: tuple[str, ...] = ("client", "backend")) -> None:
        self.away: set[str] = set()
        self.programs = {name: Program(ready_s=0.5) for name in roles} | {"subject": Program()}

    @property
    def lab(self) -> "Lab":
        return cast("Lab", self)

    def __getitem__(self, name: str) -> "LabContainer":
        if name == "subject":
            return cast("LabContainer", types.SimpleNamespace(address=lambda: "172.18.0.2"))
        return container(self.programs[name.removeprefix("netadmin-")], name=name)

    def apart(self, one: str, other: str) -> bool:
        """Tell whether two containers are on different machines."""
        return (one in self.away) != (other in self.away)

    def asked(self) -> dict[str, list[str]]:
        """Return and forget each program's calls, except "greet"; programs without calls are left out."""
        found = {
            name: [asked.function for asked in program.asked if asked.function != "greet"]
            for name, program in self.programs.items()
        }
        for program in self.programs.values():
            program.asked.clear()
        return {name: functions for name, functions in found.items() if functions}


def container(program: Program, *, name: str = "netadmin-client") -> "LabContainer":
    return cast(
        "LabContainer",
        types.SimpleNamespace(
            spec=types.SimpleNamespace(name=name),
            attach=lambda: program,
            stay_on_cpus=lambda: None,
            fetch=lambda path: f"content of {path}".encode(),
        ),
    )


def _impairment(netem: Mapping[str, float]) -> Impairment:
    """Return the settings that netem got, in a user's units."""
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
