"""Held connections as a load: readings between equal steps, the release, and the memory per connection."""

import pytest

from tests.support.fake_stage import ADDRESS, MIB, PORT, FakeStage, about, cgroup, sockets, worker
from tuneproof.errors import LabError
from tuneproof.lab.load import waiting
from tuneproof.lab.load.held_connections import HeldConnections, HeldObservation
from tuneproof.lab.load.observer import WorkerFigures
from tuneproof.lab.protocol.loadgen import Held, Loadgen
from tuneproof.lab.topology.program import Call

LOAD = HeldConnections(connections=200, steps=2)
OLD = (worker(11), worker(12))


def held(count: int, **failed: int) -> Held:
    """Return the client's report after a step; an underscore in a reason stands for a space."""
    reasons = {reason.replace("_", " "): number for reason, number in failed.items()}
    return Held(held=count, failed=reasons, rss_bytes=9 * MIB)


def with_memory(*anon_bytes: int) -> tuple[WorkerFigures, ...]:
    return tuple(worker(31 + place, rss_anon_bytes=size) for place, size in enumerate(anon_bytes))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStage:
    """Return an nginx container that needs 1000 bytes per connection; its kernel needs 5000."""
    fake = FakeStage()
    fake.clock.replace_in(monkeypatch, waiting)
    steps = [with_memory(MIB + 100 * step * 700, MIB + 100 * step * 300) for step in range(3)]
    fake.workers = [OLD, steps[0], *steps]
    fake.cgroups = [cgroup(usage=10 * MIB + 100 * step * 5000) for step in range(3)]
    fake.answers["hold"] = [held(100), held(200)]
    return fake


def test_connections_are_opened_in_equal_steps_with_a_reading_before_and_after_each(fake: FakeStage) -> None:
    """The load then releases the connections and waits until they have ended, so that the next trial has none."""
    fake.sockets = [sockets(ESTAB=200), sockets(ESTAB=1), sockets(ESTAB=0, others={"ESTAB": 5})]
    recorded = LOAD.run(fake.stage, label="a-b1")
    step = ["hold", "workers", "cgroup"]
    fresh = ["workers", "HUP master", "workers"]
    assert fake.did == [*fresh, "workers", "cgroup", *step, *step, "release", *["sockets"] * 3]
    hold = Call.of(Loadgen.hold, ADDRESS, PORT, "/hold", 100)
    assert fake.asked == [hold, hold, Call.of(Loadgen.release)]
    assert LOAD.observe(recorded) == HeldObservation(
        steal_pct=0.0,
        measuring_s=2.0,
        held=200,
        failed=0,
        worker_bytes_per_connection=about(1000.0),
        kernel_bytes_per_connection=about(5000.0),
        client_rss_bytes=9 * MIB,
    )


def test_a_trial_is_void_if_a_connection_of_any_step_failed(fake: FakeStage) -> None:
    fake.answers["hold"] = [held(97, ECONNREFUSED=2, HTTP_502=1), held(196, ECONNREFUSED=1, EAGAIN=2)]
    recorded = LOAD.run(fake.stage, label="a-b1")
    assert recorded.record.failed == {"ECONNREFUSED": 3, "HTTP 502": 1, "EAGAIN": 2}
    observation = LOAD.observe(recorded)
    assert observation.failed == 6
    assert observation.faults == ("6 connections failed",)


def test_connections_that_stay_after_their_release_are_an_error(fake: FakeStage) -> None:
    """They would count in the next variant's trial."""
    fake.sockets = [sockets(ESTAB=7)]
    with pytest.raises(LabError, match="released connections did not end within 60 s"):
        LOAD.run(fake.stage, label="a-b1")
