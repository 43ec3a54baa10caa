"""From the client's record to an observation."""

import pytest

from tests.support import canned_turns
from tests.support.canned_trials import fast_record, raw_trial
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.load.stall_observation import StallObservation, percentile


def test_each_worker_has_the_percentiles_of_its_own_lags() -> None:
    """Workers keep the client's order; percentiles are interpolated."""
    raw = raw_trial(lags_ms=(range(1, 101), [4.0]))
    raw["probe"][0]["missed_ticks"] = 9
    loaded, idle = StallObservation.from_json(raw).workers
    assert (loaded.worker_pid, loaded.probes, loaded.missed_ticks) == (11, 100, 9)
    assert loaded.lag_p50_ms == pytest.approx(50.5)
    assert loaded.lag_p90_ms == pytest.approx(90.1)
    assert loaded.lag_p99_ms == pytest.approx(99.01)
    assert (idle.worker_pid, idle.lag_p50_ms, idle.lag_p99_ms) == (12, 4, 4)


def test_each_worker_has_its_own_turns() -> None:
    """By process id: the observer may know of more workers than were probed, in another order."""
    workers = [canned_turns.raw_worker(pid, read=[[0, pid, 0]]) for pid in (12, 11, 13)]
    raw = {**raw_trial(), "turns": {"workers": workers, "start_s": 1.0, "end_s": 2.0}}
    assert [worker.turns and worker.turns.turns for worker in StallObservation.from_json(raw).workers] == [11, 12]
    assert [worker.turns for worker in StallObservation.from_json(raw_trial()).workers] == [None, None]


def test_a_worker_whose_turns_were_not_recorded_is_an_error() -> None:
    """Another one's would tell of something else."""
    turns = {"workers": [canned_turns.raw_worker(11)], "start_s": 1.0, "end_s": 2.0}
    with pytest.raises(ValueError, match="worker 12 is not among those whose turns were recorded"):
        StallObservation.from_json({**raw_trial(), "turns": turns})


def test_bulk_bytes_are_per_second_of_the_window() -> None:
    """The window has 2 s."""
    observation = StallObservation.from_json(raw_trial(bulk=(3_000_000, 0), ended_early=1))
    assert list(observation.bulk_bytes_per_s) == [1_500_000, 0]
    assert observation.bulk_ended_early == 1


def test_without_bulk_downloads_no_worker_carried_any() -> None:
    """Zero bytes per worker, so that an effect can sum them all the same."""
    observation = StallObservation.from_json(raw_trial())
    assert list(observation.bulk_bytes_per_s) == [0, 0]
    assert observation.bulk_ended_early == 0


def test_the_generators_lag_is_that_of_probes_and_fast_requests_together() -> None:
    """A generator that is late with either measures itself."""
    raw = raw_trial(lags_ms=([1.0], [1.0]), late_ms=2.0)
    raw["fast"] = [fast_record(5.0, late_ms=10.0)] * 3
    observation = StallObservation.from_json(raw)
    assert observation.generator_lag_p50_ms == 10
    assert observation.generator_lag_p99_ms == 10


def test_a_fast_request_keeps_what_is_missing_as_none() -> None:
    """No worker, no first byte: neither is a zero."""
    raw = raw_trial(baseline_ms=[3.0])
    raw["fast"] = [fast_record(1000.0, complete=False, worker_pid=None)]
    observation = StallObservation.from_json(raw)
    (given_up,) = observation.fast
    assert (given_up.total_ms, given_up.worker_pid, given_up.first_byte_ms) == (1000, None, None)
    assert (given_up.complete, given_up.body_bytes) == (False, 40)
    assert [request.total_ms for request in observation.baseline] == [3.0]


def test_a_worker_without_any_answer_has_no_lag() -> None:
    """It stood still for the whole window: the trial still counts for what its turns did."""
    answered, silent = StallObservation.from_json(raw_trial(lags_ms=([1.0], []))).workers
    assert (answered.lag_p50_ms, answered.probes) == (1.0, 1)
    assert (silent.lag_p50_ms, silent.lag_p99_ms, silent.probes) == (None, None, 0)


def test_machine_and_time_are_taken_over() -> None:
    """The rules that void a trial read them."""
    observation = StallObservation.from_json(raw_trial(steal_pct=3.0, measuring_s=1.25))
    assert (observation.busy_pct, observation.steal_pct, observation.measuring_s) == (50, 3, 1.25)


def test_a_trial_whose_downloads_ended_early_does_not_count_and_says_so() -> None:
    """Its worker was not loaded to the end."""
    assert StallObservation.from_json(raw_trial(bulk=(10, 0))).faults == ()
    spoilt = StallObservation.from_json(raw_trial(bulk=(10, 0), ended_early=2))
    assert spoilt.faults == ("2 bulk downloads ended before the window did",)


def test_a_percentile_lies_between_its_neighbours() -> None:
    """Linear interpolation, and the ends are the extremes."""
    assert [percentile([1.0, 3.0], rank) for rank in (0, 50, 100)] == [1, 2, 3]


def test_taking_the_pathology_away_changes_nothing_but_the_bulk_downloads() -> None:
    """The control runs the same trial otherwise."""
    plan = StallLoad(workers=3, bulk_per_worker=(4, 0, 4), fast_rate_hz=15, baseline_s=0.25)
    assert plan.without_bulk() == StallLoad(workers=3, bulk_per_worker=(0, 0, 0), fast_rate_hz=15, baseline_s=0.25)
