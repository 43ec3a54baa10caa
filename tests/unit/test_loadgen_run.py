"""A whole trial of the client against a stand-in for nginx, through to the library's observation."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fixtures.load.observation import Observation
from images.client.loadgen.__main__ import run
from images.client.loadgen.spec import TrialSpec
from tests.unit.fake_nginx import Behaviour, FakeNginx

# The stand-in's threads keep no lock that a forked load would need.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def spec(server: FakeNginx, **changes: Any) -> dict[str, Any]:
    """Return a short trial, without loads unless asked for."""
    quick: dict[str, Any] = {
        "address": "127.0.0.1",
        "port": server.port,
        "trial": "arm-b1",
        "workers": 2,
        "bulk_per_worker": [0, 0],
        "bulk_path": "/bulk.bin",
        "fast_rate_hz": 0.0,
        "fast_path": "/small.bin",
        "fast_timeout_s": 0.2,
        "baseline_s": 0.0,
        "probe_interval_s": 0.01,
        "settle_s": 0.05,
        "measure_s": 0.15,
        "place_timeout_s": 2.0,
    }
    return {**quick, **changes}


def trial(server: FakeNginx, **changes: Any) -> dict[str, Any]:
    """Run a short trial; return what the client would print, after JSON."""
    raw: dict[str, Any] = json.loads(json.dumps(run(TrialSpec.from_json(spec(server, **changes)))))
    return raw


def test_a_trial_brings_everything_that_an_observation_needs() -> None:
    """Bulk downloads through one worker, fast requests through both, an unloaded phase before."""
    with FakeNginx(Behaviour()) as server:
        raw = trial(server, bulk_per_worker=[2, 0], fast_rate_hz=50, baseline_s=0.05)
    observation = Observation.from_json(raw)
    assert [worker.worker_pid for worker in observation.workers] == [11, 12]
    assert all(worker.probes > 1 for worker in observation.workers)
    through_loaded, through_idle = observation.bulk_bytes_per_s
    assert through_loaded > 1 << 20
    assert through_idle == 0
    assert observation.bulk_ended_early == 0
    assert len(observation.fast) == 8
    assert all(request.complete and request.body_bytes == 100_000 for request in observation.baseline)
    assert len(observation.baseline) > 1
    assert observation.measuring_s >= 0.2
    assert (observation.trial, raw["measure_s"]) == ("arm-b1", 0.15)
    assert {request.trial for request in server.requests} == {"arm-b1"}
    assert server.workers_asked_for("/bulk.bin") == [11, 11]


def test_a_trial_without_loads_only_probes() -> None:
    """What was not asked for leaves nothing behind, and takes no time."""
    with FakeNginx(Behaviour()) as server:
        raw = trial(server)
        server.wait_for_open(0)
    assert (raw["bulk"], raw["fast"], raw["baseline"]) == (None, [], [])
    assert {request.path for request in server.requests} == {"/probe"}
    observation = Observation.from_json(raw)
    assert sum(observation.bulk_bytes_per_s) == 0
    assert 0 <= observation.steal_pct <= 100


def test_a_delayed_worker_is_told_from_the_other_through_the_whole_trial() -> None:
    """Worker 1 of the observation is the one with the smaller process id, wherever it came in the search."""
    with FakeNginx(Behaviour(worker_pids=(31, 7), delays_s={7: 0.03})) as server:
        first, second = Observation.from_json(trial(server)).workers
    assert (first.worker_pid, second.worker_pid) == (7, 31)
    assert first.lag_p50_ms >= 30
    assert first.lag_p50_ms > 5 * second.lag_p50_ms


# The client's process ends with the error, and its sockets with it; in this process they are left to the collector.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
def test_a_load_that_fails_fails_the_trial(capfd: pytest.CaptureFixture[str]) -> None:
    """A missing bulk file is an error with its reason, not a trial without load."""
    with FakeNginx(Behaviour(statuses={"/bulk.bin": 404})) as server, pytest.raises(ChildProcessError):
        trial(server, bulk_per_worker=[1, 0])
    assert "bulk download answered with b'HTTP/1.1 404" in capfd.readouterr().err


def test_one_process_answers_every_line_with_a_line() -> None:
    """The program stays between trials, and ends with its input."""
    with FakeNginx(Behaviour()) as server:
        lines = [
            json.dumps(spec(server, trial=label, bulk_per_worker=[1, 0], settle_s=0.0, measure_s=0.05))
            for label in ("a-b1", "b-b1")
        ]
        done = subprocess.run(
            [sys.executable, "-m", "loadgen"],
            cwd=Path(__file__).parents[2] / "images/client",
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            check=False,
        )
        server.wait_for_open(0)
    assert (done.returncode, done.stderr) == (0, "")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["trial"] for answer in answers] == ["a-b1", "b-b1"]
    assert all(Observation.from_json(answer).bulk_bytes_per_s[0] > 0 for answer in answers)
