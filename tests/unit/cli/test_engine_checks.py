"""The doctor's report on the engines that a user names."""

from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.command_line import Lab
from tuneproof.cli import checks, doctor
from tuneproof.errors import BadInputError, EngineUnavailableError
from tuneproof.lab.engine.named import EngineFacts
from tuneproof.lab.engine.swarm import Node

FACTS = {
    "boss": EngineFacts(
        name="boss", architecture="x86_64", cpus=32, version="28.0", node=Node(id="m", state="active", is_manager=True)
    ),
    "gen1": EngineFacts(name="gen1", architecture="x86_64", cpus=8, version="20.10", node=Node(id="w", state="active")),
    "bare": EngineFacts(name="bare", architecture="x86_64", cpus=2, version="20.10", node=Node(fault="timed out")),
    "arm": EngineFacts(name="arm", architecture="aarch64", cpus=4, version="28.0", node=Node(id="a", state="active")),
}


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the engines with ones that only report FACTS; nothing else is examined."""

    @contextmanager
    def environment_of(name: str) -> Any:
        if name == "typo":
            raise BadInputError("--engine typo: there is no such Docker context", remedy="one of boss, gen1")
        yield {}

    def look(name: str, _environment: object) -> EngineFacts:
        if name == "old":
            raise EngineUnavailableError("Engine old is Docker 19.03.", remedy="use Docker 20.10 or later")
        return FACTS[name]

    def why_not_together(facts: dict[str, EngineFacts], _environments: object) -> list[str]:
        if "gone" in facts:
            raise EngineUnavailableError("The Docker engine does not answer.")
        return [f"Engine {name} is in no swarm." for name, fact in facts.items() if not fact.node.id]

    monkeypatch.setattr(checks, "environment_of", environment_of)
    monkeypatch.setattr(checks, "look", look)
    monkeypatch.setattr(checks, "why_not_together", why_not_together)
    monkeypatch.setattr(doctor, "connect", None)


def reported(lab: Lab, *names: str) -> tuple[int, list[str]]:
    """Return the doctor's status, and its lines without the spaces between columns."""
    status, out, _ = lab("doctor", *[word for name in names for word in ("--engine", name)])
    return status, [" ".join(line.split()) for line in out.splitlines()]


def test_engines_that_can_do_everything_get_status_0(lab: Lab) -> None:
    assert reported(lab, "boss", "gen1") == (
        0,
        [
            "ok engine boss: Docker 28.0, x86_64, 32 CPUs",
            "ok swarm boss: active, manager",
            "ok engine gen1: Docker 20.10, x86_64, 8 CPUs",
            "ok swarm gen1: active, worker",
            "ok architecture x86_64",
            "ok together one swarm, all nodes ready: roles can be placed on them",
        ],
    )


def test_an_engine_without_a_swarm_can_do_everything_except_place_roles(lab: Lab) -> None:
    status, lines = reported(lab, "bare")
    assert status == 0
    assert lines == [
        "ok engine bare: Docker 20.10, x86_64, 2 CPUs",
        (
            "warn swarm bare: inactive (timed out) - for --place, it must be in a swarm with the others: `docker swarm "
            "init` or `docker swarm join` there"
        ),
    ]
    _, lines = reported(lab, "boss", "bare")
    assert lines[-1].startswith("warn together Engine bare is in no swarm. - for --place: `docker swarm init`")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("typo", "missing engine typo: --engine typo: there is no such Docker context - one of boss, gen1"),
        ("old", "missing engine old: Engine old is Docker 19.03. - use Docker 20.10 or later"),
        (
            "arm",
            "missing architecture x86_64, aarch64 - engines with different architectures cannot share a run or a lab",
        ),
    ],
)
def test_an_engine_that_cannot_take_part_gets_status_1(lab: Lab, name: str, line: str) -> None:
    status, lines = reported(lab, "boss", name)
    assert status == 1
    assert line in lines
    assert "ok swarm boss: active, manager" in lines


def test_an_engine_that_disappears_meanwhile_leads_to_a_warning(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FACTS, "gone", FACTS["gen1"])
    _, lines = reported(lab, "boss", "gone")
    assert lines[-1].startswith("warn together The Docker engine does not answer.")
