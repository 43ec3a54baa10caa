"""The sequential experiment: blocks, void trials, dropped arms, failures and progress."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.inference.experiment import Experiment, Progress, Question, Trial, block_order
from tuneproof.proof.inference.verdicts import Form, Verdict

_SEED = 3


@dataclass
class _Bench:
    """A fake lab: functions compute the results of its trials, and it records its calls."""

    level: Callable[[str, int], float]
    void: Callable[[str, int], tuple[str, ...]] = lambda _arm, _block: ()
    asked: list[tuple[str, int]] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)

    def run_trial(self, progress: Progress) -> Trial[float]:
        self.progress.append(progress)
        arm, block = progress.arm, progress.block
        self.asked.append((arm, block))
        return Trial(arm=arm, block=block, observation=self.level(arm, block), void_reasons=self.void(arm, block))

    def experiment(self, *questions: Question[float], looks: tuple[int, ...] = (6, 9)) -> Experiment[float]:
        return Experiment(run_trial=self.run_trial, questions=questions, looks=looks, seed=_SEED)

    def arms_of(self, block: int) -> set[str]:
        return {arm for arm, asked_in in self.asked if asked_in == block}


def _ratio(name: str, loaded: str, idle: str) -> Question[float]:
    def effect(observations: Mapping[str, float]) -> float:
        if not observations[idle]:
            raise ValueError(f"{idle} measured nothing")
        return observations[loaded] / observations[idle]

    return Question(name=name, arms=(loaded, idle), effect=effect, scale=Scale.RATIO, threshold=10.0)


def _wobble(block: int) -> float:
    return 1 + 0.02 * (block % 3)


def _levels(arm: str, block: int) -> float:
    """Loaded is 30 times idle; even equals idle; edge exceeds 10 times idle, except in three blocks.

    All of them vary a little.
    """
    means = {"idle": 1.0, "loaded": 30.0, "even": 1.0, "edge": 8.0 if block in {3, 8, 11} else 12.5}
    return means[arm] * _wobble(block + len(arm))


def test_a_question_is_answered_with_its_own_measurements() -> None:
    bench = _Bench(_levels)
    answer = bench.experiment(_ratio("stall", "loaded", "idle")).answer("stall")
    assert answer.verdict is Verdict.HOLDS
    assert answer.assessment is not None
    assert answer.assessment.interval.value == pytest.approx(30.0, rel=0.05)
    assert (answer.blocks, answer.void_blocks, len(answer.effects), answer.reason) == (6, 0, 6, "")
    assert answer.effects[0] == pytest.approx(30.0 * _wobble(7) / _wobble(5))
    assert [(trial.arm, trial.block) for trial in answer.trials] == bench.asked


def test_each_block_runs_its_arms_in_the_seeds_order() -> None:
    bench = _Bench(_levels)
    bench.experiment(_ratio("stall", "loaded", "idle")).answer("stall")
    expected = [
        (arm, block) for block in range(1, 7) for arm in block_order(("idle", "loaded"), seed=_SEED, block=block)
    ]
    assert bench.asked == expected


def test_open_questions_share_blocks_and_decided_ones_release_their_arms() -> None:
    bench = _Bench(_levels)
    experiment = bench.experiment(
        _ratio("stall", "loaded", "idle"), _ratio("none", "even", "idle"), _ratio("edge", "edge", "idle")
    )
    edge = experiment.answer("edge")
    assert (edge.verdict, edge.blocks) == (Verdict.INCONCLUSIVE, 9)
    assert bench.arms_of(6) == {"loaded", "even", "edge", "idle"}
    assert bench.arms_of(7) == {"edge", "idle"}
    measured = len(bench.asked)
    assert experiment.answer("stall").verdict is Verdict.HOLDS
    assert experiment.answer("none").verdict is Verdict.REFUTED
    assert {trial.arm for trial in experiment.answer("none").trials} == {"even", "idle"}
    assert len(bench.asked) == measured


def test_a_void_trial_voids_its_block_only_for_questions_about_its_arm() -> None:
    bench = _Bench(_levels, void=lambda arm, block: ("CPU stolen",) if (arm, block) == ("even", 2) else ())
    experiment = bench.experiment(_ratio("stall", "loaded", "idle"), _ratio("none", "even", "idle"))
    none, stall = experiment.answer("none"), experiment.answer("stall")
    assert (none.verdict, none.blocks, none.void_blocks, len(none.trials)) == (Verdict.REFUTED, 6, 1, 14)
    assert (stall.blocks, stall.void_blocks) == (6, 0)
    assert bench.arms_of(7) == {"even", "idle"}


def test_a_void_block_does_not_cause_a_second_look_at_the_same_data() -> None:
    bench = _Bench(_levels, void=lambda _arm, block: ("late",) if block == 7 else ())
    answer = bench.experiment(_ratio("edge", "edge", "idle")).answer("edge")
    assert (answer.verdict, answer.blocks, answer.void_blocks) == (Verdict.INCONCLUSIVE, 9, 1)


def test_too_many_void_blocks_make_a_question_untestable() -> None:
    bench = _Bench(_levels, void=lambda arm, block: ("late",) if block % 2 and arm == "idle" else ())
    answer = bench.experiment(_ratio("stall", "loaded", "idle"), looks=(5,)).answer("stall")
    assert answer.verdict is Verdict.UNSUPPORTED
    assert answer.assessment is None
    assert (answer.blocks, answer.void_blocks) == (2, 3)
    assert answer.reason == "3 of 5 rounds failed, and at most 2 may: idle: late"


def test_a_failing_trial_discards_its_block_and_the_experiment_continues() -> None:
    def level(arm: str, block: int) -> float:
        if (arm, block) == (block_order(("idle", "loaded"), seed=_SEED, block=4)[1], 4):
            raise RuntimeError("the container died")
        return _levels(arm, block)

    bench = _Bench(level)
    experiment = bench.experiment(_ratio("stall", "loaded", "idle"))
    with pytest.raises(RuntimeError, match="the container died"):
        experiment.answer("stall")
    answer = experiment.answer("stall")
    assert (answer.verdict, answer.blocks, len(answer.trials)) == (Verdict.HOLDS, 6, 12)
    assert sorted(trial.block for trial in answer.trials) == sorted([1, 2, 3, 5, 6, 7] * 2)
    assert len(set(bench.asked)) == len(bench.asked)


@pytest.mark.parametrize("broken", ["effect", "condition"])
@pytest.mark.parametrize(
    "error", [KeyError("rss"), TypeError("no number"), ValueError("nothing was counted")], ids=repr
)
def test_a_question_that_raises_on_a_block_ends_and_the_block_counts_for_all_others(
    broken: str, error: Exception
) -> None:
    """Questions before and after that question get the block exactly once; its arm is released."""

    def raising(_observations: Mapping[str, float]) -> float:
        raise error

    bench = _Bench(_levels)
    before, after = (_ratio(name, "loaded", "idle") for name in ("before", "after"))
    functions: dict[str, Any] = {"effect": lambda seen: seen["even"], broken: raising}
    between = Question[float](name="between", arms=("even",), scale=Scale.RATIO, threshold=10.0, **functions)
    experiment = bench.experiment(before, between, after)
    answer = experiment.answer("between")
    assert (answer.verdict, answer.blocks) == (Verdict.UNSUPPORTED, 0)
    assert answer.reason.startswith("round 1 yields no effect, and repeating it would not help: ")
    assert answer.reason.endswith(str(error) if isinstance(error, ValueError) else repr(error))
    for name in ("before", "after"):
        other = experiment.answer(name)
        assert (other.blocks, [trial.block for trial in other.trials]) == (6, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6])
    assert (bench.arms_of(1), bench.arms_of(2)) == ({"loaded", "idle", "even"}, {"loaded", "idle"})


def test_progress_names_the_trial_and_the_open_questions() -> None:
    """Progress is reported before each trial. A question that is not testable is no longer open, either."""
    bench = _Bench(_levels, void=lambda arm, _block: ("late",) if arm == "even" else ())
    experiment = bench.experiment(
        _ratio("stall", "loaded", "idle"), _ratio("void", "even", "idle"), _ratio("edge", "edge", "idle")
    )
    experiment.answer("edge")
    counted = [(step.block, step.trials_done, step.trials_in_block) for step in bench.progress]
    arms_in = {block: 4 if block <= 5 else 3 if block == 6 else 2 for block in range(1, 10)}
    assert counted == [(block, done, of) for block, of in arms_in.items() for done in range(of)]
    opened = {step.block: step.open_questions for step in bench.progress}
    assert [opened[block] for block in (5, 6, 7)] == [{"stall", "void", "edge"}, {"stall", "edge"}, {"edge"}]


def test_the_error_for_an_unknown_question_lists_the_known_ones() -> None:
    experiment = _Bench(_levels).experiment(_ratio("stall", "loaded", "idle"))
    with pytest.raises(ValueError, match="no question named 'stal'; there are stall"):
        experiment.answer("stal")


def test_an_experiment_that_cannot_be_run_is_rejected() -> None:
    bench = _Bench(_levels)
    stall = _ratio("stall", "loaded", "idle")
    with pytest.raises(ValueError, match="questions with different names"):
        bench.experiment()
    with pytest.raises(ValueError, match="questions with different names"):
        bench.experiment(stall, stall)
    with pytest.raises(ValueError, match="a seed from 0"):
        Experiment(run_trial=bench.run_trial, questions=[stall], looks=(6,), seed=-1)
    assert Experiment(run_trial=bench.run_trial, questions=[stall], looks=(6,), seed=0).answer("stall").blocks == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "needs a name"),
        ({"arms": ()}, "at least one arm"),
        ({"arms": ("a", "a")}, "at least one arm, each once"),
        ({"threshold": math.inf}, "threshold must be finite"),
        ({"threshold": 0.0}, "positive for a ratio"),
        ({"threshold": -1.0}, "positive for a ratio"),
        ({"form": Form.SAME, "threshold": 1.0}, "a margin is a ratio above 1"),
        ({"form": Form.SAME, "scale": Scale.SHARE}, "a margin is a ratio above 1"),
        ({"form": Form.SAME, "condition": bool}, "without a condition"),
    ],
    ids=str,
)
def test_an_invalid_question_is_rejected(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(_ratio("stall", "loaded", "idle"), **changes)  # type: ignore[arg-type] # fields by name
