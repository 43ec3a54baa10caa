"""The nginx of a counting trial: its figures and logs, waiting for its workers, and ending them."""

import pytest

from tests.support.counted_trial import TrialLab, rig, worker
from tests.support.fake_stage import following
from tuneproof.lab.load import stage, trial_nginx
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.load.trial_nginx import CallCounts
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.protocol.observer import Calls
from tuneproof.lab.protocol.serving import CannotDoError
from tuneproof.lab.protocol.turns import Turns
from tuneproof.lab.subject.config import ERROR_LOG_PATH


def test_the_workers_are_idle_when_all_sleep_and_none_has_run() -> None:
    """A worker that sleeps at two readings may have run in between."""
    lab = TrialLab()
    states = [(0.1, False), (0.2, True), (0.3, True), (0.3, False), (0.3, True), (0.9, True)]
    lab.workers = [(worker(7, run_s=run_s, is_asleep=asleep),) for run_s, asleep in states]
    rig(lab).rest()
    assert len(lab.workers) == 1, "at the fifth reading, the worker sleeps, and has not run since the fourth"


def test_a_number_is_steady_after_several_readings_without_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker with work to do may still change the number."""
    monkeypatch.setattr(trial_nginx, "_BETWEEN_READINGS_S", 0.0)
    lab = TrialLab()
    busy, asleep = worker(7, is_asleep=False), worker(7)
    lab.workers = [*[(busy,)] * 20, (asleep,)]
    readings = [5] * 20 + [7] * 30
    assert rig(lab).steady(lambda: readings.pop(0)) == 7
    assert len(readings) == 30 - 10, (
        "read 7 ten times: first, then while the worker was busy, then eight times while it slept"
    )


def test_loop_iterations_are_recorded_from_now_on_by_the_observers_clock() -> None:
    assert rig(TrialLab()).turns(3.0) == Turns(workers=())


def test_the_system_calls_during_an_action_are_counted() -> None:
    counts = rig(TrialLab()).calls(lambda: None)
    assert counts["read"] == Calls(made=7, failed=1)
    several = CallCounts({"read": counts["read"], "write": Calls(made=3)})
    assert (several.made("read"), several.made()) == (7, 10)


def test_a_condition_that_never_becomes_true_is_an_error_with_nginxs_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "PATIENCE_S", 0.0)
    with pytest.raises(VoidTrialError, match="nginx container subject did not start 2 workers") as caught:
        rig(TrialLab()).settle(2)
    assert "failed" in str(caught.value)


def test_the_script_waits_until_nginx_has_set_its_process_title() -> None:
    """Until then, the observer does not find nginx."""
    lab = TrialLab()
    lab.workers[:0] = [CannotDoError("no process here")]
    rig(lab).settle(1)
    assert len(lab.workers) == 1


def test_logs_and_settings_are_read() -> None:
    """The supervisor reads the logs of its nginx; the engine reads those of an nginx that runs as long as the lab."""
    lab = TrialLab()
    assert Rig(lab.stage, configuration="").error_log() == f"fetched {ERROR_LOG_PATH}"
    assert rig(lab).access_log() == [{"uri": "/", "status": "200"}]
    assert rig(lab).error_log() == "failed"
    assert rig(lab).sysctl("some") is not None
    assert rig(lab).sysctl("none") is None


def test_a_log_is_read_until_it_has_all_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nginx logs a request after its response."""
    trial = rig(TrialLab())
    line = {"uri": "/"}
    monkeypatch.setattr(trial, "access_log", iter([[], [line], [line] * 2, []]).__next__)
    assert trial.logged(2) == [line] * 2


def test_a_signal_is_handled_before_the_script_continues() -> None:
    lab = TrialLab()
    polls = iter([False, True])
    lab.observer.masters_wait = polls.__next__
    trial = rig(lab)
    trial.edit("s/4/2/")
    trial.signal("HUP")
    assert lab.did == [("edit", "s/4/2/"), "HUP master"]
    assert list(polls) == [], "the master handles the signal by the second poll"


def test_the_script_waits_until_old_workers_have_finished_or_are_gone() -> None:
    """A worker that is shutting down but still works has not finished. New workers do not matter."""
    working, leaving, new = (
        (worker(pid, is_leaving=is_leaving, is_asleep=is_asleep),)
        for pid, is_leaving, is_asleep in ((7, True, False), (7, True, True), (8, False, True))
    )
    lab = TrialLab()
    lab.workers = [working, leaving, new]
    rig(lab).until_they_leave({7})
    assert lab.workers == [new]
    lab.workers = [working, leaving, new]
    rig(lab).until_they_are_gone({7})
    assert lab.workers == [new]


def test_the_script_continues_once_killed_workers_are_replaced() -> None:
    """For a moment, there is no worker."""
    lab = TrialLab()
    old, new = worker(7), worker(8)
    lab.workers = [(old,), (old,), CannotDoError("no worker"), (old, new), (new,), (new,)]
    rig(lab).kill_workers("KILL")
    assert lab.did == ["KILL workers"]
    assert following(lab.workers) == (new,)


@pytest.mark.parametrize("refuses", ["", "bind() failed"])
def test_the_reason_is_reported_if_a_second_nginx_does_not_start(refuses: str) -> None:
    lab = TrialLab()
    lab.refuses = refuses
    assert rig(lab).start_another() == refuses
    assert lab.did == [("/etc/subject/arm.conf", "")]
