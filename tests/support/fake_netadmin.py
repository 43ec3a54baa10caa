"""A lab whose netadmin containers are not there: each has a program that answers, remembers, and fails when told to."""

import json
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tests.support.simulated_links import measured
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile

if TYPE_CHECKING:
    from tuneproof.lab.topology.container import LabContainer
    from tuneproof.lab.topology.lab import Lab


class Program:
    """What runs in a netadmin container, and the channel to it.

    Attributes:
        asked: Every question but the greeting, as (task, arguments).
        errors: By task what is answered instead.
        noise: Lines that are heard before the first answer.
        alive: Whether its wire lives.
        obeys: Whether its link does what was set; otherwise nothing happens to a packet.
        hangs: How often its link, once measured, passes nothing at all.
        carries_mbit: What its host carries, either way; unlimited at first.
        link: What was set.
        ahead_us: How far the clock at the other end of its link is ahead of its own.
    """

    def __init__(self, **greeting: Any) -> None:
        self._greeting = greeting
        self._unheard: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.numbers: list[int] = []
        self.errors: dict[str, str] = {}
        self.noise: list[dict[str, Any]] = []
        self.alive = True
        self.obeys = True
        self.hangs = 0
        self.carries_mbit = float("inf")
        self.link = LinkProfile()
        self.ahead_us = 0

    def ask(self, question: dict[str, Any], *, timeout_s: float) -> Any:
        """Take a question; return the next line."""
        arguments = json.loads(json.dumps(question))
        task, number = arguments.pop("task"), arguments.pop("number")
        self.numbers.append(number)
        if task != "greeting":
            self.asked.append((task, arguments))
        self._unheard += [*self.noise, {**self._answer(task, arguments), "number": number}]
        self.noise = []
        return self.listen(timeout_s=timeout_s)

    def listen(self, *, timeout_s: float) -> Any:
        """Return the next line."""
        assert timeout_s > 0
        return self._unheard.pop(0)

    def of(self, task: str) -> list[dict[str, Any]]:
        """Return the arguments of every question of one kind."""
        return [arguments for name, arguments in self.asked if name == task]

    def _carried(self, link: LinkProfile) -> dict[str, list[list[int]]]:
        """Return what arrived of loads on links that are faster than the host."""
        return {
            name: [[at_us, int(at_us * self.carries_mbit / 8)] for at_us in range(0, 300_000, 1000)]
            for name, way in link.directions.items()
            if way.rate_mbit and way.rate_mbit > self.carries_mbit
        }

    def _answer(self, task: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if task in self.errors:
            return {"error": self.errors[task]}
        if task == "shape":
            self.link = LinkProfile(**{name: _impairment(way) for name, way in arguments["wanted"].items()})
            return dict(arguments["wanted"])
        if task == "revive":
            self.alive = True
            return {"seconds": 1.0}
        if task == "probe_path" and self.hangs:
            self.hangs -= 1
            return {"sent": arguments["packets"], "late": [], "there": [], "back": [], "loads": {}}
        if task == "probe_path":
            link = self.link if self.obeys else LinkProfile()
            told = measured(link, np.random.default_rng(7450), packets=arguments["packets"])
            return {
                **told,
                "there": [[number, there_us + self.ahead_us] for number, there_us in told["there"]],
                "back": [[number, back_us - self.ahead_us, both_us] for number, back_us, both_us in told["back"]],
                "loads": {**told["loads"], **self._carried(link)},
            }
        return {
            "greeting": self._greeting,
            "status": {"alive": self.alive, "pid": 7},
            "wire_log": {"log": "Kernel panic"},
            "memory_inside": {"memory": "MemTotal:       38236 kB\nMemFree:         3620 kB\nSwapFree:      9 kB\n"},
            "shapers": {"native": "", "wire": "no room"},
            "half_open": {
                "sent": arguments.get("count"),
                "seconds": 0.01,
                "sources": ["172.18.255.254", "172.18.255.191"],
            },
            "steer_receive": {"rps_cpus": {"rx-0": arguments.get("cpus")}},
            "stop_capture": {"file": "/var/log/link.pcap"},
        }.get(task, {"did": task})


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

    def asked(self) -> dict[str, list[str]]:
        """Return the tasks that each program was asked for since this was last called, where there were any."""
        found = {name: [task for task, _ in program.asked] for name, program in self.programs.items()}
        for program in self.programs.values():
            program.asked.clear()
        return {name: tasks for name, tasks in found.items() if tasks}


def container(program: Program, *, name: str = "netadmin-client") -> "LabContainer":
    """Return the container of a program."""
    return cast(
        "LabContainer",
        types.SimpleNamespace(
            spec=types.SimpleNamespace(name=name),
            attach=lambda: program,
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
