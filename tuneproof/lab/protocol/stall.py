"""The stall's trial: prepared first, then told when its window begins. images/client/loadgen/trial.py runs it.

Times are CLOCK_MONOTONIC seconds (clock_gettime(2)), which all containers of a kernel share: two programs that are
given the same start work on one time line, whatever the clock of the machine that asks them.
"""

from dataclasses import dataclass

from tuneproof.lab.protocol.cpu_times import MachineShares


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The loads of one trial."""

    address: str
    port: int
    trial: str  # label, sent as X-Trial with every request
    workers: int  # all are found before the trial starts, unless nothing is asked of single ones
    bulk_per_worker: tuple[int, ...]  # bulk downloads placed on each worker, in ascending order of process id
    bulk_path: str
    fast_rate_hz: float  # fast requests started per second, each on a fresh connection; 0 for none
    fast_path: str
    fast_timeout_s: float  # connection included
    baseline_s: float  # unloaded phase before the bulk downloads, in which fast requests run one after another
    probe_interval_s: float  # between two probes of one worker
    measure_s: float  # the window in which samples count
    place_timeout_s: float  # longest time to find the connections to the wanted workers
    probes: bool = True  # whether this program probes the workers; otherwise another one does meanwhile


@dataclass(frozen=True, kw_only=True)
class ProbeSamples:
    """Samples of one worker, in order. All times in milliseconds."""

    at_ms: tuple[float, ...] = ()  # actual sending, from the start of the window
    late_ms: tuple[float, ...] = ()  # actual minus intended sending: the generator's own lag
    lag_ms: tuple[float, ...] = ()  # arrival of the answer minus actual sending: the worker's loop lag
    wake_ms: tuple[float, ...] = ()  # from an answer's arrival until the client saw it: what its CPU was late by
    missed_ticks: int = 0  # ticks that passed while an answer was outstanding
    left_out: int = 0  # probes that are not in here, because a gap of the client's CPU hit their sending


@dataclass(frozen=True, kw_only=True)
class FastRequest:
    """One fast request. Times in milliseconds from the actual start; None where it did not come that far."""

    at_ms: float  # actual start, from the start of the window
    late_ms: float  # actual minus intended start: the generator's own lag
    total_ms: float  # until the last byte, or until the request was given up
    connect_ms: float | None = None
    first_byte_ms: float | None = None
    body_bytes: int = 0
    status: int | None = None
    worker_pid: int | None = None
    complete: bool = False  # the whole body of a 200 arrived in time


@dataclass(frozen=True, kw_only=True)
class BulkSamples:
    """What bulk downloads brought."""

    worker_bytes: tuple[int, ...]  # in the window, by worker in ascending order of process id
    ended_early: int  # downloads that ended before the window did


@dataclass(frozen=True, kw_only=True)
class Window:
    """What was seen in a trial's window, and in the unloaded phase before it."""

    workers: tuple[int, ...]  # process ids of those that were found, in ascending order
    measure_s: float
    measuring_s: float
    """The unloaded phase, and the window up to the end of the last fast request that began in it."""
    machine: MachineShares  # what its CPUs did in the window
    probe: tuple[ProbeSamples, ...] = ()  # by worker, in the same order; none where nobody probed
    bulk: BulkSamples | None = None
    fast: tuple[FastRequest, ...] = ()  # those that began in the window
    baseline: tuple[FastRequest, ...] = ()  # those of the unloaded phase


@dataclass(frozen=True, kw_only=True)
class Went:
    """What became of a window; one that had begun long before it was asked for was not run."""

    late_s: float = 0.0
    window: Window | None = None
