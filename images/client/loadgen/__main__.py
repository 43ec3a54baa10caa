"""``python3 -m loadgen`` runs a trial for every line on its standard input: a TrialSpec as JSON; answers likewise."""

import itertools
import json
import socket
import sys
import time
from dataclasses import asdict
from typing import Any

from . import http1
from .background import Background
from .bulk import download
from .fast import FastClient
from .machine import CpuTimes
from .placement import place
from .probe import probe
from .spec import TrialSpec


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


def run(spec: TrialSpec) -> dict[str, Any]:
    """Place the connections, run the unloaded phase, then all loads at once; return everything that was seen."""
    baseline = _fast_baseline(spec) if spec.baseline_s else []
    placed = place(
        spec.address,
        spec.port,
        workers=spec.workers,
        per_worker=spec.bulk_per_worker,
        trial=spec.trial,
        timeout_s=spec.place_timeout_s,
    )
    probes = {pid: connections[0] for pid, connections in placed.items()}
    bulk_connections = [connections[1:] for connections in placed.values()]
    start_s = time.monotonic() + spec.settle_s
    end_s = start_s + spec.measure_s
    children: dict[str, Background] = {}
    if any(bulk_connections):
        children["bulk"] = Background(lambda: _bulk(spec, bulk_connections, start_s=start_s, end_s=end_s))
        for connection in itertools.chain.from_iterable(bulk_connections):
            connection.close()
    if spec.fast_rate_hz:
        children["fast"] = Background(lambda: _fast_open_loop(spec, start_s=start_s, end_s=end_s))
    time.sleep(max(0.0, start_s - time.monotonic()))
    before = CpuTimes.read()
    request = http1.get("/probe", host=spec.address, trial=spec.trial)
    samples = probe(probes, start_s=start_s, end_s=end_s, interval_s=spec.probe_interval_s, request=request)
    machine = CpuTimes.read().since(before)
    results = {name: child.result() for name, child in children.items()}
    # Fast requests that began in the window are followed to their end.
    loaded_s = time.monotonic() - start_s
    # A worker that drops a bulk download's temporary file is busy for a while: the next trial must not pay for it.
    for connection in probes.values():
        http1.exchange(connection, request)
        connection.close()
    return {
        "trial": spec.trial,
        "workers": list(placed),
        "measure_s": spec.measure_s,
        "measuring_s": spec.baseline_s + loaded_s,
        "probe": [asdict(samples[pid]) for pid in placed],
        "bulk": results.get("bulk"),
        "fast": results.get("fast", []),
        "baseline": baseline,
        "machine": machine,
    }


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(run(TrialSpec.from_json(json.loads(line)))) + "\n")
        sys.stdout.flush()
