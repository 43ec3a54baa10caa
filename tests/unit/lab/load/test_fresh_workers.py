"""New workers before a trial: nginx reloads, and the trial waits until only new workers exist."""

import pytest

from tests.support.fake_stage import FakeStage, worker
from tuneproof.lab.load import waiting
from tuneproof.lab.load.observer import WorkerFigures
from tuneproof.lab.load.trial_nginx import TrialNginx
from tuneproof.lab.load.waiting import VoidTrialError

OLD = (worker(11), worker(12))
NEW = (worker(31), worker(32))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStage:
    fake = FakeStage()
    fake.clock.replace_in(monkeypatch, waiting)
    fake.workers = [OLD]
    return fake


def test_nginx_reloads_and_the_new_workers_are_awaited(fake: FakeStage) -> None:
    """Old workers that are shutting down still use memory, and missing new workers do not use any yet."""
    fake.workers = [OLD, OLD, (*OLD, *NEW), (OLD[1], *NEW), (OLD[1], NEW[0]), NEW[:1], NEW, OLD]
    TrialNginx(fake.stage, configuration="").fresh_workers()
    assert fake.did == ["workers", "HUP master", *["workers"] * 6]
    assert fake.workers == [OLD], "there should be no further reading"


def test_old_workers_are_killed_once_they_announce_their_exit(fake: FakeStage) -> None:
    """Before that, the master would replace them. Without a signal, they may wait a minute for clients that left."""
    leaving = worker(12, is_leaving=True)
    fake.workers = [OLD, (*OLD, *NEW), (OLD[0], leaving, *NEW), (leaving, *NEW), NEW]
    TrialNginx(fake.stage, configuration="").fresh_workers()
    assert fake.did[2:] == ["workers", "workers", "TERM leaving", "workers", "TERM leaving", "workers"]


@pytest.mark.parametrize("there", [OLD, NEW[:1]], ids=["old-workers", "one-missing"])
def test_an_incomplete_reload_makes_the_trial_void_and_shows_nginxs_last_lines(
    there: tuple[WorkerFigures, ...], fake: FakeStage
) -> None:
    """In old workers, a trial would measure leftovers of earlier trials. The number of workers must not change."""
    fake.workers = [OLD, there]
    began_s = fake.clock.now_s
    with pytest.raises(VoidTrialError) as caught:
        TrialNginx(fake.stage, configuration="").fresh_workers()
    assert caught.value.what == "nginx container subject did not replace its workers within 60 s"
    assert caught.value.tail == "the end of the subject's log"
    assert 60 < fake.clock.now_s - began_s < 60.1
