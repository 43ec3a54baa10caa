"""An engine's lock, on an engine that exists only here."""

import dataclasses
from types import SimpleNamespace
from typing import Any, cast

import docker
import pytest
from docker.errors import APIError, NotFound

from tuneproof.errors import LabError
from tuneproof.lab.engine import lock
from tuneproof.lab.engine.labels import LEASE, SESSION, Owner, Session
from tuneproof.lab.engine.lock import HOLDER, NAME, SINCE, EngineBusyError, locked

MINE = Session(id="mine")
ALIVE = Session(id="alive")
DEAD = Session(id="dead", owner=dataclasses.replace(Owner.current(), start_ticks=1))
ELSEWHERE = Session(id="elsewhere", owner=Owner(machine="elsewhere", boot="b", pid=1, start_ticks=1))


def refusal(status: int) -> APIError:
    return APIError("refused", response=SimpleNamespace(status_code=status), explanation="refused")  # type: ignore[arg-type] # all that is asked of it


class Engine:
    """Gives each container's name away once; its clock goes on while somebody waits.

    held: the container that has the name.
    ends_at_s: when its holder removes it.
    """

    def __init__(self, holder: Session | None = None, *, ends_at_s: float = float("inf")) -> None:
        self.now_s = 0.0
        self.ends_at_s = ends_at_s
        self.removed: list[str] = []
        self.fault: APIError | None = None
        self.held: dict[str, Any] | None = None
        self.told: list[str] = []
        self.leases_over: list[dict[str, Any]] = []
        if holder is not None:
            self.held = {"Id": "first", "Config": {"Labels": holder.labels | {HOLDER: "eve@desk", SINCE: "12:00 UTC"}}}

    @property
    def client(self) -> docker.DockerClient:
        return cast("docker.DockerClient", SimpleNamespace(api=self))

    def create_container(self, image: str, *, name: str, labels: dict[str, str]) -> dict[str, str]:
        assert (image, name) == ("netadmin:1", NAME)
        if self.fault is not None:
            raise self.fault
        if self.now_s >= self.ends_at_s:
            self.held = None
        if self.held is not None:
            raise refusal(409)
        self.held = {"Id": f"of-{labels['io.tuneproof.session']}", "Config": {"Labels": labels}}
        return {"Id": self.held["Id"]}

    def inspect_container(self, name: str) -> dict[str, Any]:
        if self.held is None:
            raise NotFound(name)
        return self.held

    def containers(self, *, all: bool, filters: dict[str, str]) -> list[dict[str, Any]]:  # noqa: A002 - docker-py's name
        """List leases that have ended, or what a session has."""
        assert all
        if filters.get("status") == "exited":
            return self.leases_over
        labels = self.held["Config"]["Labels"] if self.held is not None else {}
        return [{"Id": "first"}] if filters["label"] == f"{SESSION}={labels.get(SESSION)}" else []

    def networks(self, **_filters: Any) -> list[dict[str, Any]]:
        return []

    def volumes(self, **_filters: Any) -> dict[str, Any]:
        return {"Volumes": None}

    def remove_container(self, container_id: str, *, force: bool, v: bool = False) -> None:  # noqa: ARG002 - it has none
        assert force
        self.removed.append(container_id)
        if self.held is None or self.held["Id"] != container_id:
            raise NotFound(container_id)
        self.held = None

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def monotonic(self) -> float:
        return self.now_s


def taken(engine: Engine, monkeypatch: pytest.MonkeyPatch, *, wait_s: float = 60.0) -> Any:
    monkeypatch.setattr(lock, "time", engine)
    return locked(engine.client, name="big", session=MINE, image="netadmin:1", report=engine.told.append, wait_s=wait_s)


def test_a_free_engine_is_taken_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says whose it is, as the session's own, for the sweep of leftovers."""
    engine = Engine()
    with taken(engine, monkeypatch):
        labels = engine.inspect_container(NAME)["Config"]["Labels"]
        assert MINE.labels.items() <= labels.items()
        assert "@" in labels[HOLDER]
        assert labels[SINCE].endswith(" UTC")
    assert engine.held is None
    assert engine.told == []


def test_whoever_measures_is_waited_for_and_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it has come to its end."""
    engine = Engine(ALIVE, ends_at_s=10)
    with taken(engine, monkeypatch):
        assert engine.now_s == pytest.approx(10, abs=1)
    assert engine.told == ["engine big measures for eve@desk, since 12:00 UTC: waiting for its turn, 1 minutes at most"]
    assert engine.removed == ["of-mine"]


@pytest.mark.parametrize("holder", [ALIVE, ELSEWHERE], ids=["alive", "elsewhere"])
def test_nobody_is_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch, holder: Session) -> None:
    """Whether one on another machine is alive cannot be known; it is left alone."""
    engine = Engine(holder)
    with pytest.raises(EngineBusyError, match="Engine big measures for eve@desk, since 12:00 UTC"):
        taken(engine, monkeypatch).__enter__()
    assert engine.now_s == pytest.approx(60, abs=1)
    assert engine.removed == []


def test_the_lock_of_a_dead_session_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for it."""
    engine = Engine(DEAD)
    with taken(engine, monkeypatch):
        assert engine.now_s == 0
        assert engine.removed == ["first"]


@pytest.mark.parametrize("holder", [ALIVE, ELSEWHERE], ids=["alive", "elsewhere"])
def test_a_session_whose_lease_is_over_is_removed_whatever_machine_it_ran_on(
    monkeypatch: pytest.MonkeyPatch, holder: Session
) -> None:
    """What it left running would disturb whoever measures next."""
    engine = Engine(holder)
    engine.leases_over = [{"Labels": {LEASE: "held", **DEAD.labels}}, {"Labels": {LEASE: "held"}}]
    with pytest.raises(EngineBusyError):
        taken(engine, monkeypatch).__enter__()
    engine.leases_over.append({"Labels": {LEASE: "held", **holder.labels}})
    with taken(engine, monkeypatch):
        assert engine.removed == ["first"]


def test_a_lock_that_has_gone_to_somebody_else_is_not_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after `./lab clean`: it is removed by its id."""
    engine = Engine()
    with taken(engine, monkeypatch):
        engine.held = {"Id": "another", "Config": {"Labels": ALIVE.labels}}
    assert engine.held is not None


def test_an_engine_that_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its reason; only a name that is taken is waited for."""
    engine = Engine()
    engine.fault = refusal(500)
    with pytest.raises(LabError, match="locking engine big: refused"):
        taken(engine, monkeypatch).__enter__()
