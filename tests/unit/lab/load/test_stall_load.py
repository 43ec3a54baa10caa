"""A stall trial runs in one program, or in two that start at the same time."""

import threading
import time
import types
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.support import canned_turns
from tests.support.canned_trials import stall_record, window_of
from tests.support.fake_nginx import HANG_S
from tests.support.joined import Joined, joined
from tuneproof.errors import LabError
from tuneproof.lab.load.stall_load import StallLoad, run_trial
from tuneproof.lab.load.stall_observation import StallRecord
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.protocol.observer import CounterTexts, Observer
from tuneproof.lab.protocol.serving import CannotDoError
from tuneproof.lab.protocol.stall import Trial, TrialResult, Window
from tuneproof.lab.protocol.turns import Turns
from tuneproof.lab.topology.program import Answered, Call, remote

if TYPE_CHECKING:
    from tuneproof.lab.load.stage import Stage


def window(**figures: Any) -> Window:
    return window_of(stall_record(**figures))


class Program(Joined):
    """A stand-in for the program in a container, with prepared responses; it records its calls."""

    def __init__(
        self,
        *,
        ready_s: float = 100.0,  # on its own clock
        ahead_s: float | None = None,  # its clock, relative to this machine's; None: the program reports ready_s
        round_trip_s: float = 0.0,
        seen: Window | CannotDoError | None = None,
        prepared: CannotDoError | None = None,  # the error with which its preparation fails
        together: Callable[[], object] = lambda: None,
        late: int = 0,  # how many windows it does not run because it is late
    ) -> None:
        super().__init__(Loadgen, self)
        self._late = late
        self._ready_s = ready_s
        self._ahead_s = ahead_s
        self._round_trip_s = round_trip_s
        self._seen = window() if seen is None else seen
        self._prepared = prepared
        self._together = together
        self.specs: list[Trial] = []
        self.starts_s: list[float] = []

    @property
    def loadgen(self) -> Loadgen:
        return remote(Loadgen, self)

    def ask(self, call: Call) -> Answered[Any]:
        self._together()
        if call.function == "prepare":
            time.sleep(self._round_trip_s)
        return super().ask(call)

    def prepare(self, trial: Trial) -> float:
        self.specs.append(trial)
        if self._prepared:
            raise self._prepared
        return self._ready_s if self._ahead_s is None else time.monotonic() + self._ahead_s

    def go(self, start_s: float) -> TrialResult:
        self.starts_s.append(start_s)
        if isinstance(self._seen, CannotDoError):
            raise self._seen
        return TrialResult(late_s=0.3) if len(self.starts_s) <= self._late else TrialResult(window=self._seen)


def recorded(client: Program, prober: Program | None = None, *, plan: StallLoad | None = None) -> StallRecord:
    return run_trial(
        client.loadgen,
        plan or StallLoad(),
        address="172.18.0.2",
        port=8000,
        label="a-b1",
        prober=prober.loadgen if prober else None,
    )


def stage_with(
    client: Program,
    prober: Program | None = None,
    *,
    observer: Observer | None = None,
    apart: bool = False,
    workers: Callable[[], object] = lambda: None,
) -> "Stage":
    programs = types.SimpleNamespace(prober=prober and prober.loadgen)
    stage = types.SimpleNamespace(
        lab=types.SimpleNamespace(is_placed=apart),
        programs=programs,
        address="172.18.0.7",
        port=8080,
        client=client.loadgen,
        observer=observer,
        workers=workers,
    )
    return cast("Stage", stage)


def test_a_plan_runs_on_a_stage_with_its_client_and_its_prober() -> None:
    """Without ``counts_turns``, it needs no observer."""
    client = Program(seen=window(lags_ms=([9.0], [9.0]), steal_pct=9.0, measuring_s=2.0))
    prober = Program(seen=window(lags_ms=([7.0], [1.0]), steal_pct=3.0))
    plan = StallLoad(bulk_per_worker=(4, 0))
    outcome = plan.run(stage_with(client, prober), label="a-b2")
    assert (outcome.measuring_s, outcome.steal_pct, outcome.files) == (2, 3, {})
    assert (outcome.record.turns, outcome.record.written_bytes) == (None, None)
    assert plan.metrics([plan.observe(outcome)])["worker1_lag_p50_ms"] == 7, "the lags are those of the prober"
    for program in (client, prober):
        (spec,) = program.specs
        assert (spec.address, spec.port, spec.trial) == ("172.18.0.7", 8080, "a-b2")


class Recorder:
    """A stand-in for the observer's program, which reports loop iterations or fails."""

    def __init__(self, error: str = "", *, together: Callable[[], object] = lambda: None) -> None:
        self._error = error
        self._together = together
        self.windows_s: list[tuple[float, float]] = []  # requested starts and ends
        self.observer = joined(Observer, self)

    def counters(self) -> CounterTexts:
        return CounterTexts(counters="", softnet="", at_s=time.monotonic() + 900)

    def turns(self, start_s: float, end_s: float) -> Turns:
        self.windows_s.append((start_s, end_s))
        self._together()
        if self._error:
            raise CannotDoError(self._error)
        workers = (canned_turns.worker(11, read=[(67, 2, 3000)]), canned_turns.worker(12))
        return Turns(workers=workers)


@pytest.mark.parametrize("has_prober", [False, True], ids=["client", "client and prober"])
def test_loop_iterations_are_recorded_over_the_window_while_the_loads_run(*, has_prober: bool) -> None:
    both = threading.Barrier(2, timeout=HANG_S)

    class Meeting(Program):
        def go(self, start_s: float) -> TrialResult:
            both.wait()
            return super().go(start_s)

    client, recorder = Meeting(), Recorder(together=both.wait)
    stage = stage_with(client, Program() if has_prober else None, observer=recorder.observer)
    plan = StallLoad(settle_s=2.0, measure_s=3.0, counts_turns=True)
    outcome = plan.run(stage, label="a-b2")
    ((start_s, end_s),) = recorder.windows_s
    assert client.starts_s == [start_s]
    assert end_s - start_s == pytest.approx(3.0)
    loaded, idle = plan.observe(outcome).workers
    assert loaded.turns is not None
    assert idle.turns is not None
    assert (loaded.turns.turn_bytes_p50, idle.turns.turn_bytes_p50) == (1500, None)


def test_a_trial_that_counts_writes_records_the_bytes_of_all_workers() -> None:
    readings = iter([(1000, 50), (1700, 90)])

    def workers() -> list[types.SimpleNamespace]:
        return [types.SimpleNamespace(write_bytes=count) for count in next(readings)]

    plan = StallLoad(counts_writes=True)
    outcome = plan.run(stage_with(Program(), workers=workers), label="a-b2")
    assert (outcome.record.written_bytes, plan.observe(outcome).written_bytes) == (740, 740)


def test_a_failed_load_is_reported_rather_than_missing_loop_iterations() -> None:
    """The iterations may be missing because nginx has ended."""
    recorder = Recorder("process 11 keeps no record")
    for seen, error in ((CannotDoError("no bulk file"), "no bulk file"), (window(), "process 11 keeps no record")):
        client = Program(seen=seen)
        with pytest.raises(LabError, match=error):
            run_trial(
                client.loadgen, StallLoad(), address="172.18.0.2", port=8000, label="a", observer=recorder.observer
            )


def test_the_client_gets_a_trial_with_address_and_label() -> None:
    """Without a prober, the client gets the whole plan, and its response becomes the record."""
    seen = window(lags_ms=([7.0], [1.0]), bulk=(3_000_000, 0), fast_ms=[5.0], baseline_ms=[4.0], steal_pct=9.0)
    client = Program(seen=seen)
    plan = StallLoad(workers=3, bulk_per_worker=(4, 0, 1), fast_rate_hz=15.0, baseline_s=0.5, bulk_path="/film.bin")
    assert window_of(recorded(client, plan=plan)) == seen
    (spec,) = client.specs
    assert (spec.address, spec.port, spec.trial, spec.probes) == ("172.18.0.2", 8000, "a-b1", True)
    assert {name: value for name, value in vars(plan).items() if name in vars(spec)}.items() <= vars(spec).items()


def test_one_of_two_programs_runs_the_loads_and_the_other_probes() -> None:
    client, prober = Program(), Program()
    plan = StallLoad(bulk_per_worker=(4, 0), fast_rate_hz=15, baseline_s=0.5, probe_interval_s=0.02, measure_s=3.0)
    recorded(client, prober, plan=plan)
    (loads,), (probes,) = client.specs, prober.specs
    assert (loads.probes, loads.bulk_per_worker, loads.fast_rate_hz, loads.baseline_s) == (False, (4, 0), 15, 0.5)
    assert (probes.probes, probes.bulk_per_worker, probes.fast_rate_hz, probes.baseline_s) == (True, (0, 0), 0, 0)
    assert (probes.probe_interval_s, probes.workers, probes.trial) == (0.02, 2, "a-b1")
    assert loads.measure_s == probes.measure_s == 3


@pytest.mark.parametrize("late", ["client", "prober"])
def test_a_window_that_was_requested_too_late_is_prepared_again(late: str) -> None:
    """Nothing was measured in the late window, so preparing again does not select results."""
    client, prober = (Program(late=7 if name == late else 0) for name in ("client", "prober"))
    assert window_of(recorded(client, prober)) == window()
    assert (len(client.specs), len(prober.specs)) == (8, 8)


def test_a_host_that_is_always_too_late_is_reported() -> None:
    with pytest.raises(LabError, match=r"the call to start trial a-b1 came too late 8 times, the last time by 0\.30 s"):
        recorded(Program(late=8))


@pytest.mark.parametrize("ready_s", [(100.0, 107.0), (107.0, 100.0)])
def test_two_programs_start_together_when_the_later_one_is_ready(ready_s: tuple[float, float]) -> None:
    both = threading.Barrier(2, timeout=HANG_S)
    client, prober = (Program(ready_s=each_s, round_trip_s=0.1, together=both.wait) for each_s in ready_s)
    began_s = time.monotonic()
    recorded(client, prober, plan=StallLoad(settle_s=2.0))
    assert client.starts_s == prober.starts_s
    assert 109.1 <= client.starts_s[0] < 109 + time.monotonic() - began_s


@pytest.mark.parametrize("has_prober", [False, True], ids=["client", "client and prober"])
def test_programs_on_several_machines_start_together_each_by_its_own_clock(*, has_prober: bool) -> None:
    client, prober = Program(ahead_s=5000.0, round_trip_s=0.05), Program(ahead_s=-70.0)
    recorder = Recorder()
    stage = stage_with(client, prober if has_prober else None, observer=recorder.observer, apart=True)
    plan = StallLoad(settle_s=2.0, measure_s=3.0, counts_turns=True)
    began_s = time.monotonic()
    plan.run(stage, label="a-b2")
    ended_s = time.monotonic()
    starts_s = [client.starts_s[0] - 5000, recorder.windows_s[0][0] - 900]
    starts_s += [prober.starts_s[0] + 70] if has_prober else []
    assert max(starts_s) - min(starts_s) <= ended_s - began_s, "each is wrong by half a round trip at most"
    assert began_s + 2.05 <= starts_s[0] <= ended_s + 2.0 + (ended_s - began_s)


def test_the_records_of_two_programs_are_combined() -> None:
    loads = replace(window(bulk=(3_000_000, 0), fast_ms=[5.0], steal_pct=9.0, measuring_s=4.0), probe=())
    probes = window(lags_ms=([7.0], [1.0]), steal_pct=3.0, measuring_s=2.0)
    record = recorded(Program(seen=loads), Program(seen=probes))
    assert window_of(record) == replace(loads, probe=probes.probe, machine=probes.machine)
    swapped = recorded(Program(seen=replace(loads, measuring_s=1.0)), Program(seen=probes))
    assert swapped.measuring_s == 2


def test_programs_that_saw_different_workers_are_an_error() -> None:
    """Otherwise one worker's downloads would be compared with another's lag.

    A client without bulk downloads reports no workers.
    """
    assert recorded(Program(seen=replace(window(), workers=())), Program()).workers == (11, 12)
    with pytest.raises(LabError, match=r"reached the workers \[11, 13\], the prober \[11, 12\]"):
        recorded(Program(seen=replace(window(), workers=(11, 13))), Program())


@pytest.mark.parametrize("phase", ["prepared", "seen"])
def test_the_clients_error_is_reported_rather_than_the_probers(phase: str) -> None:
    """The client's error may have caused the prober's error."""
    client: dict[str, Any] = {phase: CannotDoError("no bulk file")}
    prober: dict[str, Any] = {phase: CannotDoError("no answer")}
    with pytest.raises(LabError, match="no bulk file"):
        recorded(Program(**client), Program(**prober))
    with pytest.raises(LabError, match="no answer"):
        recorded(Program(), Program(**prober))


def test_an_error_is_raised_after_the_other_program_has_answered() -> None:
    """The next call would otherwise get the outstanding response."""
    prober = Program(round_trip_s=0.2)
    began_s = time.monotonic()
    with pytest.raises(LabError, match="no bulk file"):
        recorded(Program(prepared=CannotDoError("no bulk file")), prober)
    assert time.monotonic() - began_s >= 0.2
    assert (len(prober.specs), prober.starts_s) == (1, [])
