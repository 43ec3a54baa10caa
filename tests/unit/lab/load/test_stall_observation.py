"""The observation of a stall trial, made from its record."""

from dataclasses import replace

import pytest

from tests.support import canned_turns
from tests.support.canned_trials import fast_request, observed, stall_record
from tuneproof.lab.protocol.turns import Turns


def test_each_worker_has_the_percentiles_of_its_own_lags() -> None:
    """Workers are in the client's order. Percentiles are interpolated."""
    loaded, idle = observed(stall_record(lags_ms=(range(1, 101), [4.0]))).workers
    assert loaded.worker_pid == 11
    assert loaded.lag_p50_ms == pytest.approx(50.5)
    assert loaded.lag_p90_ms == pytest.approx(90.1)
    assert loaded.lag_p99_ms == pytest.approx(99.01)
    assert (idle.worker_pid, idle.lag_p50_ms, idle.lag_p99_ms) == (12, 4, 4)


def test_each_worker_has_its_own_loop_iterations() -> None:
    """The observer may list more workers than were probed, in another order; process ids match them."""
    workers = tuple(canned_turns.worker(pid, read=[(0, pid, 0)]) for pid in (12, 11, 13))
    record = replace(stall_record(), turns=Turns(workers=workers))
    assert [worker.turns and worker.turns.turns for worker in observed(record).workers] == [11, 12]
    assert [worker.turns for worker in observed(stall_record()).workers] == [None, None]


def test_a_worker_without_recorded_loop_iterations_is_an_error() -> None:
    """Another worker's iterations must not replace them."""
    turns = Turns(workers=(canned_turns.worker(11),))
    with pytest.raises(ValueError, match="worker 12 is not among those with recorded loop iterations"):
        observed(replace(stall_record(), turns=turns))


def test_bulk_bytes_are_divided_by_the_length_of_the_window() -> None:
    """The window lasts 2 s. Without downloads, each worker has zero, so that effects can sum the figures."""
    observation = observed(stall_record(bulk=(3_000_000, 0), steal_pct=3.0, measuring_s=1.25))
    assert (list(observation.bulk_bytes_per_s), observation.faults) == ([1_500_000, 0], ())
    assert (observation.busy_pct, observation.steal_pct, observation.measuring_s) == (50, 3, 1.25)
    without = observed(stall_record())
    assert (list(without.bulk_bytes_per_s), without.bulk_ended_early) == ([0, 0], 0)


def test_the_generators_lag_covers_probes_and_fast_requests() -> None:
    """A generator that is late with either measures its own lag."""
    record = stall_record(lags_ms=([1.0], [1.0]), late_ms=2.0)
    observation = observed(replace(record, fast=(fast_request(5.0, late_ms=10.0),)))
    assert observation.generator_lag_p50_ms == 2
    assert observation.generator_lag_p99_ms == pytest.approx(9.84)


def test_missing_values_of_a_fast_request_are_none() -> None:
    record = stall_record(baseline_ms=[3.0])
    observation = observed(replace(record, fast=(fast_request(1000.0, complete=False, worker_pid=None),)))
    (given_up,) = observation.fast
    assert (given_up.total_ms, given_up.worker_pid, given_up.first_byte_ms) == (1000, None, None)
    assert (given_up.complete, given_up.body_bytes) == (False, 40)
    assert [request.total_ms for request in observation.baseline] == [3.0]


def test_a_worker_without_any_response_has_no_lag() -> None:
    """The worker was blocked for the whole window."""
    answered, silent = observed(stall_record(lags_ms=([1.0], []))).workers
    assert answered.lag_p50_ms == 1
    assert (silent.lag_p50_ms, silent.lag_p99_ms) == (None, None)


def test_a_trial_with_downloads_that_ended_early_is_void_with_that_reason() -> None:
    """The load on the worker ended before the window did."""
    void = observed(stall_record(bulk=(10, 0), ended_early=1))
    assert (void.bulk_ended_early, void.faults) == (1, ("1 bulk downloads ended before the window did",))
