"""The memory of new workers is read after a reload, once it no longer changes."""

from dataclasses import replace

import pytest

from tests.support.fake_stage import MIB, FakeStage, worker
from tuneproof.catalogue.worker_connections import ARMS
from tuneproof.lab.load import waiting
from tuneproof.lab.load.observer import WorkerFigures
from tuneproof.lab.load.waiting import VoidTrialError

LOAD = ARMS[0].plan
OLD = (worker(11), worker(12))


def new(*anon_bytes: int) -> tuple[WorkerFigures, ...]:
    return tuple(worker(30 + place, rss_anon_bytes=size) for place, size in enumerate(anon_bytes))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStage:
    """Return a stage with new workers that grow for a while."""
    fake = FakeStage()
    fake.clock.replace_in(monkeypatch, waiting)
    # The readings: before the reload, when the new workers exist, and while they fill their tables. The memory is
    # the same in two readings, which are too few (the third ``paused`` shows that the workers sleep).
    paused = new(2 * MIB, 0)
    fake.workers = [OLD, new(0, 0), new(1 * MIB, 0), paused, paused, paused, new(3 * MIB, 2 * MIB)]
    return fake


def rss_bytes(fake: FakeStage) -> float:
    return LOAD.observe(LOAD.run(fake.stage, label="a-b1"))["rss_bytes"]


def test_the_memory_of_new_workers_is_read_once_it_has_settled(fake: FakeStage) -> None:
    """The memory of all workers is added up once three successive readings are equal."""
    assert rss_bytes(fake) == 5 * MIB
    assert fake.did[:4] == ["workers", "HUP master", "workers", "workers"]


def test_a_worker_that_waits_for_a_cpu_has_not_settled(fake: FakeStage) -> None:
    """The worker's memory does not change while it waits."""
    waiting = tuple(replace(one, is_asleep=False) for one in new(2 * MIB, MIB))
    fake.workers = [OLD, new(0, 0), *[waiting] * 20, new(3 * MIB, 2 * MIB)]
    assert rss_bytes(fake) == 5 * MIB


def test_memory_that_never_settles_makes_the_trial_void(fake: FakeStage) -> None:
    """Any reading would be arbitrary."""
    fake.workers = [OLD, *[new(size, 0) for size in range(4000)]]
    began_s = fake.clock.now_s
    with pytest.raises(VoidTrialError, match="nginx container subject did not become idle within 60 s"):
        rss_bytes(fake)
    assert 60 < fake.clock.now_s - began_s < 60.2
