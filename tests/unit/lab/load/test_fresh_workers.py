"""New workers before a trial: a reload, and waiting until only they are there."""

import pytest

from tests.support.fake_stage import FakeStage, worker
from tuneproof.lab.load import waiting
from tuneproof.lab.load.fresh_workers import start_fresh_workers
from tuneproof.lab.load.observer import WorkerFigures
from tuneproof.lab.load.waiting import VoidTrialError

OLD = (worker(11), worker(12))
NEW = (worker(31), worker(32))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStage:
    """A subject with two workers, which stay."""
    fake = FakeStage()
    fake.clock.replace_in(monkeypatch, waiting)
    fake.workers = [OLD]
    return fake


def test_nginx_reloads_and_the_new_workers_are_waited_for(fake: FakeStage) -> None:
    """An old one that still shuts down has its memory, and one that is not there yet will have some."""
    fake.workers = [OLD, OLD, (*OLD, *NEW), (OLD[1], *NEW), (OLD[1], NEW[0]), NEW[:1], NEW, OLD]
    start_fresh_workers(fake.stage)
    assert fake.did == ["workers", "reload", *["workers"] * 6]
    assert fake.workers == [OLD], "no further reading was needed"


@pytest.mark.parametrize("there", [OLD, NEW[:1]], ids=["old-ones", "one-less"])
def test_workers_that_stay_are_an_error_with_nginxs_last_words(
    there: tuple[WorkerFigures, ...], fake: FakeStage
) -> None:
    """A trial against old workers would measure what earlier ones left; and as many as before are compared."""
    fake.workers = [OLD, there]
    began_s = fake.clock.now_s
    with pytest.raises(VoidTrialError) as caught:
        start_fresh_workers(fake.stage)
    assert caught.value.what == "subject subject did not replace its workers within 75 s"
    assert caught.value.tail == "the subject's last words"
    assert 75 < fake.clock.now_s - began_s < 75.1
