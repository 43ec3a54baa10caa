"""The host's noise is measured before each block, and the run waits if the host was much calmer before."""

import itertools
import types

import pytest

from images.client.loadgen import gaps
from tuneproof.proof.scenario.host_noise import HostNoise, NoiseWatch, Patience


def watched(*lost_pct: float, blocks: int, patience: Patience | None = None) -> tuple[NoiseWatch, list[float]]:
    """Measure the noise before some blocks; return the watch and its waits.

    lost_pct: the share of a CPU's time that is lost at each look, in percent.
    """
    looks, waits = iter(lost_pct), list[float]()
    watch = NoiseWatch(lambda: next(looks), patience or Patience(), sleep=waits.append)
    for _ in range(blocks):
        watch.before_block()
    assert not list(looks), "some looks were not taken"
    return watch, waits


def test_a_calm_host_is_measured_once_per_block() -> None:
    watch, waits = watched(1.0, 3.0, 2.0, blocks=3)
    assert watch.noise() == HostNoise(looks=3, lost_p50_pct=2.0, lost_max_pct=3.0, waited_s=0.0)
    assert waits == []


def test_the_run_waits_for_a_host_that_was_much_calmer_before() -> None:
    """The run waits until the host is calm again; the last value before each block is recorded."""
    watch, waits = watched(2.0, 40.0, 30.0, 3.0, blocks=2)
    assert len(waits) == 2
    noise = watch.noise()
    assert noise is not None
    assert (noise.looks, noise.lost_max_pct) == (2, 3.0)
    assert noise.waited_s > sum(waits), "with the looks in between"


def test_the_run_does_not_wait_for_a_host_that_was_never_much_calmer() -> None:
    """It may never become calm, and the wait would only use up the budget."""
    _, waits = watched(20.0, 30.0, 25.0, 38.0, blocks=4)
    assert waits == []


def test_waiting_ends_with_the_runs_budget() -> None:
    """All scenarios in a run share the budget; once it is spent, blocks are measured despite the noise."""
    patience = Patience(budget_s=1.0)
    _, waits = watched(1.0, 50.0, 50.0, 50.0, 50.0, blocks=3, patience=patience)
    assert len(waits) == 2
    assert patience.left_s <= 0
    _, later = watched(60.0, blocks=1, patience=patience)
    assert later == []


def test_a_measurement_without_blocks_reports_no_noise() -> None:
    watch, _ = watched(blocks=0)
    assert watch.noise() is None


def test_gaps_are_found_where_the_clock_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps by 10 and 20 ms within 100 ms; a step below 0.3 ms is the loop itself."""
    steps_s = [*[0.0001] * 300, 0.01, *[0.0001] * 300, 0.02, *[0.0001] * 200]
    readings = itertools.accumulate([100.0, *steps_s])
    monkeypatch.setattr(gaps, "time", types.SimpleNamespace(monotonic=lambda: next(readings)))
    found = gaps.run(0.1)
    assert found.longest_ms == pytest.approx(20)
    assert found.lost_pct == pytest.approx(30)
