"""Memory of workers that have served nothing yet: a reload, and a reading once it no longer changes."""

from dataclasses import replace

import pytest

from tests.support.fake_stage import MIB, FakeStage, about, worker
from tuneproof.lab.load import start_up, waiting
from tuneproof.lab.load.observer import WorkerFigures
from tuneproof.lab.load.start_up import StartUp, StartUpObservation
from tuneproof.lab.load.waiting import VoidTrialError

LOAD = StartUp(workers=2, worker_connections=512)
OLD = (worker(11), worker(12))


def new(*anon_bytes: int) -> tuple[WorkerFigures, ...]:
    return tuple(worker(30 + place, rss_anon_bytes=size) for place, size in enumerate(anon_bytes))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStage:
    """A subject whose new workers grow for a while."""
    fake = FakeStage()
    fake.clock.replace_in(monkeypatch, start_up, waiting)
    # Before the reload, when the new ones exist, and while they fill their tables.
    fake.workers = [OLD, new(0, 0), new(1 * MIB, 0), new(2 * MIB, MIB), new(3 * MIB, 2 * MIB)]
    return fake


def test_memory_is_that_of_new_workers_once_it_has_settled(fake: FakeStage) -> None:
    """All workers together; the last two readings are the same."""
    assert LOAD.observe(LOAD.run(fake.stage, label="a-b1")) == StartUpObservation(
        steal_pct=0.0,
        measuring_s=about(0.15),
        workers=2,
        slots=1024,
        rss_bytes=5 * MIB,
    )
    assert fake.did == ["workers", "HUP master", *["workers"] * 5]


def test_a_worker_that_waits_for_a_cpu_has_not_settled(fake: FakeStage) -> None:
    """Its memory does not change while it waits."""
    waiting = tuple(replace(one, is_asleep=False) for one in new(2 * MIB, MIB))
    fake.workers = [OLD, new(0, 0), *[waiting] * 10, new(3 * MIB, 2 * MIB)]
    assert LOAD.run(fake.stage, label="a-b1").record.rss_bytes == 5 * MIB


def test_memory_that_never_settles_is_an_error(fake: FakeStage) -> None:
    """Any reading of it would be arbitrary."""
    fake.workers = [OLD, *[new(size, 0) for size in range(2000)]]
    began_s = fake.clock.now_s
    with pytest.raises(VoidTrialError, match="the memory of nginx container subject did not settle within 60 s"):
        LOAD.run(fake.stage, label="a-b1")
    assert 60 < fake.clock.now_s - began_s < 60.2
