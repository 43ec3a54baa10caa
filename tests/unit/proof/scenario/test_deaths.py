"""A subject's death during a trial is an outcome at the scenario's own memory limit, and otherwise a failure."""

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.fake_bench import SUBJECT, arm
from tuneproof.catalogue.proxy_buffering import DEFAULTS, KILLED, SPARED
from tuneproof.errors import LabError
from tuneproof.lab.load.slow_readers import MemoryRecord
from tuneproof.proof.scenario import bench
from tuneproof.proof.scenario.arms import Arm
from tuneproof.proof.scenario.bench import Bench, SubjectDiedError


def death_of(asked: Arm[Any], *, out_of_memory: bool, runs: int = 0) -> LabError:
    """Return the error from a trial during which the subject's container ends.

    runs: how often the engine still reports that the container is running.
    """
    answers = itertools.chain([True] * runs, itertools.repeat(False))

    def fail(_stage: object, *, label: str) -> None:
        raise LabError(f"{label}: nobody answers")

    container = SimpleNamespace(
        is_running=lambda: next(answers),
        patience=1.0,
        log_tail=lambda: "signal 9",
        inspect=lambda: {"State": {"OOMKilled": out_of_memory}},
    )
    made = Bench.__new__(Bench)
    made._programs = cast("Any", SimpleNamespace(restart=lambda: None))
    plan = SimpleNamespace(run=fail, out_of_memory=asked.plan.out_of_memory)
    stage = cast("Any", SimpleNamespace(subject=container))
    with pytest.raises(LabError) as raised:
        made._run(stage, replace(asked, plan=cast("Any", plan)), label="trial")
    return raised.value


@pytest.mark.parametrize("asked", [KILLED, SPARED], ids=lambda asked: asked.name)
def test_death_at_the_scenarios_own_limit_is_an_outcome(asked: Arm[Any]) -> None:
    """Both arms that the claim compares may have this outcome."""
    error = death_of(asked, out_of_memory=True)
    assert isinstance(error, SubjectDiedError)
    assert (error.what, error.tail) == (f"nginx container {asked.subject.name} died during a trial", "signal 9")
    assert error.outcome is not None
    assert isinstance(error.outcome.record, MemoryRecord)
    assert error.outcome.record.oom_kills == 1


@pytest.mark.parametrize(
    ("asked", "out_of_memory"),
    [(KILLED, False), (DEFAULTS, True), (replace(arm("loaded"), subject=replace(SUBJECT, memory_bytes=1 << 20)), True)],
    ids=["of something else", "without a limit", "a load without this outcome"],
)
def test_any_other_death_is_a_failed_trial(asked: Arm[Any], *, out_of_memory: bool) -> None:
    error = death_of(asked, out_of_memory=out_of_memory)
    assert isinstance(error, SubjectDiedError)
    assert error.outcome is None


def test_the_engine_may_report_a_death_late() -> None:
    """Containers in the subject's PID namespace are killed with it, and their failure is noticed first."""
    error = death_of(KILLED, out_of_memory=True, runs=3)
    assert isinstance(error, SubjectDiedError)


def test_a_failure_with_a_running_subject_is_not_a_death(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr(bench, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _: None))
    error = death_of(KILLED, out_of_memory=True, runs=1000)
    assert (type(error), error.what) == (LabError, "trial: nobody answers")
