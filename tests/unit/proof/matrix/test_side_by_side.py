"""Scenarios that are measured at the same time: each returns its own cells and errors, and all can be ended."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from tests.support.fake_bench import claim
from tuneproof.errors import LabError
from tuneproof.proof.matrix.side_by_side import SideBySide, ahead_on, jobs_on
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.measurement import Decider
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.keys import Key

_SOON_S = 20.0


@dataclass
class Shown:
    """The output for the user, and the threads that wrote it."""

    texts: list[str] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def update(self, text: str) -> None:
        self.line(text)

    def line(self, text: str) -> None:
        self.texts.append(text)
        self.threads.add(threading.get_ident())


class Deciding:
    """Calls a function to decide each claim, and returns the claim's name as its cell."""

    def __init__(self, does: Callable[[str, SideBySide], None]) -> None:
        self._does = does

    @contextmanager
    def __call__(self, *, beside: SideBySide) -> Iterator[Decider]:
        self._beside = beside
        yield cast("Decider", self)

    def decide(self, wanted: Claim[Any]) -> Cell:
        self._does(wanted.name, self._beside)
        return cast("Cell", wanted.name)


def lab_of(scenario: str) -> Key:
    return Key(scenario, "", "1.22", "bare")


def together(shown: Shown, jobs: int = 2) -> SideBySide:
    return SideBySide(
        jobs, view=shown, show=lambda claim, _cell: shown.line(f"decided {claim.name}"), status=lambda: "so far"
    )


def no_lab(*, beside: SideBySide) -> AbstractContextManager[Decider]:
    raise LabError(f"no lab for {type(beside).__name__}")


def test_two_scenarios_run_at_once_and_one_thread_shows_both() -> None:
    """Each trial waits for the other; a note from a lab is printed before the verdict that follows it."""
    both, shown = threading.Barrier(2), Shown()
    side = together(shown)

    def meet(name: str, view: SideBySide) -> None:
        view.update("a trial")
        view.line(f"note of {name}")
        both.wait(_SOON_S)

    claims = {name: claim(name, "a") for name in ("one", "two")}
    waiting = {name: side.add(lab_of(name), [each], Deciding(meet)) for name, each in claims.items()}
    assert [str(waiting[name](lab_of(name).of(name))) for name in claims] == ["one", "two"]
    side.end(lambda: None)
    for name in claims:
        assert shown.texts.index(f"note of {name}") < shown.texts.index(f"decided {name}")
    assert "a trial" not in shown.texts
    assert shown.threads == {threading.get_ident()}


def test_a_scenario_in_two_labs_is_shown_once() -> None:
    """Both labs measure until the status line has been printed."""
    begun, seen = threading.Barrier(3), threading.Event()

    class Noticed(Shown):
        def update(self, text: str) -> None:
            super().update(text)
            seen.set()

    def meet(_name: str, _beside: SideBySide) -> None:
        begun.wait(_SOON_S)
        assert seen.wait(_SOON_S)

    shown = Noticed()
    side, lab = together(shown), lab_of("scenario")
    waiting = {name: side.add(lab, [claim(name, "a")], Deciding(meet)) for name in ("one", "two")}
    begun.wait(_SOON_S)
    assert [str(wait(lab.of(name))) for name, wait in waiting.items()] == ["one", "two"]
    side.end(lambda: None)
    assert f"so far; {lab.place}" in shown.texts
    assert not [text for text in shown.texts if text.count(lab.place) > 1]


def test_an_error_in_one_claim_or_scenario_does_not_affect_others() -> None:
    def fail(name: str, _view: SideBySide) -> None:
        if name == "bad":
            raise LabError("a trial failed")

    side = together(Shown())
    bad, good, other = claim("bad", "a"), claim("good", "a"), claim("other", "a")
    broken = side.add(lab_of("broken"), [other], no_lab)
    mixed = side.add(lab_of("mixed"), [bad, good], Deciding(fail))
    assert mixed(lab_of("mixed").of("good")) == cast("Cell", "good")
    with pytest.raises(LabError, match="a trial failed"):
        mixed(lab_of("mixed").of("bad"))
    with pytest.raises(LabError, match="no lab for SideBySide"):
        broken(lab_of("broken").of("other"))
    side.end(lambda: None)


def test_the_end_keeps_decisions_ends_running_trials_and_starts_nothing() -> None:
    """The running trial ends when its containers are removed."""
    shown, began, removed = Shown(), threading.Event(), threading.Event()
    trials: list[str] = []

    def trial(name: str, beside: SideBySide) -> None:
        beside.stop.check()
        trials.append(name)
        if name == "long":
            began.set()
            assert removed.wait(_SOON_S)

    side = together(shown, jobs=1)
    side.add(lab_of("first"), [claim(name, "a") for name in ("short", "long", "next")], Deciding(trial))
    side.add(lab_of("second"), [claim("never", "a")], Deciding(trial))
    assert began.wait(_SOON_S)
    side.end(removed.set)
    assert trials == ["short", "long"]
    assert shown.texts == ["decided short", "decided long"]


def test_a_lab_starts_ahead_in_another_thread_and_is_measured_and_removed_later() -> None:
    """The thread that waits for the lab gets it; an error at the lab's start is raised when the lab is needed."""
    threads: list[int] = []

    @contextmanager
    def lab(*, beside: SideBySide) -> Iterator[Decider]:
        assert beside is side
        threads.append(threading.get_ident())
        with Deciding(lambda _name, _view: None)(beside=beside) as measures:
            yield measures
        threads.append(-1)

    side = together(Shown())
    with ExitStack() as labs:
        ahead, broken = side.add_ahead(lab_of("timed"), lab, labs), side.add_ahead(lab_of("broken"), no_lab, labs)
        side.wait_for_ahead()
        assert len(threads) == 1
        assert threads[0] != threading.get_ident()
        side.end(lambda: pytest.fail("nothing is left to be ended"))
        assert ahead.result().decide(claim("one", "a")) == cast("Cell", "one")
        assert len(threads) == 1
    assert threads[1:] == [-1]
    with pytest.raises(LabError, match="no lab for SideBySide"):
        broken.result()


@pytest.mark.parametrize(("jobs", "gib", "labs"), [(8, 24, 8), (8, 13, 5), (8, 8, 0)], ids=["most", "some", "none"])
def test_memory_limits_the_number_of_labs_started_ahead(jobs: int, gib: int, labs: int) -> None:
    """Labs that run side by side get memory first."""
    assert ahead_on(jobs, memory_bytes=gib << 30) == labs


@pytest.mark.parametrize(
    ("cpus", "gib", "patience", "jobs"),
    [(2, 24, 1, 8), (16, 8, 1, 8), (2, 0.5, 1, 1), (64, 256, 1, 16), (2, 24, 2, 4), (2, 24, 20, 2)],
    ids=["cpus", "memory", "at-least-one", "at-most-16", "slow", "very-slow"],
)
def test_an_engines_cpus_and_memory_limit_the_number_of_scenarios_at_once(
    cpus: int, gib: float, patience: float, jobs: int
) -> None:
    assert jobs_on(cpus=cpus, memory_bytes=int(gib * (1 << 30)), patience=patience) == jobs
