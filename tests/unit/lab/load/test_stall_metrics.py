"""The figures of a variant in the stall scenario."""

from dataclasses import replace

from tests.support import canned_turns
from tests.support.canned_trials import fast_request, observed, stall_record
from tuneproof.lab.load.stall_metrics import arm_metrics
from tuneproof.lab.protocol.turns import Turns


def test_a_variants_figures_are_medians_over_its_trials() -> None:
    trials = [
        observed(stall_record(lags_ms=([lag], [1.0]), bulk=(bulk, bulk)))
        for lag, bulk in ((20.0, 1000), (21.0, 2000), (9000.0, 3000))
    ]
    metrics = arm_metrics(trials)
    assert metrics["trials"] == 3
    assert (metrics["worker1_lag_p50_ms"], metrics["worker2_lag_p99_ms"]) == (21, 1)
    assert metrics["bulk_bytes_per_s"] == 2000, "both workers together, over a window of 2 s"
    assert metrics["busy_pct"] == 50
    assert (metrics["baseline_requests"], metrics["baseline_p50_ms"], metrics["fast_p99_ms"]) == (0, None, None)
    assert arm_metrics([]) == {"trials": 0}


def test_fast_requests_are_pooled_and_incomplete_ones_counted() -> None:
    first = stall_record(fast_ms=[10.0, 20.0, 30.0])
    second = replace(stall_record(), fast=(fast_request(1000.0, complete=False),))
    metrics = arm_metrics([observed(first), observed(second)])
    assert (metrics["fast_requests"], metrics["fast_incomplete"], metrics["fast_p50_ms"]) == (4, 1, 25)


def test_loop_iterations_are_reported_per_worker_as_medians_over_trials() -> None:
    """A trial may have no recorded iterations. A worker that read nothing has no bytes per iteration."""
    trials = []
    for read_bytes in (1000, 1200, 9_000_000):
        workers = (canned_turns.worker(11, read=[(67, 1, read_bytes)]), canned_turns.worker(12))
        turns = Turns(workers=workers)
        trials.append(observed(replace(stall_record(), turns=turns)))
    metrics = arm_metrics(trials)
    assert (metrics["worker1_turn_bytes_p50"], metrics["worker1_turns"]) == (1200, 1)
    assert (metrics["worker2_turn_bytes_p50"], metrics["worker2_turns"]) == (None, 0)
    assert "worker1_turns" not in arm_metrics([observed(stall_record())])
