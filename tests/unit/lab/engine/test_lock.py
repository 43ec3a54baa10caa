"""An engine's lock, with a simulated engine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
import requests

from tests.support.fake_api import ALIVE, DEAD, FakeApi, refusal
from tuneproof.errors import EngineUnavailableError, LabError
from tuneproof.lab.engine import lock
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.lock import HOLDER, NAME, SINCE, TICKET, locked

if TYPE_CHECKING:
    from docker.errors import APIError

MINE = Session(id="mine")
LOCK_OF_MINE = f"of-mine-{NAME}"
TICKET_OF_MINE = f"of-mine-{TICKET}mine"


class Engine(FakeApi):
    """An engine with a simulated clock, which advances during waits.

    ends_at_s: the time at which somebody else removes a container, by the container's id.
    """

    def __init__(self, holder: Session | None = None, ends_at_s: Mapping[str, float] | None = None) -> None:
        super().__init__()
        self.now_s = 0.0
        self.ends_at_s = dict(ends_at_s or {})
        self.removed: list[str] = []
        self.fault: APIError | None = None
        self.reports: list[str] = []
        self.waited_with: list[list[str]] = []
        if holder is not None:
            self.add("container", "first", holder.labels | {HOLDER: "eve@desk", SINCE: "12:00 UTC"})
            self.named[NAME] = "first"

    def add_ticket(self, session: Session) -> None:
        self.add("container", "older", session.labels | {HOLDER: "bob@desk", SINCE: "12:01 UTC"})
        self.named[f"{TICKET}{session.id}"] = "older"

    def create_container(self, image: str, *, name: str, labels: dict[str, str]) -> dict[str, str]:
        assert (image, name) in {("netadmin:1", NAME), ("netadmin:1", f"{TICKET}mine")}
        if self.fault is not None:
            raise self.fault
        return super().create_container(image, name=name, labels=labels)

    def remove_container(self, name: str, *, force: bool, v: bool = False) -> None:
        self.removed.append(name)
        super().remove_container(name, force=force, v=v)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.waited_with.append(list(self.held["container"]))
        for name in [name for name, at_s in self.ends_at_s.items() if self.now_s >= at_s]:
            del self.held["container"][name], self.ends_at_s[name]

    def monotonic(self) -> float:
        return self.now_s


def locking(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(lock, "time", engine)
    return locked(
        engine.client, name="big", session=MINE, image="netadmin:1", report=engine.reports.append, wait_s=60.0
    )


def test_a_free_engine_is_locked_and_unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock carries its session's labels, so that it can be removed as a leftover."""
    engine = Engine()
    with locking(engine, monkeypatch):
        labels = engine.inspect_container(NAME)["Config"]["Labels"]
        assert MINE.labels.items() <= labels.items()
        assert "@" in labels[HOLDER]
        assert labels[SINCE].endswith(" UTC")
    assert not engine.names()
    assert engine.reports == []


def test_a_session_waits_for_a_measuring_run_and_names_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(ALIVE, {"first": 10})
    with locking(engine, monkeypatch):
        assert engine.now_s == pytest.approx(10, abs=1)
    assert engine.reports == ["engine big is in use by eve@desk since 12:00 UTC: waiting up to 1 min"]
    assert engine.removed == [TICKET_OF_MINE, LOCK_OF_MINE]
    assert engine.waited_with == [["first", TICKET_OF_MINE]] * 10


@pytest.mark.parametrize("states", [[], ["exited", "running"]], ids=["no-lease", "new-lease"])
def test_a_session_gives_up_waiting_for_a_run(monkeypatch: pytest.MonkeyPatch, states: list[str]) -> None:
    """A run without a lease may still be alive, so it is left alone."""
    engine = Engine(ALIVE)
    for state in states:
        engine.add_lease(ALIVE, state)
    with pytest.raises(EngineUnavailableError, match="Engine big is in use by eve@desk since 12:00 UTC"):
        locking(engine, monkeypatch).__enter__()
    assert engine.now_s == pytest.approx(60, abs=1)
    assert engine.removed == [TICKET_OF_MINE]


def test_a_session_with_an_ended_lease_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session's containers would disturb the next measurement. An ended lease of another session does not count."""
    engine = Engine(ALIVE)
    engine.add_lease(DEAD, "exited")
    with pytest.raises(EngineUnavailableError, match="this run waited for"):
        locking(engine, monkeypatch).__enter__()
    engine.add_lease(ALIVE, "exited")
    engine.removed.clear()
    with locking(engine, monkeypatch):
        assert engine.removed == ["first", "alive-lease-1"]


def test_a_lock_that_now_belongs_to_another_session_is_not_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """This happens after `./lab clean`, so a lock is removed by its id."""
    engine = Engine()
    with locking(engine, monkeypatch):
        engine.held["container"] = {"another": ALIVE.labels}
    assert "another" in engine.names()


def test_an_engine_that_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session waits only if the lock's name is in use."""
    engine = Engine()
    engine.fault = refusal(500)
    with pytest.raises(LabError, match="locking engine big: refused"):
        locking(engine, monkeypatch).__enter__()
    assert engine.now_s == 0


@pytest.mark.parametrize("call", ["containers", "create_container", "images", "inspect_container"])
def test_an_engine_that_stops_answering_is_reported(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(ALIVE)
    engine.add_lease(ALIVE, "running")
    monkeypatch.setattr(engine, call, Mock(side_effect=requests.ConnectionError("refused")))
    with pytest.raises(EngineUnavailableError, match="stopped answering while locking engine big"):
        locking(engine, monkeypatch).__enter__()


@pytest.mark.parametrize(("leaves_at_s", "waits_s"), [(20, 20), (5, 10)], ids=["gets-it", "gives-up"])
def test_the_session_that_has_waited_longest_is_next(
    monkeypatch: pytest.MonkeyPatch, leaves_at_s: float, waits_s: float
) -> None:
    """The others wait even if the engine is free, since the session with the oldest ticket looks only once a second."""
    engine = Engine(ALIVE, {"first": 10, "older": leaves_at_s})
    engine.add_ticket(Session(id="other"))
    with locking(engine, monkeypatch):
        assert engine.now_s == pytest.approx(waits_s, abs=1)
    waits = ("is in use by eve@desk since 12:00 UTC", "is reserved for bob@desk since 12:01 UTC")
    reports = [f"engine big {why}: waiting up to 1 min" for why in waits]
    assert engine.reports == reports[: 2 if waits_s == leaves_at_s else 1]
    assert engine.removed == [TICKET_OF_MINE, LOCK_OF_MINE]


def test_the_ticket_of_a_dead_session_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    engine.add_ticket(DEAD)
    engine.add_lease(DEAD, "exited")
    with locking(engine, monkeypatch):
        assert engine.now_s == 0
        assert engine.removed == ["older", "dead-lease-0"]


def test_a_lost_ticket_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """`./lab clean`, for example, removes tickets."""
    engine = Engine(ALIVE, {"first": 10, TICKET_OF_MINE: 3})
    with locking(engine, monkeypatch):
        assert engine.waited_with == [["first", TICKET_OF_MINE]] * 10
    assert engine.removed == [TICKET_OF_MINE, LOCK_OF_MINE]


def test_a_session_that_has_had_the_lock_does_not_wait_for_tickets(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart of the engine, that session locks it again, and the others wait."""
    engine = Engine()
    engine.create_container("netadmin:1", name=NAME, labels=MINE.labels)
    engine.add_ticket(ALIVE)
    with locking(engine, monkeypatch):
        assert (engine.now_s, engine.reports) == (0, [])
