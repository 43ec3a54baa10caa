"""A lab over several engines that are not there: where its containers go, and how its network is removed."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest
from docker.errors import APIError, NotFound

from tuneproof.errors import LabError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network.shaped_links import companion_spec, owner_specs
from tuneproof.lab.topology import lab as module
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.placed import Engine, Engines
from tuneproof.lab.topology.roles import Role, RoleSpec

HERE, FAR = Engine(name="here"), Engine(name="far", environment={"DOCKER_HOST": "far"})
SEVERAL = Engines(default=HERE, by_role={Role.CLIENT: FAR}, manager=HERE)


class FakeContainer:
    """Remembers where it is, and what it was told at its start."""

    def __init__(self, spec: RoleSpec, *, session: Session, network: object, number: int, engine: Engine) -> None:
        del session, network, number
        self.spec = spec
        self.engine = engine
        self.hosts: Mapping[str, str] = {}
        self.knocked: list[list[str]] = []
        self.refuses = ""

    def start(self, *, joined: object, hosts: Mapping[str, str]) -> None:
        """Start it."""
        del joined
        self.hosts = hosts

    def address(self) -> str:
        """Return an address that tells whose it is."""
        return f"ip-of-{self.spec.name}"

    def run(self, command: list[str]) -> bytes:
        """Knock at addresses."""
        self.knocked.append(command[3:])
        if DEAF:
            raise LabError("python3 ended with status 1", where="container", tail="10.0.1.4: No route to host")
        return b""

    def remove(self) -> None:
        """Remove it."""


DEAF: list[bool] = []


class FakeNetwork:
    """Refuses to go as often as was said."""

    refusals: list[Exception]

    def __init__(self, *, docker_client_kw: dict[str, Any], docker_network_kw: dict[str, Any]) -> None:
        self.client_options = docker_client_kw
        self.options = docker_network_kw
        self.gone = False
        self._docker = type("Wrapped", (), {"client": type("Client", (), {"close": lambda _: None})()})()

    def create(self) -> None:
        """Create it."""

    def remove(self) -> None:
        """Remove it."""
        if self.refusals:
            raise self.refusals.pop(0)
        self.gone = True


class FakeTime:
    """A clock that only moves in sleep."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        """Tell the time."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Let it pass."""
        self.now_s += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTime]:
    """Nothing here reaches an engine."""
    fake = FakeTime()
    monkeypatch.setattr(module, "LabContainer", FakeContainer)
    monkeypatch.setattr(module, "Network", FakeNetwork)
    monkeypatch.setattr(FakeNetwork, "refusals", [], raising=False)
    monkeypatch.setattr(module, "time", fake)
    yield fake
    DEAF.clear()


def specs() -> list[RoleSpec]:
    """Return a lab with a shaped client, and netadmin containers of all kinds."""
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
    """Return a lab with these containers."""
    lab = Lab(Session(), engines=engines)
    lab.start(specs())
    return lab


def fake(lab: Lab, name: str) -> FakeContainer:
    """Return one of its containers."""
    return cast("FakeContainer", lab[name])


def test_every_container_is_where_its_role_is_or_whom_it_belongs_to() -> None:
    """A netadmin container with the role whose network namespace it has."""
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


def test_one_engine_has_everything() -> None:
    """As ever: nobody is told an address, nobody knocks."""
    lab = started(None)
    assert not lab.is_placed
    assert {item.engine for item in lab.containers() if item.engine != Engine()} == set()
    assert not fake(lab, "subject").hosts
    assert not fake(lab, "netadmin-subject").knocked


def test_a_container_is_told_the_addresses_of_those_that_it_needs_elsewhere() -> None:
    """By all their names; a name that is here is known here."""
    assert fake(started(SEVERAL), "subject").hosts == {
        "netadmin-client": "ip-of-netadmin-client",
        "client": "ip-of-netadmin-client",
    }


def test_a_lab_has_started_when_packets_pass_between_its_engines() -> None:
    """Both ways, where somebody can look."""
    lab = started(SEVERAL)
    assert fake(lab, "netadmin-subject").knocked == [["ip-of-netadmin-client", "ip-of-prober"]]
    assert fake(lab, "netadmin-client").knocked == [["ip-of-backend", "ip-of-subject"]]


def test_engines_between_which_nothing_passes_are_told_with_the_ports() -> None:
    """That is what a firewall in between looks like."""
    DEAF.append(True)
    with pytest.raises(LabError, match="nothing passes through the overlay network between engine") as caught:
        started(SEVERAL)
    assert "UDP 4789" in caught.value.remedy
    assert "No route to host" in caught.value.tail


def test_the_network_of_several_engines_reaches_over_all_and_nowhere_else() -> None:
    """An internal one gives its containers no second interface."""
    network = cast("Any", Lab(Session(), engines=SEVERAL))._network
    assert network.options["driver"] == "overlay"
    assert (network.options["attachable"], network.options["internal"]) == (True, True)
    assert network.client_options == {}
    assert "driver" not in cast("Any", Lab(Session()))._network.options


IN_USE = APIError("network is in use by task")


@pytest.mark.parametrize("engines", [None, SEVERAL], ids=["one", "several"])
def test_a_network_that_is_in_use_is_free_in_a_moment(monkeypatch: pytest.MonkeyPatch, engines: Engines | None) -> None:
    """The engine, and the swarm, hear a little later of a container's end."""
    monkeypatch.setattr(FakeNetwork, "refusals", [IN_USE, IN_USE])
    with Lab(Session(), engines=engines) as lab:
        network = cast("Any", lab)._network
    assert network.gone


def test_a_network_that_stays_in_use_is_left_to_the_sessions_end(
    monkeypatch: pytest.MonkeyPatch, clock: FakeTime
) -> None:
    """After some seconds; on one engine, where nothing would change, it is an error then."""
    monkeypatch.setattr(FakeNetwork, "refusals", [IN_USE] * 1000)
    with Lab(Session(), engines=SEVERAL):
        pass
    assert clock.now_s == pytest.approx(15, abs=1)
    with pytest.raises(LabError, match="removing the lab's network"), Lab(Session()):
        pass
    assert clock.now_s == pytest.approx(30, abs=2)


def test_a_network_that_is_gone_is_as_it_shall_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else has removed it."""
    monkeypatch.setattr(FakeNetwork, "refusals", [NotFound("gone")])
    with Lab(Session(), engines=SEVERAL):
        pass
