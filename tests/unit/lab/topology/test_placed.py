"""The option --place, and the engine of each role."""

from collections.abc import Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tuneproof.errors import BadInputError, CannotRunHereError, EngineUnavailableError
from tuneproof.lab.engine.named import EngineFacts
from tuneproof.lab.engine.swarm import Node
from tuneproof.lab.topology import placed as module
from tuneproof.lab.topology.placed import Engines, parse_places, placed
from tuneproof.lab.topology.roles import Role

MANAGER = Node(id="m", state="active", is_manager=True)
WORKER = Node(id="w", state="active")


def facts(name: str, node: Node, *, architecture: str = "x86_64", version: str = "20.10") -> EngineFacts:
    return EngineFacts(name=name or "default", architecture=architecture, cpus=4, version=version, node=node)


def test_roles_are_placed_by_name() -> None:
    assert parse_places(["client=tcp://10.0.0.5:2376", "subject=big"]) == {
        Role.CLIENT: "tcp://10.0.0.5:2376",
        Role.SUBJECT: "big",
    }
    assert parse_places([]) == {}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["proxy=a"], "--place proxy=a: there is no such role\n  fix: use one of subject, client, backend"),
        (["netadmin=a"], "--place netadmin=a: there is no such role"),
        (["a"], "--place a: there is no such role"),
        (["client"], "--place client: the engine is missing\n  fix: --place client=CONTEXT_OR_ADDRESS"),
        (["client="], "--place client=: the engine is missing"),
        (["client=a", "client=b"], "--place client=b: client is placed twice"),
    ],
)
def test_an_invalid_place_is_reported(words: list[str], message: str) -> None:
    with pytest.raises(BadInputError) as caught:
        parse_places(words)
    assert str(caught.value).startswith(message)


def test_without_places_the_lab_is_on_the_default_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///here.sock")
    engines = Engines()
    assert not engines.are_several
    assert engines.network_options == {}
    assert [engine.label for engine in engines.used] == ["default"]
    assert engines.home.client_options["environment"]["DOCKER_HOST"] == "unix:///here.sock"


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> dict[str, EngineFacts]:
    """Return a dictionary for the reachable engines, by name."""
    found: dict[str, EngineFacts] = {}

    @contextmanager
    def environment_of(name: str) -> Any:
        if name not in found:
            raise BadInputError(f"--place {name}: there is no such Docker context")
        yield {"DOCKER_HOST": name}

    def look(name: str, environment: Mapping[str, str]) -> EngineFacts:
        fact = found[environment["DOCKER_HOST"]]
        if fact.version == "19.03":
            raise EngineUnavailableError(f"Engine {name} is Docker 19.03.")
        return fact

    def nodes() -> list[dict[str, Any]]:
        return [{"ID": fact.node.id, "Status": {"State": "ready"}} for fact in found.values() if fact.node.id]

    monkeypatch.setattr(module, "_environment", environment_of)
    monkeypatch.setattr(module, "look", look)
    client = SimpleNamespace(api=SimpleNamespace(nodes=nodes), close=lambda: None)
    monkeypatch.setattr(module, "connect", lambda **_: client)
    return found


def test_roles_that_are_not_placed_are_on_the_default_engine(reachable: dict[str, EngineFacts]) -> None:
    reachable |= {"": facts("", MANAGER), "far": facts("far", WORKER)}
    with placed({Role.CLIENT: "far"}) as engines:
        assert engines.are_several
        assert [engines.of(role).label for role in Role] == ["default", "default", "far", "default"]
        assert engines.of(Role.CLIENT).client_options["environment"] == {"DOCKER_HOST": "far"}
        assert engines.home.label == "default"
        assert [engine.label for engine in engines.used] == ["far", "default"]
        assert engines.alone(Role.CLIENT).home == engines.of(Role.CLIENT)
        assert not engines.alone(Role.CLIENT).are_several


@pytest.mark.parametrize(
    ("found", "places", "used"),
    [
        ({"big": WORKER, "far": MANAGER}, {"subject": "big", "client": "far", "backend": "far"}, ["big", "far"]),
        ({"": MANAGER, "same": MANAGER}, {"client": "same"}, ["default"]),
        ({"big": Node()}, {"subject": "big", "client": "big", "backend": "big"}, ["big"]),
    ],
    ids=["not-the-default", "two-names", "one-without-a-swarm"],
)
def test_only_engines_that_get_a_role_are_contacted(
    reachable: dict[str, EngineFacts], found: dict[str, Node], places: dict[str, str], used: list[str]
) -> None:
    """The default engine need not exist. An engine with two names needs no overlay network."""
    reachable |= {name: facts(name, node) for name, node in found.items()}
    with placed({Role(role): name for role, name in places.items()}) as engines:
        assert [engine.label for engine in engines.used] == used
        assert (engines.subject.label, engines.home.label) == (used[0], used[-1])
        assert engines.are_several == (len(used) > 1)


@pytest.mark.parametrize(
    ("far", "message"),
    [
        (facts("far", Node()), "Engine far is in no swarm.*docker swarm init"),
        (facts("far", WORKER, architecture="aarch64"), "Engine far is aarch64, and default is x86_64"),
        (facts("far", WORKER, version="19.03"), r"Engine far is Docker 19\.03"),
    ],
    ids=["no-swarm", "architecture", "version"],
)
def test_engines_that_cannot_work_together_are_reported(
    reachable: dict[str, EngineFacts], far: EngineFacts, message: str
) -> None:
    reachable |= {"": facts("", MANAGER), "far": far}
    with pytest.raises((BadInputError, CannotRunHereError), match=f"(?s){message}"), placed({Role.CLIENT: "far"}):
        pass


@pytest.mark.parametrize(
    ("host", "context", "found"),
    [("tcp://10.0.0.5:2375", "", "tcp://10.0.0.5:2375"), ("", "default", "unix:///var/run/docker.sock")],
    ids=["by-host", "by-context"],
)
def test_the_default_engine_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, host: str, context: str, found: str
) -> None:
    for name, value in (("DOCKER_HOST", host), ("DOCKER_CONTEXT", context)):
        monkeypatch.delenv(name, raising=False)
        if value:
            monkeypatch.setenv(name, value)
    with module._environment("") as environment:
        assert environment.get("DOCKER_HOST") == found
