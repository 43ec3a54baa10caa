"""The stall's trial: prepared first, then told when its window begins. images/client/loadgen/trial.py runs it.

Times are CLOCK_MONOTONIC seconds (clock_gettime(2)), which all containers of a kernel share: two programs that are
given the same start work on one time line, whatever the clock of the machine that asks them.
"""

from dataclasses import dataclass

from tuneproof.lab.protocol.cpu_times import MachineShares
from tuneproof.lab.protocol.messages import Question


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A trial that only waits for its start.

    Attributes:
        ready_s: When that was so.
    """

    ready_s: float


@dataclass(frozen=True, kw_only=True)
class Prepare(Question[Prepared]):
    """Run the unloaded phase, and place the connections of one trial.

    Attributes:
        address: IPv4 address of the subject.
        port: TCP port of the subject.
        trial: Label of the trial; sent as X-Trial with every request.
        workers: Number of nginx workers; all are found before the trial starts, unless nothing is asked of single ones.
        bulk_per_worker: Number of bulk downloads placed on each worker, in ascending order of process id.
        bulk_path: Path of the bulk file.
        fast_rate_hz: Fast requests started per second, each on a fresh connection; 0 for none.
        fast_path: Path of the small file.
        fast_timeout_s: Time limit of a fast request, connection included.
        baseline_s: Length of an unloaded phase before the bulk downloads, in which fast requests run one after another.
        probe_interval_s: Time between two probes of one worker.
        measure_s: Length of the window in which samples count.
        place_timeout_s: Longest time to find the connections to the wanted workers.
        probes: Whether this program probes the workers (default: yes); otherwise another one does meanwhile.
    """

    address: str
    port: int
    trial: str
    workers: int
    bulk_per_worker: tuple[int, ...]
    bulk_path: str
    fast_rate_hz: float
    fast_path: str
    fast_timeout_s: float
    baseline_s: float
    probe_interval_s: float
    measure_s: float
    place_timeout_s: float
    probes: bool = True


@dataclass(frozen=True, kw_only=True)
class ProbeSamples:
    """Samples of one worker, in order. All times in milliseconds.

    Attributes:
        at_ms: Actual sending, from the start of the window.
        late_ms: Actual minus intended sending: the generator's own lag.
        lag_ms: Arrival of the answer minus actual sending: the worker's loop lag.
        wake_ms: From an answer's arrival until the client saw it: what its own CPU was late by.
        missed_ticks: Ticks that passed while an answer was outstanding.
        left_out: Probes that are not in here, because a gap of the client's CPU hit their sending.
    """

    at_ms: tuple[float, ...] = ()
    late_ms: tuple[float, ...] = ()
    lag_ms: tuple[float, ...] = ()
    wake_ms: tuple[float, ...] = ()
    missed_ticks: int = 0
    left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class FastRequest:
    """One fast request. Times in milliseconds from the actual start; None where it did not come that far.

    Attributes:
        at_ms: Actual start, from the start of the window.
        late_ms: Actual minus intended start: the generator's own lag.
        total_ms: Until the last byte, or until the request was given up.
        connect_ms: Until the connection stood.
        first_byte_ms: Until the first byte of the response.
        body_bytes: Bytes of the body that arrived.
        status: Status of the response.
        worker_pid: Worker that answered.
        complete: The whole body of a 200 arrived in time.
    """

    at_ms: float
    late_ms: float
    total_ms: float
    connect_ms: float | None = None
    first_byte_ms: float | None = None
    body_bytes: int = 0
    status: int | None = None
    worker_pid: int | None = None
    complete: bool = False


@dataclass(frozen=True, kw_only=True)
class BulkSamples:
    """What bulk downloads brought.

    Attributes:
        worker_bytes: Bytes that arrived in the window, by worker in ascending order of process id.
        ended_early: Downloads that ended before the window did.
    """

    worker_bytes: tuple[int, ...]
    ended_early: int


@dataclass(frozen=True, kw_only=True)
class Window:
    """What was seen in a trial's window, and in the unloaded phase before it.

    Attributes:
        workers: Process ids of the workers that were found, in ascending order.
        measure_s: Length of the window.
        measuring_s: The unloaded phase, and the window up to the end of the last fast request that began in it.
        machine: What the machine's CPUs did in the window.
        probe: Samples by worker, in the same order; none where nobody probed.
        bulk: None without bulk downloads.
        fast: Fast requests that began in the window.
        baseline: Fast requests of the unloaded phase.
    """

    workers: tuple[int, ...]
    measure_s: float
    measuring_s: float
    machine: MachineShares
    probe: tuple[ProbeSamples, ...] = ()
    bulk: BulkSamples | None = None
    fast: tuple[FastRequest, ...] = ()
    baseline: tuple[FastRequest, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Went:
    """What became of a window.

    Attributes:
        late_s: How long it had begun already when it was asked for: then nothing was run.
        window: What was seen in it; None where it was not run.
    """

    late_s: float = 0.0
    window: Window | None = None


@dataclass(frozen=True, kw_only=True)
class Go(Question[Went]):
    """Start the bulk downloads of the prepared trial at once, and run its window to the end.

    Attributes:
        start_s: Start of the window.
    """

    start_s: float
