"""A trial of the stall: first prepared, then started.

If the call to start it arrives too long after the start of its window, the trial is not run; it can be prepared again.
"""

import itertools
import socket
import time
from dataclasses import dataclass

from tuneproof.lab.protocol.children import Child
from tuneproof.lab.protocol.cpu_times import CpuTimes
from tuneproof.lab.protocol.serving import CannotDoError
from tuneproof.lab.protocol.stall import BulkSamples, FastRequest, Trial, TrialResult, Window

from . import http1
from .bulk import download
from .fast import FastClient
from .placement import place
from .probe import probe

# If the call arrives this long after the window's start, too much of the window is lost.
_LATEST_S = 0.1
# At the end, data of the downloads may still be in a slow link's queue, ahead of the worker's response.
_LAST_ANSWER_TIMEOUT_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A prepared trial that waits to be started."""

    trial: Trial
    baseline: tuple[FastRequest, ...]  # fast requests of the unloaded phase
    placed: dict[int, list[socket.socket]]
    """Connections by worker process id: one for probes (see :func:`prepare`), then those of the bulk downloads."""

    def give_up(self) -> None:
        """Close all connections."""
        for connection in itertools.chain.from_iterable(self.placed.values()):
            connection.close()


class Trials:
    """Prepares and runs one trial after the other."""

    def __init__(self) -> None:
        self._waiting: Prepared | None = None

    def prepare(self, trial: Trial) -> float:
        """Drop an earlier trial that was not started, and prepare this one; return the time when it was ready."""
        if self._waiting is not None:
            self._waiting.give_up()
            self._waiting = None
        self._waiting = prepare(trial)
        return time.monotonic()

    def go(self, start_s: float) -> TrialResult:
        """Run the trial that was prepared last; see :func:`measure` (CannotDoError: there is none)."""
        if self._waiting is None:
            raise CannotDoError("no trial was prepared")
        prepared, self._waiting = self._waiting, None
        return measure(prepared, start_s=start_s)


def _fast_open_loop(spec: Trial, *, start_s: float, end_s: float) -> tuple[FastRequest, ...]:
    client = _fast_client(spec, origin_s=start_s)
    client.run_open_loop((start_s + tick / spec.fast_rate_hz for tick in itertools.count()), end_s=end_s)
    return client.records


def _fast_baseline(spec: Trial) -> tuple[FastRequest, ...]:
    start_s = time.monotonic()
    client = _fast_client(spec, origin_s=start_s)
    client.run_one_after_another(end_s=start_s + spec.baseline_s)
    return client.records


def _fast_client(spec: Trial, *, origin_s: float) -> FastClient:
    request = http1.get(spec.fast_path, host=spec.address, trial=spec.trial, keep_alive=False)
    return FastClient(spec.address, spec.port, request=request, timeout_s=spec.fast_timeout_s, origin_s=origin_s)


def _bulk(spec: Trial, placed: list[list[socket.socket]], *, start_s: float, end_s: float) -> BulkSamples:
    request = http1.get(spec.bulk_path, host=spec.address, trial=spec.trial)
    connections = [item for group in placed for item in group]
    for connection in connections:
        connection.sendall(request)
    samples = download(connections, start_s=start_s, end_s=end_s)
    if samples.unexpected is not None:
        raise ConnectionError(samples.unexpected)
    counts = iter(samples.window_bytes)
    return BulkSamples(
        worker_bytes=tuple(sum(itertools.islice(counts, len(group))) for group in placed),
        ended_early=samples.ended_early,
    )


def prepare(spec: Trial) -> Prepared:
    """Run the unloaded phase, then place the connections that probes and downloads need, if any."""
    baseline = _fast_baseline(spec) if spec.baseline_s else ()
    # The probe's connection comes first. A worker with bulk downloads has one even without probes, since it is needed
    # at the end.
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
    return Prepared(trial=spec, baseline=baseline, placed=placed)


def measure(prepared: Prepared, *, start_s: float) -> TrialResult:
    """Start the bulk downloads, run all loads in the window from ``start_s`` on; return all measurements.

    On a busy host, the call may arrive late. If the window began too long ago, no load is run.
    """
    spec = prepared.trial
    late_s = time.monotonic() - start_s
    if late_s > _LATEST_S:
        prepared.give_up()
        return TrialResult(late_s=late_s)
    end_s = start_s + spec.measure_s
    first = {pid: connections[0] for pid, connections in prepared.placed.items() if connections}
    bulk_connections = [connections[1:] for connections in prepared.placed.values()]
    bulk: Child[BulkSamples] | None = None
    fast: Child[tuple[FastRequest, ...]] | None = None
    if any(bulk_connections):
        bulk = Child(lambda _: _bulk(spec, bulk_connections, start_s=start_s, end_s=end_s))
        for connection in itertools.chain.from_iterable(bulk_connections):
            connection.close()
    if spec.fast_rate_hz:
        fast = Child(lambda _: _fast_open_loop(spec, start_s=start_s, end_s=end_s))
    _sleep_until(start_s)
    before = CpuTimes.read()
    request = http1.get("/probe", host=spec.address, trial=spec.trial)
    samples = {}
    if spec.probes:
        samples = probe(first, start_s=start_s, end_s=end_s, interval_s=spec.probe_interval_s, request=request)
    _sleep_until(end_s)
    machine = CpuTimes.read().since(before)
    downloads, requests = bulk.result() if bulk else None, fast.result() if fast else ()
    # Fast requests that began in the window run to their end.
    loaded_s = time.monotonic() - start_s
    # A worker that deletes a bulk download's temporary file is busy for a while, which must not slow down the next
    # trial. This request follows the downloads on the same path: over another link it could arrive before their end.
    for connection in first.values():
        connection.settimeout(_LAST_ANSWER_TIMEOUT_S)
        http1.exchange(connection, request)
        connection.close()
    window = Window(
        workers=tuple(prepared.placed),
        measure_s=spec.measure_s,
        measuring_s=spec.baseline_s + loaded_s,
        machine=machine,
        probe=tuple(samples.values()),
        bulk=downloads,
        fast=requests,
        baseline=prepared.baseline,
    )
    return TrialResult(window=window)


def _sleep_until(then_s: float) -> None:
    time.sleep(max(0.0, then_s - time.monotonic()))
