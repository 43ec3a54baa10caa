"""What the engine is told about a container, by a library that is not there."""

import types
from typing import Any, Self, cast

import pytest

from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network.shaped_links import companion_spec
from tuneproof.lab.topology import container
from tuneproof.lab.topology.container import LabContainer
from tuneproof.lab.topology.placed import Engine
from tuneproof.lab.topology.roles import Role, RoleSpec

CLIENT = RoleSpec(name="client", role=Role.CLIENT, image="client:1")


class StandIn:
    """Takes the place of the library's container, and keeps the keywords that the engine would get."""

    def __init__(self, image: str, *, env: dict[str, str], docker_client_kw: dict[str, Any]) -> None:
        self.image = image
        self.env = env
        self.docker_client_kw = docker_client_kw
        self.tmpfs: dict[str, str] = {}
        self.keywords: dict[str, Any] = {}

    def with_kwargs(self, **keywords: Any) -> Self:
        """Replace all keywords, as the library does."""
        self.keywords = keywords
        return self

    def start(self) -> Self:
        """Start nothing."""
        return self

    def get_docker_client(self) -> Any:
        """Return what makes an endpoint's description."""
        api = types.SimpleNamespace(create_endpoint_config=lambda **told: told)
        return types.SimpleNamespace(client=types.SimpleNamespace(api=api))

    def get_container_id(self) -> str:
        """Return an id."""
        return f"id-of-{self.image}"


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here reaches an engine."""
    monkeypatch.setattr(container, "DockerContainer", StandIn)


def made(spec: RoleSpec) -> LabContainer:
    """Return the container of a role."""
    return LabContainer(spec, session=Session(), network="lab")


def keywords(spec: RoleSpec, *, joined: LabContainer | None = None) -> dict[str, Any]:
    """Return what the engine is told when the container starts."""
    started = made(spec)
    started.start(joined=joined)
    return cast("StandIn", started._container).keywords


def test_a_container_that_asks_for_nothing_has_no_limits_and_shares_nothing() -> None:
    """The engine's own defaults; no right is kept."""
    told = keywords(CLIENT)
    assert told["cap_drop"] == ["ALL"]
    assert told["cap_add"] == []
    assert not told.keys() & {"nano_cpus", "cpuset_cpus", "mem_limit", "network_mode", "pid_mode", "stdin_open"}


@pytest.mark.parametrize(("cpus", "nano"), [(0.06, 60_000_000), (0.29, 290_000_000), (2.0, 2_000_000_000)])
def test_a_share_of_a_cpu_is_told_in_billionths(cpus: float, nano: int) -> None:
    """NanoCpus of the engine's API is a whole number."""
    found = keywords(RoleSpec(name="backend", role=Role.BACKEND, image="backend:1", cpus=cpus, cpuset="1"))
    assert (found["nano_cpus"], found["cpuset_cpus"]) == (nano, "1")
    assert isinstance(found["nano_cpus"], int)


def test_what_stands_beside_a_subject_shares_its_network_and_sees_its_processes() -> None:
    """Both namespaces are those of the one container; all other keywords stay."""
    spec = companion_spec("subject", image="netadmin:1", cpuset="1")
    assert (spec.joins, spec.needs) == ("subject", ("subject",))
    subject = made(RoleSpec(name="subject", role=Role.SUBJECT, image="subject:1"))
    told = keywords(spec, joined=subject)
    assert (told["network_mode"], told["pid_mode"]) == ("container:id-of-subject:1",) * 2
    assert told["cap_add"] == ["NET_ADMIN", "NET_RAW"]
    assert told["stdin_open"] is True


def test_a_container_that_only_joins_a_network_sees_no_foreign_processes() -> None:
    """So it outlives a restart of the container that owns the network."""
    owner = made(RoleSpec(name="netadmin-client", role=Role.NETADMIN, image="netadmin:1"))
    joining = RoleSpec(name="client", role=Role.CLIENT, image="client:1", joins="netadmin-client")
    told = keywords(joining, joined=owner)
    assert told["network_mode"] == "container:id-of-netadmin:1"
    assert "pid_mode" not in told


def test_a_container_waits_for_what_it_joins_and_for_all_that_it_comes_after() -> None:
    """A subject looks up every one of its backends when it starts."""
    assert CLIENT.needs == ()
    spec = RoleSpec(name="s", role=Role.SUBJECT, image="subject:1", joins="owner", after=("one", "two"))
    assert spec.needs == ("owner", "one", "two")


def test_a_container_on_another_engine_is_made_there_with_that_machines_cpus() -> None:
    """Those that it asks for are the subject's machine's."""
    far = Engine(name="far", environment={"DOCKER_HOST": "far"}, own_cpus="1-7")
    client = RoleSpec(name="client", role=Role.CLIENT, image="client:1", cpuset="1")
    made_there = LabContainer(client, session=Session(), network="lab", engine=far)
    made_there.start()
    told = cast("StandIn", made_there._container)
    assert told.docker_client_kw == {"environment": {"DOCKER_HOST": "far"}}
    assert (told.keywords["cpuset_cpus"], made_there.spec.cpuset) == ("1-7", "1-7")
    assert cast("StandIn", made(client)._container).docker_client_kw == {}


def test_a_container_is_told_addresses_only_where_it_has_a_namespace_of_its_own() -> None:
    """The engine refuses them for one that joins another's, which has them already."""
    hosts = {"backend": "10.0.1.4"}
    started = made(CLIENT)
    started.start(hosts=hosts)
    assert cast("StandIn", started._container).keywords["extra_hosts"] == hosts
    beside = made(companion_spec("client", image="netadmin:1", cpuset=""))
    beside.start(joined=started, hosts=hosts)
    assert not cast("StandIn", beside._container).keywords.keys() & {"extra_hosts", "network", "mac_address"}
