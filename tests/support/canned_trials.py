"""A trial's record as the client prints it, with the figures that a test cares about."""

from collections.abc import Sequence
from typing import Any


def fast_record(
    total_ms: float, *, late_ms: float = 0.1, complete: bool = True, worker_pid: int | None = 11
) -> dict[str, Any]:
    """One fast request."""
    return {
        "at_ms": 0.0,
        "late_ms": late_ms,
        "connect_ms": 0.1,
        "first_byte_ms": 1.0 if worker_pid else None,
        "total_ms": total_ms,
        "body_bytes": 100 if complete else 40,
        "status": 200 if worker_pid else None,
        "worker_pid": worker_pid,
        "complete": complete,
    }


def raw_trial(
    *,
    lags_ms: tuple[Sequence[float], Sequence[float]] = ([1.0], [1.0]),
    late_ms: float = 0.1,
    bulk: Sequence[int] | None = None,
    ended_early: int = 0,
    fast_ms: Sequence[float] = (),
    baseline_ms: Sequence[float] = (),
    steal_pct: float = 0.0,
    measuring_s: float = 1.0,
) -> dict[str, Any]:
    """A whole trial.

    Args:
        lags_ms: Loop lags of both workers, in milliseconds.
        late_ms: Lag of the probe behind its own schedule, the same for every probe.
        bulk: Bytes that came through each worker in the window of 2 s; None without bulk downloads.
        ended_early: Bulk downloads that ended before the window did.
        fast_ms: Durations of the fast requests.
        baseline_ms: Durations of the unloaded ones.
        steal_pct: Stolen CPU time, in percent.
        measuring_s: Time in which was measured.
    """
    return {
        "trial": "arm-b1",
        "workers": [11, 12],
        "measure_s": 2.0,
        "measuring_s": measuring_s,
        "probe": [
            {"at_ms": [0.0] * len(lags), "late_ms": [late_ms] * len(lags), "lag_ms": list(lags), "missed_ticks": 0}
            for lags in lags_ms
        ],
        "bulk": None if bulk is None else {"worker_bytes": list(bulk), "ended_early": ended_early},
        "fast": [fast_record(total) for total in fast_ms],
        "baseline": [fast_record(total) for total in baseline_ms],
        "machine": {"busy_pct": 50.0, "steal_pct": steal_pct},
    }
