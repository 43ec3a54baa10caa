"""Rounds with two versions: the order of the containers, and comparisons that fail."""

from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from tuneproof.lab.load.base import Outcome
from tuneproof.lab.load.counted import CountedRecord
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.yours.looks import Look
from tuneproof.yours.two_versions import ROUNDS, Rounds

SUBJECTS = {
    side: [Subject(name=f"{side}-{number}", config=SubjectConfig()) for number in range(2)] for side in ("old", "new")
}


@dataclass
class FakeBench:
    connects: dict[str, float]
    void: Counter[str] = field(default_factory=Counter)  # the number of void trials at the beginning, by version
    ran: list[str] = field(default_factory=list)

    def stage(self, _subject: str) -> Any:
        return self

    @property
    def subject(self) -> Any:
        return self

    def logs(self) -> str:
        return "nginx: [warn] w\n"

    def run(self, arm: Arm[Any], *, label: str) -> Outcome[Any]:
        self.ran.append(label)
        side = arm.subject.name.partition("-")[0]
        if self.void[side]:
            self.void[side] -= 1
            raise VoidTrialError("no answer came")
        figures = {"upstream_connects": self.connects[side]}
        return Outcome(record=CountedRecord(figures=figures, seen=()), measuring_s=0.0)


def rounds(bench: FakeBench, *, seed: int = 1) -> tuple[Rounds, list[tuple[str, ...]]]:
    """Return finished rounds, and the void reasons of each kept trial (empty if valid)."""
    kept: list[tuple[str, ...]] = []
    evidence = SimpleNamespace(keep=lambda _outcome, *, void_reasons, **_more: kept.append(void_reasons))
    looks = [Look(at="http://a/", script=lambda _rig: {})]
    made = Rounds(cast("Any", bench), looks, SUBJECTS, cast("Any", evidence), report=lambda _line: None)
    for number in range(1, ROUNDS + 1):
        made.run(number, seed=seed)
    return made, kept


def test_rounds_alternate_between_two_containers_of_each_version() -> None:
    """A warning from both versions is not a difference."""
    bench = FakeBench({"old": 32, "new": 4})
    found = rounds(bench)[0].compared()
    assert sorted(Counter(label.partition("-b")[0] for label in bench.ran).values()) == [2, 2, 3, 3]
    assert [(one.what, one.differs) for one in found.comparisons] == [
        ("nginx warns", False),
        ("connections to the upstream for 32 requests, 4 at a time", True),
    ]
    again, other = FakeBench({"old": 32, "new": 4}), FakeBench({"old": 32, "new": 4})
    rounds(again)
    rounds(other, seed=2)
    assert bench.ran == again.ran != other.ran


def test_a_trial_without_a_result_is_run_once_more() -> None:
    made, kept = rounds(FakeBench({"old": 32, "new": 4}, void=Counter(old=1)))
    found = made.compared()
    assert not found.void
    assert len(found.comparisons) == 2
    assert [reasons for reasons in kept if reasons] == [("no answer came",)]


def test_a_comparison_that_fails_twice_is_reported_and_left_out() -> None:
    """Later rounds do not repeat the comparison."""
    bench = FakeBench({"old": 32, "new": 4}, void=Counter(new=9))
    found = rounds(bench)[0].compared()
    assert found.void == {"http://a/": "no answer came, on the new version"}
    assert [one.what for one in found.comparisons] == ["nginx warns"]
    assert len(bench.ran) in {2, 3}
