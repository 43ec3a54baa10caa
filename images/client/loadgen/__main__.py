"""``python3 -m loadgen`` runs trials that are asked for on its standard input, two lines of JSON each.

``{"prepare": <TrialSpec>}`` runs the unloaded phase and places the connections; the answer is ``{"ready_s": <when that
was done>, "took_s": <how long it took>}``. ``{"go": {"start_s": <start of the window>}}`` starts the bulk downloads at
once and runs the window to its end; the answer is everything that was seen. A window that began long before it was
asked for is not run: the answer is ``{"late_s": <how long>}``, and the trial can be prepared again.

Times are CLOCK_MONOTONIC seconds (clock_gettime(2)), which all containers of a kernel share: two programs that are
given the same start work on one time line, whatever the clock of the machine that asks them.
"""

import itertools
import json
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from . import http1
from .background import Background
from .bulk import download
from .fast import FastClient
from .machine import CpuTimes
from .placement import place
from .probe import probe
from .spec import TrialSpec

# A window that began so long before it was asked for has lost too much of itself to count.
_LATEST_S = 0.1
# At the end the rest of the downloads may still stand in a slow link's queue, in front of the worker's answer.
_LAST_ANSWER_TIMEOUT_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A trial that only waits for its start.

    Attributes:
        spec: The trial.
        baseline: Fast requests of the unloaded phase.
        placed: Connections by worker process id: one for questions (see :func:`prepare`), then the bulk downloads'.
    """

    spec: TrialSpec
    baseline: list[dict[str, Any]]
    placed: dict[int, list[socket.socket]]


def _fast_open_loop(spec: TrialSpec, *, start_s: float, end_s: float) -> list[dict[str, Any]]:
    client = _fast_client(spec, origin_s=start_s)
    client.run_open_loop((start_s + tick / spec.fast_rate_hz for tick in itertools.count()), end_s=end_s)
    return [asdict(record) for record in client.records]


def _fast_baseline(spec: TrialSpec) -> list[dict[str, Any]]:
    start_s = time.monotonic()
    client = _fast_client(spec, origin_s=start_s)
    client.run_one_after_another(end_s=start_s + spec.baseline_s)
    return [asdict(record) for record in client.records]


def _fast_client(spec: TrialSpec, *, origin_s: float) -> FastClient:
    request = http1.get(spec.fast_path, host=spec.address, trial=spec.trial, keep_alive=False)
    return FastClient(spec.address, spec.port, request=request, timeout_s=spec.fast_timeout_s, origin_s=origin_s)


def _bulk(spec: TrialSpec, placed: list[list[socket.socket]], *, start_s: float, end_s: float) -> dict[str, Any]:
    request = http1.get(spec.bulk_path, host=spec.address, trial=spec.trial)
    samples = download([item for group in placed for item in group], request=request, start_s=start_s, end_s=end_s)
    counts = iter(samples.window_bytes)
    return {
        "worker_bytes": [sum(itertools.islice(counts, len(group))) for group in placed],
        "ended_early": samples.ended_early,
    }


def prepare(spec: TrialSpec) -> Prepared:
    """Run the unloaded phase, then place the connections; nothing is placed if neither probes nor downloads need it.

    Raises:
        PlacementError: The workers were not reached in time.
        OSError: Nobody listens there.
    """
    baseline = _fast_baseline(spec) if spec.baseline_s else []
    # The probe's connection comes first. A worker with bulk downloads has one even without probes: for the end.
    per_worker = tuple(count + 1 if spec.probes or count else 0 for count in spec.bulk_per_worker)
    placed = {}
    if any(per_worker):
        placed = place(
            spec.address,
            spec.port,
            workers=spec.workers,
            per_worker=per_worker,
            trial=spec.trial,
            timeout_s=spec.place_timeout_s,
        )
    return Prepared(spec=spec, baseline=baseline, placed=placed)


def measure(prepared: Prepared, *, start_s: float) -> dict[str, Any]:
    """Start the bulk downloads, run all loads in the window from ``start_s`` on; return everything that was seen.

    A window that began long ago is not run, and nothing has been loaded then: the question came late, as it does on a
    busy host.

    Raises:
        ChildProcessError: A load failed.
        ConnectionError: A worker closed a probe's connection, or did not answer.
    """
    spec = prepared.spec
    late_s = time.monotonic() - start_s
    if late_s > _LATEST_S:
        for connection in itertools.chain.from_iterable(prepared.placed.values()):
            connection.close()
        return {"late_s": late_s}
    end_s = start_s + spec.measure_s
    first = {pid: connections[0] for pid, connections in prepared.placed.items() if connections}
    bulk_connections = [connections[1:] for connections in prepared.placed.values()]
    children: dict[str, Background] = {}
    if any(bulk_connections):
        children["bulk"] = Background(lambda: _bulk(spec, bulk_connections, start_s=start_s, end_s=end_s))
        for connection in itertools.chain.from_iterable(bulk_connections):
            connection.close()
    if spec.fast_rate_hz:
        children["fast"] = Background(lambda: _fast_open_loop(spec, start_s=start_s, end_s=end_s))
    _sleep_until(start_s)
    before = CpuTimes.read()
    request = http1.get("/probe", host=spec.address, trial=spec.trial)
    samples = {}
    if spec.probes:
        samples = probe(first, start_s=start_s, end_s=end_s, interval_s=spec.probe_interval_s, request=request)
    _sleep_until(end_s)
    machine = CpuTimes.read().since(before)
    results = {name: child.result() for name, child in children.items()}
    # Fast requests that began in the window are followed to their end.
    loaded_s = time.monotonic() - start_s
    # A worker that drops a bulk download's temporary file is busy for a while: the next trial must not pay for it. The
    # question goes the way of the downloads, behind their end: over another link it could overtake it.
    for connection in first.values():
        connection.settimeout(_LAST_ANSWER_TIMEOUT_S)
        http1.exchange(connection, request)
        connection.close()
    return {
        "trial": spec.trial,
        "workers": list(prepared.placed),
        "measure_s": spec.measure_s,
        "measuring_s": spec.baseline_s + loaded_s,
        "probe": [asdict(item) for item in samples.values()],
        "bulk": results.get("bulk"),
        "fast": results.get("fast", []),
        "baseline": prepared.baseline,
        "machine": machine,
    }


def answers(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Answer each line with an object, until the lines end.

    Raises:
        KeyError: The lines are not ``prepare`` and ``go`` in turn.
    """
    for line in lines:
        began_s = time.monotonic()
        prepared = prepare(TrialSpec.from_json(json.loads(line)["prepare"]))
        ready_s = time.monotonic()
        yield {"ready_s": ready_s, "took_s": ready_s - began_s}
        go = next(lines, None)
        if go is None:
            return
        yield measure(prepared, start_s=json.loads(go)["go"]["start_s"])


def _sleep_until(then_s: float) -> None:
    time.sleep(max(0.0, then_s - time.monotonic()))


if __name__ == "__main__":
    for answer in answers(sys.stdin):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
