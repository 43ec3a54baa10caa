"""The parts that all loads share: a trial's record, its observation, and a variant's figures."""

from dataclasses import dataclass
from typing import Any

from tuneproof.lab.load.base import Load, Observation, Outcome, host_figures, medians
from tuneproof.lab.load.held_connections import HeldConnections
from tuneproof.lab.load.one_by_one import OneByOne
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.load.stall_load import StallLoad


@dataclass(frozen=True, kw_only=True)
class Storm(Observation):
    refused: int
    first_ms: float | None = None
    closed: bool = False
    workers: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StormPlan(Load[int, Storm]):
    def run(self, stage: Stage, *, label: str) -> Outcome[int]:
        raise NotImplementedError

    def observe(self, outcome: Outcome[int]) -> Storm:
        return storm(**host_figures(outcome), refused=outcome.record)


def storm(**changes: Any) -> Storm:
    return Storm(**{"steal_pct": 0.0, "measuring_s": 1.0, "refused": 0, **changes})


def test_a_variants_figures_are_the_medians_of_every_number() -> None:
    """Booleans and tuples have no median."""
    figures = medians(
        [storm(refused=refused, measuring_s=refused / 4, closed=True, workers=(11, 12)) for refused in (1, 3, 9000)]
    )
    assert figures == {
        "trials": 3,
        "steal_pct": 0,
        "measuring_s": 0.75,
        "generator_lag_p50_ms": 0,
        "refused": 3,
        "first_ms": None,
    }


def test_unmeasured_figures_are_none_and_partly_measured_ones_have_their_median() -> None:
    """Trials without the figure are left out; a zero would look like a measurement."""
    assert medians([]) == {"trials": 0}
    assert medians([storm(), storm()])["first_ms"] is None
    assert medians([storm(first_ms=4.0), storm(), storm(first_ms=8.0)])["first_ms"] == 6


def test_by_default_the_figures_of_a_load_are_medians_and_nothing_is_cut_short() -> None:
    plan = StormPlan()
    observations = [storm(refused=2), storm(refused=4)]
    assert plan.metrics(observations) == medians(observations)
    assert plan.metrics(observations)["refused"] == 3
    assert plan.cut_short_paths == plan.configurations == ()


def test_only_bulk_downloads_are_cut_short_by_a_trials_end() -> None:
    """A fast request that is cut short is a sign of trouble."""
    assert StallLoad().cut_short_paths == ("/bulk.bin",)
    assert OneByOne(bulk_path="/film.bin", fast_path="/page").cut_short_paths == ("/film.bin",)
    assert HeldConnections().cut_short_paths == ()
