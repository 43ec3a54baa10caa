"""A lab on several fake engines: the places of its containers, and the removal of its network."""

import threading
import types
from collections.abc import Iterator, Mapping
from typing import Any, cast

import docker
import pytest
from docker.errors import APIError, NotFound

from tests.support.fake_stage import FakeClock
from tuneproof.errors import LabError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network.shaped_links import companion_spec, owner_specs
from tuneproof.lab.topology import lab as module
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.placed import WITHOUT_ADDRESS, Engine, Engines
from tuneproof.lab.topology.roles import Role, RoleSpec

HERE, FAR = Engine(name="here"), Engine(name="far", environment={"DOCKER_HOST": "far"})
SEVERAL = Engines(default=HERE, by_role={Role.CLIENT: FAR}, manager=HERE)


class FakeContainer:
    def __init__(self, spec: RoleSpec, *, engine: Engine, **_others: object) -> None:
        self.spec = spec
        self.engine = engine
        self.hosts: Mapping[str, str] = {}
        self.probed: list[list[str]] = []

    def start(self, *, joined: object, hosts: Mapping[str, str]) -> None:
        del joined
        self.hosts = hosts

    def address(self) -> str:
        return f"ip-of-{self.spec.name}"

    def run(self, command: list[str]) -> bytes:
        self.probed.append(command[3:])
        if UNREACHABLE:
            raise LabError("python3 ended with status 1", where="container", tail="10.0.1.4: No route to host")
        return b""

    def leave_network(self) -> None:
        LEFT.append(self.spec.name)

    def remove(self) -> None: ...


UNREACHABLE: list[bool] = []
LEFT: list[str] = []


class FakeEngine:
    """An engine that creates networks; each of ``refusals`` makes one removal fail."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.refusals: list[Exception] = []
        self.networks: set[str] = set()
        self.is_other = False
        """Whether it rejects options for the bridge network."""

    def client(self, **_options: object) -> Any:
        return types.SimpleNamespace(
            networks=types.SimpleNamespace(create=self.create),
            api=types.SimpleNamespace(remove_network=self.remove, api_version="1.41", adapters={}, networks=self.named),
            close=lambda: None,
        )

    def named(self, *, names: list[str]) -> list[str]:
        return sorted(self.networks.intersection(names))

    def create(self, name: str, **options: object) -> None:
        if "options" in options and self.is_other:
            raise APIError("unsupported bridge network option")
        self.networks.add(name)
        self.options = options

    def remove(self, name: str) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.networks.remove(name)


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    fake = FakeEngine()
    monkeypatch.setattr(module, "LabContainer", FakeContainer)
    monkeypatch.setattr(docker, "from_env", fake.client)
    yield fake
    UNREACHABLE.clear()
    LEFT.clear()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake = FakeClock()
    fake.now_s = 0.0
    fake.replace_in(monkeypatch, module)
    return fake


def specs() -> list[RoleSpec]:
    """Return the containers of a lab with a shaped client link."""
    client = RoleSpec(name="client", role=Role.CLIENT, image="client:1", joins="netadmin-client")
    return [
        *owner_specs(shaper="native", image="netadmin:1", cpuset="1", roles=("client",)),
        RoleSpec(name="backend", role=Role.BACKEND, image="backend:1", aliases=("backend", "peer")),
        client,
        RoleSpec(name="prober", role=Role.CLIENT, image="client:1"),
        RoleSpec(name="subject", role=Role.SUBJECT, image="subject:1", after=("client", "backend")),
        companion_spec("subject", image="netadmin:1", cpuset="1"),
    ]


def started(engines: Engines | None) -> Lab:
    lab = Lab(Session(), engines=engines)
    lab.start(specs())
    return lab


def fake(lab: Lab, name: str) -> FakeContainer:
    return cast("FakeContainer", lab[name])


def test_every_container_runs_on_the_engine_of_its_role_or_its_owner() -> None:
    lab = started(SEVERAL)
    assert {item.spec.name: item.engine.name for item in lab.containers()} == {
        "netadmin-client": "far",
        "client": "far",
        "prober": "far",
        "backend": "here",
        "subject": "here",
        "netadmin-subject": "here",
    }
    assert lab.is_placed
    assert lab.apart("client", "subject")
    assert not lab.apart("netadmin-client", "prober")


@pytest.mark.parametrize(("is_other", "options"), [(False, WITHOUT_ADDRESS), (True, None)], ids=["docker", "other"])
def test_the_network_has_no_address_on_the_host_if_the_engine_supports_that(
    engine: FakeEngine, *, is_other: bool, options: object
) -> None:
    engine.is_other = is_other
    with Lab(Session()):
        assert engine.options["internal"] is True
        assert engine.options.get("options") == options


def test_a_labs_subjects_leave_the_network_last() -> None:
    """Each tracked connection has a subject at one end; the client or backend at the other end leaves first."""
    with Lab(Session()) as lab:
        lab.start(specs())
    assert LEFT == ["netadmin-subject", "client", "prober", "backend", "netadmin-client", "subject"]


def test_a_lab_without_places_uses_one_engine() -> None:
    lab = started(None)
    assert not lab.is_placed
    assert {item.engine for item in lab.containers() if item.engine != Engine()} == set()
    assert not fake(lab, "subject").hosts
    assert not fake(lab, "netadmin-subject").probed


def test_a_container_gets_the_addresses_of_needed_containers_on_other_engines() -> None:
    """Each address is listed under all names of its container. An engine resolves its own containers' names itself."""
    assert fake(started(SEVERAL), "subject").hosts == {
        "netadmin-client": "ip-of-netadmin-client",
        "client": "ip-of-netadmin-client",
    }


def test_the_start_of_a_lab_checks_that_packets_pass_between_its_engines() -> None:
    """Both directions are checked if each engine has a netadmin container."""
    lab = started(SEVERAL)
    assert fake(lab, "netadmin-subject").probed == [["ip-of-netadmin-client", "ip-of-prober"]]
    assert fake(lab, "netadmin-client").probed == [["ip-of-backend", "ip-of-subject"]]


def test_engines_without_a_path_between_them_are_reported_with_the_ports() -> None:
    UNREACHABLE.append(True)
    with pytest.raises(LabError, match="no packets pass through the overlay network between engine") as caught:
        started(SEVERAL)
    assert "UDP 4789" in caught.value.remedy
    assert "No route to host" in caught.value.tail


def test_a_network_across_several_engines_is_an_internal_overlay(engine: FakeEngine) -> None:
    with Lab(Session(), engines=SEVERAL):
        assert engine.options["driver"] == "overlay"
        assert (engine.options["attachable"], engine.options["internal"]) == (True, True)


IN_USE = APIError("network is in use by task")


@pytest.mark.parametrize("engines", [None, SEVERAL], ids=["one", "several"])
def test_the_removal_of_a_network_in_use_is_repeated(engine: FakeEngine, engines: Engines | None) -> None:
    engine.refusals = [IN_USE, IN_USE]
    with Lab(Session(), engines=engines):
        assert engine.networks
    assert not engine.networks


def test_an_overlay_network_that_stays_in_use_is_left_to_the_sessions_end(engine: FakeEngine, clock: FakeClock) -> None:
    """The lab first waits for 15 s. On a single engine, this is then an error."""
    engine.refusals = [IN_USE] * 1000
    with Lab(Session(), engines=SEVERAL):
        pass
    assert clock.now_s == pytest.approx(15, abs=1)
    with pytest.raises(LabError, match="removing the lab's network"), Lab(Session()):
        pass
    assert clock.now_s == pytest.approx(30, abs=2)


def test_an_earlier_error_does_not_wait_for_the_network_and_is_not_replaced(
    engine: FakeEngine, clock: FakeClock
) -> None:
    """The earlier error names the cause, and the session's end removes the network."""
    engine.refusals = [IN_USE] * 1000
    with pytest.raises(LabError, match="nginx does not start"), Lab(Session()):
        raise LabError("nginx does not start")
    assert clock.now_s == 0


def test_a_container_is_removed_after_those_that_have_joined_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Podman refuses the opposite order. After a failed removal, the other removals are still tried."""
    gone: list[str] = []
    others_are_gone = threading.Event()

    def remove(container: FakeContainer) -> None:
        if container.spec.joins:
            others_are_gone.wait()
        gone.append(container.spec.name)
        if container.spec.name == "prober":
            others_are_gone.set()
        if container.spec.joins:
            raise ValueError("docker-py does not know this answer")

    monkeypatch.setattr(FakeContainer, "remove", remove)
    with pytest.raises(ValueError, match="does not know this answer"), Lab(Session()) as lab:
        lab.start(specs())
    for joined, joining in (("subject", "netadmin-subject"), ("netadmin-client", "client")):
        assert gone.index(joining) < gone.index(joined)


def test_a_network_that_is_already_gone_causes_no_error(engine: FakeEngine) -> None:
    engine.refusals = [NotFound("gone")]
    with Lab(Session(), engines=SEVERAL):
        pass
