"""A whole trial of the client against a stand-in for nginx, through to the library's observation."""

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from images.client.loadgen.__main__ import answers, measure, prepare
from images.client.loadgen.spec import TrialSpec
from tests.support.fake_nginx import HANG_S, Behaviour, FakeNginx
from tests.support.places import CHECKOUT
from tuneproof.lab.load.stall_observation import StallObservation

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
        "fast_timeout_s": HANG_S,
        "baseline_s": 0.0,
        "probe_interval_s": 0.01,
        "measure_s": 0.3,
        "place_timeout_s": HANG_S,
    }
    return {**quick, **changes}


def trial(server: FakeNginx, *, settle_s: float = 0.1, **changes: Any) -> dict[str, Any]:
    """Run a short trial; return what the client would print, after JSON."""
    prepared = prepare(TrialSpec.from_json(spec(server, **changes)))
    raw: dict[str, Any] = json.loads(json.dumps(measure(prepared, start_s=time.monotonic() + settle_s)))
    return raw


def test_a_trial_brings_everything_that_an_observation_needs() -> None:
    """Bulk downloads through one worker, fast requests through both, an unloaded phase before."""
    with FakeNginx(Behaviour()) as server:
        raw = trial(server, bulk_per_worker=[2, 0], fast_rate_hz=50, baseline_s=0.3)
    observation = StallObservation.from_json(raw)
    assert [worker.worker_pid for worker in observation.workers] == [11, 12]
    assert all(worker.probes > 1 for worker in observation.workers)
    through_loaded, through_idle = observation.bulk_bytes_per_s
    assert through_loaded > 1 << 20
    assert through_idle == 0
    assert observation.bulk_ended_early == 0
    assert len(observation.fast) == 15
    assert all(request.complete and request.body_bytes == 100_000 for request in observation.baseline)
    assert len(observation.baseline) > 1
    assert observation.measuring_s >= 0.6
    assert (observation.trial, raw["measure_s"]) == ("arm-b1", 0.3)
    assert {request.trial for request in server.requests} == {"arm-b1"}
    assert server.workers_asked_for("/bulk.bin") == [11, 11]


def test_a_trial_without_loads_only_probes() -> None:
    """What was not asked for leaves nothing behind, and takes no time."""
    with FakeNginx(Behaviour()) as server:
        raw = trial(server)
        server.wait_for_open(0)
    assert (raw["bulk"], raw["fast"], raw["baseline"]) == (None, [], [])
    assert {request.path for request in server.requests} == {"/probe"}
    observation = StallObservation.from_json(raw)
    assert sum(observation.bulk_bytes_per_s) == 0
    assert 0 <= observation.steal_pct <= 100


def test_a_delayed_worker_is_told_from_the_other_through_the_whole_trial() -> None:
    """Worker 1 of the observation is the one with the smaller process id, wherever it came in the search."""
    with FakeNginx(Behaviour(worker_pids=(31, 7), delays_s={7: 0.03})) as server:
        raw = trial(server)
    first, second = StallObservation.from_json(raw).workers
    assert (first.worker_pid, second.worker_pid) == (7, 31)
    # What the machine does meanwhile may be in every lag but the shortest.
    assert min(raw["probe"][1]["lag_ms"]) < 15 < (first.lag_p50_ms or 0)


# The client's process ends with the error, and its sockets with it; in this process they are left to the collector.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
def test_a_load_that_fails_fails_the_trial(capfd: pytest.CaptureFixture[str]) -> None:
    """A missing bulk file is an error with its reason, not a trial without load."""
    with FakeNginx(Behaviour(statuses={"/bulk.bin": 404})) as server, pytest.raises(ChildProcessError):
        trial(server, bulk_per_worker=[1, 0])
    assert "bulk download answered with b'HTTP/1.1 404" in capfd.readouterr().err


def test_a_program_that_does_not_probe_runs_only_the_loads() -> None:
    """Downloads and fast requests are as they would be otherwise, and a worker without downloads is left alone."""
    with FakeNginx(Behaviour()) as server:
        prepared = prepare(TrialSpec.from_json(spec(server, probes=False, bulk_per_worker=[0, 2], fast_rate_hz=50)))
        server.wait_for_open(3)
        asked = len(server.workers_asked_for("/probe"))
        start_s = time.monotonic() + 0.05
        raw = measure(prepared, start_s=start_s)
        assert time.monotonic() >= start_s + 0.3
        server.wait_for_open(0)
        # Only the last question, and only to the worker that has to get rid of downloads.
        assert server.requests[-1].path == "/probe"
        assert server.workers_asked_for("/probe")[asked:] == [12]
    assert (raw["probe"], raw["workers"]) == ([], [11, 12])
    assert raw["bulk"]["worker_bytes"][0] == 0
    assert raw["bulk"]["worker_bytes"][1] > 1 << 20
    assert len(raw["fast"]) == 15
    assert raw["measuring_s"] >= 0.3
    assert set(raw["machine"]) == {"busy_pct", "steal_pct"}


def test_without_probes_and_downloads_no_worker_is_looked_for() -> None:
    """Fast requests go to whichever worker takes them."""
    with FakeNginx(Behaviour()) as server:
        raw = trial(server, probes=False, fast_rate_hz=50)
    assert (raw["workers"], raw["probe"], raw["bulk"]) == ([], [], None)
    assert {request.path for request in server.requests} == {"/small.bin"}
    assert len(raw["fast"]) == 15


def test_a_program_with_nothing_to_do_waits_for_the_end_of_the_window() -> None:
    """What it tells of the machine is about the whole window."""
    with FakeNginx(Behaviour()) as server:
        raw = trial(server, probes=False)
    assert server.requests == []
    assert raw["measuring_s"] >= 0.3


def test_the_window_is_where_the_start_was_set() -> None:
    """Bulk downloads begin before it, probes in it."""
    with FakeNginx(Behaviour(bulk_bytes=100_000)) as server:
        began_s = time.monotonic()
        raw = trial(server, settle_s=0.5, bulk_per_worker=[1, 0])
        assert time.monotonic() - began_s >= 0.8
    # All bytes came before the window.
    assert raw["bulk"] == {"worker_bytes": [0, 0], "ended_early": 1}
    for samples in raw["probe"]:
        intended_ms = [at_ms - late_ms for at_ms, late_ms in zip(samples["at_ms"], samples["late_ms"], strict=True)]
        assert all(0 <= each_ms < 300 for each_ms in intended_ms)


def test_a_window_that_began_long_ago_is_not_run() -> None:
    """A part of it would pass for the whole. Nothing was loaded, and the connections are closed: it can begin anew."""
    with FakeNginx(Behaviour(bulk_bytes=100_000)) as server:
        prepared = prepare(TrialSpec.from_json(spec(server, bulk_per_worker=[1, 0])))
        recorded = measure(prepared, start_s=time.monotonic() - 0.2)
        assert set(recorded) == {"late_s"}
        assert recorded["late_s"] >= 0.2
        assert all(connection.fileno() == -1 for group in prepared.placed.values() for connection in group)


def question(server: FakeNginx, **changes: Any) -> str:
    """Return the line that prepares a short trial."""
    return json.dumps({"prepare": spec(server, **changes)}) + "\n"


def go() -> str:
    """Return the line that starts the window at once."""
    return json.dumps({"go": {"start_s": time.monotonic()}}) + "\n"


def test_the_answer_to_prepare_tells_when_and_how_long() -> None:
    """By the clock that the start of the window is given in; the unloaded phase is part of it."""
    with FakeNginx(Behaviour()) as server:
        began_s = time.monotonic()
        lines = iter([question(server, probes=False, baseline_s=0.1)])
        (ready,) = answers(lines)
        ended_s = time.monotonic()
    assert began_s + 0.1 <= ready["ready_s"] <= ended_s
    assert 0.1 <= ready["took_s"] <= ready["ready_s"] - began_s


def test_a_trial_that_was_not_prepared_is_not_run() -> None:
    """Nor is one prepared twice: the program ends, and its connections with it."""
    with pytest.raises(KeyError, match="prepare"):
        next(answers(iter([go()])))
    with FakeNginx(Behaviour()) as server:
        lines = question(server, probes=False)
        talk = answers(iter([lines, lines]))
        next(talk)
        with pytest.raises(KeyError, match="go"):
            next(talk)


def test_one_process_runs_one_trial_after_the_other() -> None:
    """The program stays between trials, and ends with its input."""
    with (
        FakeNginx(Behaviour()) as server,
        subprocess.Popen(
            [sys.executable, "-m", "loadgen"],
            cwd=CHECKOUT / "images/client",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        ) as program,
    ):
        assert program.stdin is not None
        assert program.stdout is not None
        raws = []
        for label in ("a-b1", "b-b1"):
            program.stdin.write(question(server, trial=label, bulk_per_worker=[1, 0], measure_s=0.3))
            ready = json.loads(program.stdout.readline())
            program.stdin.write(json.dumps({"go": {"start_s": ready["ready_s"] + 0.2}}) + "\n")
            raws.append(json.loads(program.stdout.readline()))
        program.stdin.close()
        assert program.wait(timeout=HANG_S) == 0
        server.wait_for_open(0)
    assert [raw["trial"] for raw in raws] == ["a-b1", "b-b1"]
    assert all(StallObservation.from_json(raw).bulk_bytes_per_s[0] > 0 for raw in raws)
