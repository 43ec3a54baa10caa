"""The settings with which a container is created, with a stand-in for testcontainers."""

import types
from dataclasses import replace
from typing import Any, Self, cast

import pytest
import requests
from docker.constants import DEFAULT_TIMEOUT_SECONDS
from docker.errors import NotFound

from tuneproof.errors import EngineUnavailableError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network.shaped_links import companion_spec
from tuneproof.lab.topology import container
from tuneproof.lab.topology.channel import Channel
from tuneproof.lab.topology.container import LabContainer
from tuneproof.lab.topology.placed import Engine
from tuneproof.lab.topology.roles import Role, RoleSpec

CLIENT = RoleSpec(name="client", role=Role.CLIENT, image="client:1")


class StandIn:
    """A stand-in for the library's container, which records the settings that the engine would get."""

    def __init__(self, image: str, *, env: dict[str, str], docker_client_kw: dict[str, Any]) -> None:
        self.image = image
        self.env = env
        self.docker_client_kw = docker_client_kw
        self.tmpfs: dict[str, str] = {}
        self.keywords: dict[str, Any] = {}
        self.starts: list[str] = []
        self.removed: list[str] = []
        self.updates: list[tuple[str, dict[str, str]]] = []
        self.losses = 0

    def with_kwargs(self, **keywords: Any) -> Self:
        self.keywords = keywords
        return self

    def with_name(self, name: str) -> Self:
        self.name = name
        return self

    def start(self) -> Self:
        self.starts.append(self.name)
        if len(self.starts) <= self.losses:
            raise requests.ConnectionError("Remote end closed connection without response")
        return self

    def remove_container(self, name: str, *, force: bool, v: bool) -> None:
        assert force
        assert v
        self.removed.append(name)
        raise NotFound("no such container")

    def stats(self, _id: str, **_options: bool) -> Any:
        # The engine's response is empty if the container ends meanwhile.
        raise requests.exceptions.JSONDecodeError("Expecting value", "", 0)

    def get_docker_client(self) -> Any:
        api = types.SimpleNamespace(
            create_endpoint_config=lambda **config: config,
            adapters={},
            remove_container=self.remove_container,
            stats=self.stats,
            update_container=lambda name, **limits: self.updates.append((name, limits)),
        )
        return types.SimpleNamespace(client=types.SimpleNamespace(api=api))

    def get_container_id(self) -> str:
        return f"id-of-{self.image}"


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "DockerContainer", StandIn)


def made(spec: RoleSpec) -> LabContainer:
    return LabContainer(spec, session=Session(), network="lab")


def test_a_container_needs_the_one_that_it_joins_and_those_that_it_starts_after() -> None:
    assert CLIENT.needs == ()
    spec = RoleSpec(name="s", role=Role.SUBJECT, image="subject:1", joins="owner", after=("one", "two"))
    assert spec.needs == ("owner", "one", "two")


def test_a_container_on_another_engine_is_made_there_with_that_machines_cpus() -> None:
    far = Engine(name="far", environment={"DOCKER_HOST": "far"}, own_cpus="1-7")
    client = RoleSpec(name="client", role=Role.CLIENT, image="client:1", cpuset="1")
    made_there = LabContainer(client, session=Session(), network="lab", engine=far)
    made_there.start()
    stand_in = cast("StandIn", made_there._container)
    assert stand_in.docker_client_kw["environment"] == {"DOCKER_HOST": "far"}
    assert (stand_in.keywords["cpuset_cpus"], made_there.spec.cpuset) == ("1-7", "1-7")
    here = cast("StandIn", made(client)._container).docker_client_kw
    assert here["environment"]["DOCKER_HOST"] != "far"
    assert here["timeout"] > DEFAULT_TIMEOUT_SECONDS, "an engine on slow CPUs needs more time than docker-py's default"


@pytest.mark.parametrize("late", [True, False])
def test_a_container_that_starts_on_all_cpus_is_limited_to_its_own_afterwards(*, late: bool) -> None:
    """The kernel of a wire starts faster on all CPUs."""
    new = made(replace(CLIENT, cpuset="1", starts_on_all_cpus=late))
    new.start()
    stand_in = cast("StandIn", new._container)
    assert ("cpuset_cpus" in stand_in.keywords) is not late
    new.stay_on_cpus()
    assert stand_in.updates == ([("id-of-client:1", {"cpuset_cpus": "1"})] if late else [])


def test_a_containers_own_program_has_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second connection would receive responses for the first. Time limits depend on the engine."""
    channels: list[types.SimpleNamespace] = []

    def connect(_api: Any, container_id: str, *, name: str) -> types.SimpleNamespace:
        channels.append(types.SimpleNamespace(of=(container_id, name), close=channels.clear))
        return channels[-1]

    monkeypatch.setattr(Channel, "to_main_program", connect)
    new = made(CLIENT)
    new.patience = 3.0
    assert new.attach() is new.attach()
    assert [(each.of, each.patience) for each in channels] == [(("id-of-client:1", "client"), 3.0)]
    monkeypatch.setattr(StandIn, "stop", lambda _: None, raising=False)
    new.remove()
    assert channels == []


@pytest.mark.parametrize(("losses", "starts"), [(0, 1), (1, 2)])
def test_after_a_lost_response_a_container_is_created_again(losses: int, starts: int) -> None:
    """The first container may exist, so it is removed; the new one has the same name."""
    new = made(CLIENT)
    stand_in = cast("StandIn", new._container)
    stand_in.losses = losses
    new.start()
    assert stand_in.starts == ["lab-client"] * starts
    assert stand_in.removed == ["lab-client"] * losses


def test_an_engine_that_loses_two_responses_counts_as_unavailable() -> None:
    new = made(CLIENT)
    cast("StandIn", new._container).losses = 2
    with pytest.raises(EngineUnavailableError):
        new.start()


def test_only_a_container_with_its_own_network_namespace_gets_addresses() -> None:
    hosts = {"backend": "10.0.1.4"}
    started = made(CLIENT)
    started.start(hosts=hosts)
    assert cast("StandIn", started._container).keywords["extra_hosts"] == hosts
    beside = made(companion_spec("client", image="netadmin:1", cpuset=""))
    beside.start(joined=started, hosts=hosts)
    assert not cast("StandIn", beside._container).keywords.keys() & {"extra_hosts", "network", "mac_address"}


def test_a_container_that_ends_while_its_processes_are_counted_has_not_reached_its_limit() -> None:
    """The engine then returns an empty response, which does not count as an unavailable engine."""
    new = made(replace(CLIENT, processes=512))
    new.start()
    assert not new.has_all_processes()
