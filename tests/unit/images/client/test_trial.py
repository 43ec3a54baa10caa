"""A whole trial of the client against a stand-in for nginx, up to the lab's observation."""

import json
import mmap
import struct
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import pytest

from images.client.loadgen import arrivals, bulk, fast, probe
from images.client.loadgen import trial as trial_module
from images.client.loadgen.trial import Prepared, Trials, measure, prepare
from tests.support.canned_trials import observed
from tests.support.fake_nginx import HANG_S, MORE_THAN_BUFFERED, Behaviour, FakeNginx
from tuneproof.lab.load.stall_observation import StallRecord
from tuneproof.lab.load.waiting import wait_until
from tuneproof.lab.protocol.children import Child
from tuneproof.lab.protocol.codec import from_plain, to_plain
from tuneproof.lab.protocol.serving import CannotDoError
from tuneproof.lab.protocol.stall import BulkSamples, Trial, TrialResult, Window

# The threads of FakeNginx hold no lock that a forked load needs.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


class HeldClock:
    """A clock of this process and its children: it stands still shortly before a window until the loads have begun.

    Otherwise, a machine that starts the loads late would leave them only a part of the window.
    """

    BEFORE_S = 0.05

    def __init__(self, start_s: float, has_begun: Callable[[], bool]) -> None:
        self._start_s = start_s
        self._has_begun = has_begun
        self._shared = mmap.mmap(-1, 8)  # when the clock was released; 0: it stands still

    def monotonic(self) -> float:
        (released_s,) = struct.unpack("d", self._shared[:])
        return self._start_s - self.BEFORE_S + (time.monotonic() - released_s if released_s else 0.0)

    def sleep(self, seconds: float) -> None:
        """Release the clock before the first wait."""
        if not any(self._shared[:]):
            wait_until(self._has_begun, "the loads have not begun")
            self._shared[:] = struct.pack("d", time.monotonic())
        time.sleep(seconds)

    time = staticmethod(time.time)


def spec(server: FakeNginx, **changes: Any) -> Trial:
    """Return a short trial, without loads by default."""
    quick: dict[str, Any] = {
        "address": "127.0.0.1",
        "port": server.port,
        "trial": "arm-b1",
        "workers": 2,
        "bulk_per_worker": (0, 0),
        "bulk_path": "/bulk.bin",
        "fast_rate_hz": 0.0,
        "fast_path": "/small.bin",
        "fast_timeout_s": HANG_S,
        "baseline_s": 0.0,
        "probe_interval_s": 0.01,
        "measure_s": 0.3,
        "place_timeout_s": HANG_S,
    }
    return Trial(**{**quick, **changes})


def measured(server: FakeNginx, prepared: Prepared) -> TrialResult:
    """Run a prepared trial; its window starts once its downloads are being read, or have ended."""
    children: list[Child[Any]] = []

    def started(work: Callable[[Connection], object]) -> Child[Any]:
        children.append(Child(work))
        return children[-1]

    def has_begun() -> bool:
        return (
            not any(prepared.trial.bulk_per_worker)
            or server.endless_bytes > MORE_THAN_BUFFERED
            or any(child.pipe.poll() for child in children)
        )

    start_s = time.monotonic() + HeldClock.BEFORE_S
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_module, "Child", started)
        clock = HeldClock(start_s, has_begun)
        for module in (arrivals, bulk, fast, probe, trial_module):
            patch.setattr(module, "time", clock)
        return measure(prepared, start_s=start_s)


def trial(server: FakeNginx, **changes: Any) -> Window:
    """Run a short trial; return what the lab would read."""
    went = measured(server, prepare(spec(server, **changes)))
    window = from_plain(TrialResult, json.loads(json.dumps(to_plain(went)))).window
    assert window is not None
    return window


def test_a_trial_records_everything_that_an_observation_needs() -> None:
    with FakeNginx(Behaviour()) as server:
        window = trial(server, bulk_per_worker=(2, 0), fast_rate_hz=50.0, baseline_s=0.3)
    observation = observed(StallRecord(**vars(window)))
    assert [worker.worker_pid for worker in observation.workers] == [11, 12]
    assert all(worker.lag_p50_ms for worker in observation.workers)
    through_loaded, through_idle = observation.bulk_bytes_per_s
    assert through_loaded > 1 << 20
    assert through_idle == 0
    assert observation.bulk_ended_early == 0
    assert len(observation.fast) == 15
    assert all(request.complete and request.body_bytes == 100_000 for request in observation.baseline)
    assert observation.baseline
    assert observation.measuring_s >= 0.6
    assert window.measure_s == 0.3
    assert {request.trial for request in server.requests} == {"arm-b1"}
    assert server.workers_asked_for("/bulk.bin") == [11, 11]


# In the lab, the sockets end with the client's process after the error; here, the garbage collector closes them.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
def test_a_trial_fails_if_its_load_fails(capfd: pytest.CaptureFixture[str]) -> None:
    """A trial with a missing bulk file must not count as one without load."""
    with FakeNginx(Behaviour(statuses={"/bulk.bin": 404})) as server, pytest.raises(ChildProcessError):
        trial(server, bulk_per_worker=(1, 0))
    assert "bulk download answered with b'HTTP/1.1 404" in capfd.readouterr().err


def test_a_trial_without_probes_runs_only_the_loads() -> None:
    """A worker without downloads gets no probes after the search."""
    with FakeNginx(Behaviour()) as server:
        prepared = prepare(spec(server, probes=False, bulk_per_worker=(0, 2), fast_rate_hz=50.0))
        server.wait_for_open(3)
        before = len(server.workers_asked_for("/probe"))
        began_s = time.monotonic()
        window = measured(server, prepared).window
        assert time.monotonic() - began_s >= 0.3
        server.wait_for_open(0)
        # The only probe after the search is the last request, to the worker that must delete temporary files.
        assert server.requests[-1].path == "/probe"
        assert server.workers_asked_for("/probe")[before:] == [12]
    assert window is not None
    assert (window.probe, window.workers) == ((), (11, 12))
    assert window.bulk is not None
    assert window.bulk.worker_bytes[0] == 0
    assert window.bulk.worker_bytes[1] > 0
    assert len(window.fast) == 15
    assert window.measuring_s >= 0.3
    assert 0 < window.machine.busy_pct + window.machine.steal_pct <= 100.001


@pytest.mark.parametrize(("fast_rate_hz", "paths"), [(50.0, ["/small.bin"] * 15), (0.0, [])])
def test_without_probes_and_downloads_workers_are_not_searched_for(fast_rate_hz: float, paths: list[str]) -> None:
    """Even without any load, the trial lasts until the end of the window."""
    with FakeNginx(Behaviour()) as server:
        window = trial(server, probes=False, fast_rate_hz=fast_rate_hz)
    assert (window.workers, window.probe, window.bulk) == ((), (), None)
    assert ([request.path for request in server.requests], len(window.fast)) == (paths, len(paths))
    assert window.measuring_s >= 0.3


def test_the_window_starts_at_the_given_time() -> None:
    with FakeNginx(Behaviour(bulk_bytes=100_000)) as server:
        began_s = time.monotonic()
        window = trial(server, bulk_per_worker=(1, 0))
        assert time.monotonic() - began_s >= 0.3 + HeldClock.BEFORE_S
    # All bytes have arrived before the window.
    assert window.bulk == BulkSamples(worker_bytes=(0, 0), ended_early=1)
    for samples in window.probe:
        intended_ms = [at_ms - late_ms for at_ms, late_ms in zip(samples.at_ms, samples.late_ms, strict=True)]
        assert all(0 <= each_ms < 300 for each_ms in intended_ms)


def test_an_unprepared_or_late_trial_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the window must not count as the whole. A late trial closes its connections and can be repeated."""
    trials = Trials()
    with FakeNginx(Behaviour(bulk_bytes=100_000)) as server:
        for latest_s, settle_s, runs in ((0.1, -0.2, False), (HANG_S, 0.1, True)):
            monkeypatch.setattr(trial_module, "_LATEST_S", latest_s)
            with pytest.raises(CannotDoError, match="no trial was prepared"):
                trials.go(time.monotonic())
            trials.prepare(spec(server, bulk_per_worker=(1, 0)))
            went = trials.go(time.monotonic() + settle_s)
            assert (went.window is not None, went.late_s >= 0.2) == (runs, not runs)
            server.wait_for_open(0)
        with pytest.raises(CannotDoError, match="no trial was prepared"):
            trials.go(time.monotonic())


def test_a_prepared_trial_replaces_the_previous_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_module, "_LATEST_S", HANG_S)
    trials = Trials()
    with FakeNginx(Behaviour()) as server:
        began_s = time.monotonic()
        ready_s = trials.prepare(spec(server, trial="a-b1", bulk_per_worker=(3, 0), baseline_s=0.1))
        assert began_s + 0.1 <= ready_s <= time.monotonic(), "the time should be on this machine's clock"
        server.wait_for_open(5)
        trials.prepare(spec(server, trial="b-b1", bulk_per_worker=(1, 0)))
        server.wait_for_open(3)
        window = trials.go(time.monotonic() + 0.1).window
        server.wait_for_open(0)
        assert [request.trial for request in server.requests if request.path == "/bulk.bin"] == ["b-b1"]
    assert window is not None
    assert window.workers == (11, 12)
