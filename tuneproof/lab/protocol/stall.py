"""A trial of the stall, which is prepared before its window starts; images/client/loadgen/trial.py runs it.

Times are CLOCK_MONOTONIC seconds (clock_gettime(2)), which all containers on a kernel share: two programs that get the
same start have the same window, independent of the caller's clock.
"""

from dataclasses import dataclass

from tuneproof.lab.protocol.cpu_times import MachineShares


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The loads of one trial."""

    address: str
    port: int
    trial: str  # label, sent as X-Trial with every request
    workers: int  # all are found before the trial starts, unless it places no connections on workers
    bulk_per_worker: tuple[int, ...]  # bulk downloads placed on each worker, in ascending order of process id
    bulk_path: str
    fast_rate_hz: float  # fast requests started per second, each on a fresh connection; 0 for none
    fast_path: str
    fast_timeout_s: float  # connection included
    baseline_s: float  # unloaded phase before the bulk downloads, in which fast requests run one after another
    probe_interval_s: float  # between two probes of one worker
    measure_s: float  # length of the window in which samples count
    place_timeout_s: float  # longest time to find connections to the wanted workers
    probes: bool = True  # whether this program probes the workers; otherwise another program does


@dataclass(frozen=True, kw_only=True)
class ProbeSamples:
    """Samples of one worker, in order. All times are in milliseconds."""

    at_ms: tuple[float, ...] = ()  # actual sending, from the start of the window
    late_ms: tuple[float, ...] = ()  # actual minus intended sending: the generator's own lag
    lag_ms: tuple[float, ...] = ()  # arrival of the response minus actual sending: the worker's loop lag
    wake_ms: tuple[float, ...] = ()  # from a response's arrival until the client saw it: its CPU's lateness
    missed_ticks: int = 0  # ticks that passed while a response was outstanding


@dataclass(frozen=True, kw_only=True)
class FastRequest:
    """One fast request. Durations count from the actual start; None: the request did not get that far."""

    at_ms: float  # actual start, from the start of the phase (unloaded phase or window)
    late_ms: float  # actual minus intended start: the generator's own lag
    total_ms: float  # until the last byte, or until the request failed
    connect_ms: float | None = None
    first_byte_ms: float | None = None
    body_bytes: int = 0
    status: int | None = None
    worker_pid: int | None = None
    complete: bool = False  # the whole body of a 200 arrived in time


@dataclass(frozen=True, kw_only=True)
class BulkSamples:
    """The results of bulk downloads."""

    worker_bytes: tuple[int, ...]  # in the window, by worker in ascending order of process id
    ended_early: int  # downloads that ended before the window did


@dataclass(frozen=True, kw_only=True)
class Window:
    """The measurements in a trial's window, and in the unloaded phase before it."""

    workers: tuple[int, ...]  # process ids of the workers that were found, in ascending order
    measure_s: float
    measuring_s: float
    """The length of the unloaded phase and of the window, extended to the end of the fast requests that began in it."""
    machine: MachineShares  # of the window
    probe: tuple[ProbeSamples, ...] = ()  # by worker, in the order of ``workers``; none without probes
    bulk: BulkSamples | None = None
    fast: tuple[FastRequest, ...] = ()  # those that began in the window
    baseline: tuple[FastRequest, ...] = ()  # those of the unloaded phase


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """The result of a call to start a trial."""

    late_s: float = 0.0  # how late the call was, if it came too late
    window: Window | None = None  # None if the call came too late
