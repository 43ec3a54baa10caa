"""Records of stall trials with figures from a test."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tuneproof.lab.load.base import Outcome
from tuneproof.lab.load.stall_observation import StallObservation, StallRecord
from tuneproof.lab.protocol.cpu_times import MachineShares
from tuneproof.lab.protocol.stall import BulkSamples, FastRequest, ProbeSamples, Window

_NO_FILES: Mapping[str, bytes] = MappingProxyType({})


def fast_request(
    total_ms: float, *, late_ms: float = 0.1, complete: bool = True, worker_pid: int | None = 11
) -> FastRequest:
    return FastRequest(
        at_ms=0.0,
        late_ms=late_ms,
        connect_ms=0.1,
        first_byte_ms=1.0 if worker_pid else None,
        total_ms=total_ms,
        body_bytes=100 if complete else 40,
        status=200 if worker_pid else None,
        worker_pid=worker_pid,
        complete=complete,
    )


def stall_record(
    *,
    lags_ms: tuple[Sequence[float], Sequence[float]] = ([1.0], [1.0]),
    late_ms: float = 0.1,
    bulk: Sequence[int] | None = None,
    ended_early: int = 0,
    fast_ms: Sequence[float] = (),
    baseline_ms: Sequence[float] = (),
    steal_pct: float = 0.0,
    measuring_s: float = 1.0,
) -> StallRecord:
    """Return a whole trial of two workers over a window of 2 s; without ``bulk``, there are no bulk downloads."""
    return StallRecord(
        workers=(11, 12),
        measure_s=2.0,
        measuring_s=measuring_s,
        probe=tuple(
            ProbeSamples(
                at_ms=(0.0,) * len(lags), late_ms=(late_ms,) * len(lags), lag_ms=tuple(float(lag) for lag in lags)
            )
            for lags in lags_ms
        ),
        bulk=None if bulk is None else BulkSamples(worker_bytes=tuple(bulk), ended_early=ended_early),
        fast=tuple(fast_request(total) for total in fast_ms),
        baseline=tuple(fast_request(total) for total in baseline_ms),
        machine=MachineShares(busy_pct=50.0, steal_pct=steal_pct),
    )


def window_of(record: StallRecord) -> Window:
    """Return the client program's part of a trial's record."""
    seen = {name: getattr(record, name) for name in Window.__dataclass_fields__}
    return Window(**seen)


def outcome(record: StallRecord, *, files: Mapping[str, bytes] = _NO_FILES) -> Outcome[StallRecord]:
    return Outcome(record=record, measuring_s=record.measuring_s, steal_pct=record.machine.steal_pct, files=files)


def observed(record: StallRecord) -> StallObservation:
    return StallObservation.of(outcome(record))
