"""What every kind of load has in common: its record, and the figures of an arm."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuneproof.lab.load.base import Load, TrialRecord, machine_figures, medians
from tuneproof.lab.load.stage import Stage


@dataclass(frozen=True, kw_only=True)
class Storm(TrialRecord):
    """The record of a kind of load that is not there."""

    refused: int
    first_ms: float | None = None
    closed: bool = False
    workers: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StormPlan(Load[Storm]):
    """A kind of load that says no more than it must."""

    def run(self, stage: Stage, *, label: str) -> dict[str, Any]:
        """Do nothing."""
        raise NotImplementedError

    def observe(self, raw: Mapping[str, Any]) -> Storm:
        """Return the record that was canned."""
        return Storm(**raw)


def storm(**changes: Any) -> Storm:
    """Return a record, but for what a test cares about."""
    return Storm(**{"trial": "a-b1", "steal_pct": 0.0, "measuring_s": 1.0, "refused": 0, **changes})


def test_an_arms_figures_are_the_medians_of_every_number() -> None:
    """One odd trial shows nothing."""
    figures = medians([storm(refused=refused, measuring_s=refused / 4) for refused in (1, 3, 9000)])
    assert figures == {
        "trials": 3,
        "steal_pct": 0,
        "measuring_s": 0.75,
        "generator_lag_p50_ms": 0,
        "refused": 3,
        "first_ms": None,
    }


def test_what_is_no_number_is_no_figure() -> None:
    """A label, a yes or no and a list have no median; yes is not 1."""
    figures = medians([storm(closed=True, workers=(11, 12))] * 3)
    assert not figures.keys() & {"trial", "closed", "workers"}


def test_what_no_trial_has_measured_is_none_and_what_some_have_is_their_median() -> None:
    """Zero would be a figure; a trial without one takes no part."""
    assert medians([storm(), storm()])["first_ms"] is None
    assert medians([storm(first_ms=4.0), storm(), storm(first_ms=8.0)])["first_ms"] == 6


def test_an_arm_without_valid_trials_has_no_figures() -> None:
    """All of its blocks were void."""
    assert medians([]) == {"trials": 0}


def test_a_load_that_says_no_more_has_the_medians_as_figures_and_cuts_nothing_short() -> None:
    """What is special about a kind of load is said by its own class."""
    plan = StormPlan()
    records = [storm(refused=2), storm(refused=4)]
    assert plan.metrics(records) == medians(records)
    assert plan.metrics(records)["refused"] == 3
    assert plan.cut_short_paths == ()


def test_a_record_that_finds_no_fault_with_itself_is_a_good_trial() -> None:
    """Void is only what its own kind, or the rules for all, say of it."""
    assert storm(refused=9000).faults == ()


def test_the_machines_figures_are_fields_of_every_record() -> None:
    """As every job of the client answers with them, beside figures of its own."""
    answer = {"machine": {"steal_pct": 1.5, "busy_pct": 80.0}, "took_s": 2.25, "refused": 7}
    assert storm(**machine_figures(answer)) == storm(steal_pct=1.5, measuring_s=2.25)
