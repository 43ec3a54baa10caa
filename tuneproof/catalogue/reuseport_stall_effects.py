"""The effects of the claims about the reuseport stall: pure functions on observations."""

from collections.abc import Sequence
from typing import Final

from tuneproof.lab.load.stall_observation import StallObservation, WorkerLag, percentile
from tuneproof.lab.protocol.stall import FastRequest
from tuneproof.lab.protocol.turns import WorkerTurns

# A fast request counts as slow above this many times the unloaded median of the same trial.
SLOW_FACTOR: Final = 5.0


def slow(observation: StallObservation) -> float:
    """Return the share of fast requests that failed, or took over SLOW_FACTOR times the trial's unloaded median.

    Raises ValueError: The trial had no fast requests, or no unloaded ones.
    """
    limit_ms = SLOW_FACTOR * median_total_ms(observation.baseline)
    if not observation.fast:
        raise ValueError("no fast request in the window")
    count = sum(request.total_ms > limit_ms or not request.complete for request in observation.fast)
    return count / len(observation.fast)


def fed_to_loaded(observation: StallObservation) -> float:
    """Return the share of fast requests that go to worker 1, which carries the bulk downloads.

    A request without a response within its time limit counts as one that went to worker 1.

    Raises ValueError: The trial had no fast requests.
    """
    if not observation.fast:
        raise ValueError("no fast request in the window")
    idle = observation.workers[1].worker_pid
    return sum(request.worker_pid != idle for request in observation.fast) / len(observation.fast)


def median_total_ms(requests: Sequence[FastRequest]) -> float:
    """Return the median duration in milliseconds.

    Raises ValueError: There are no requests.
    """
    return percentile([request.total_ms for request in requests], 50)


def loaded_turns(observation: StallObservation) -> WorkerTurns:
    """Return the loop iterations of worker 1, which carries all bulk downloads if only one worker does.

    Raises ValueError: Its loop iterations were not recorded.
    """
    return _recorded(observation.workers[0])


def turn_bytes(observation: StallObservation) -> float:
    """Return how much a loop iteration of worker 1 reads: half of all bytes are from iterations of that size or more.

    Raises ValueError: Its loop iterations were not recorded, or it has read nothing.
    """
    return _known(loaded_turns(observation).turn_bytes_p50, "worker 1 has read nothing")


def turn_cpu_ms(observation: StallObservation) -> float:
    """Return the CPU time of a loop iteration of worker 1 in ms: half of it is from iterations of that time or more.

    Raises ValueError: Its loop iterations were not recorded, or it had no CPU time.
    """
    return _known(loaded_turns(observation).turn_cpu_p50_ms, "worker 1 had no CPU time")


def turn_wall_ms(observation: StallObservation) -> float:
    """Return the wall time of a loop iteration of worker 1 in ms: half of it is from iterations of that time or more.

    Unlike CPU time, it includes waits for a disk and for the CPU.

    Raises ValueError: Its loop iterations were not recorded, or it had none.
    """
    return _known(loaded_turns(observation).turn_wall_p50_ms, "worker 1 had no loop iteration")


def stall(observation: StallObservation) -> float:
    """Return the CPU time of a loop iteration of worker 1 ÷ that of the idle worker next to it.

    Raises ValueError: Loop iterations were not recorded, or a worker had no CPU time.
    """
    idle_ms = _known(_recorded(observation.workers[1]).turn_cpu_p50_ms, "the idle worker had no CPU time")
    return turn_cpu_ms(observation) / idle_ms


def _recorded(worker: WorkerLag) -> WorkerTurns:
    if worker.turns is None:
        raise ValueError(f"the loop iterations of worker {worker.worker_pid} were not recorded")
    return worker.turns


def _known(figure: float | None, otherwise: str) -> float:
    if figure is None:
        raise ValueError(otherwise)
    return figure


def largest_turn_bytes(observation: StallObservation) -> float:
    """Return how much the largest loop iteration of worker 1 read, rounded up by at most an eighth.

    Raises ValueError: Its loop iterations were not recorded, or it has read nothing.
    """
    largest = loaded_turns(observation).largest_turn_bytes
    if not largest:
        raise ValueError("worker 1 has read nothing")
    return largest
