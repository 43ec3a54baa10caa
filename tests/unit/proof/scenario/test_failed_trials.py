"""A trial that fails costs its block; two failures of the same arm in a row end the scenario."""

from collections.abc import Callable, Collection

import pytest

from tests.support.canned_trials import outcome
from tests.support.fake_bench import Deciding, FakeBench, claim, stalled
from tuneproof.errors import EngineUnavailableError, LabError, TuneproofError
from tuneproof.lab.load.stall_observation import StallRecord
from tuneproof.proof.scenario.bench import SubjectDiedError
from tuneproof.proof.scenario.measurement import ScenarioEndedError
from tuneproof.proof.stopping import RunEndedError
from tuneproof.report.results.run_file import load

DIED = SubjectDiedError("subject", tail="signal 9", outcome=None)


def failing(error: TuneproofError, *numbers: int) -> FakeBench:
    """Return a bench where an arm's trials with these numbers fail."""

    def canned(arm: str, number: int) -> StallRecord:
        if number in numbers:
            raise error
        return stalled(arm, number)

    return FakeBench(canned)


@pytest.mark.parametrize(
    "error", [DIED, LabError("the client answers nonsense"), EngineUnavailableError("the response was lost")], ids=repr
)
def test_a_failing_trial_costs_its_block_and_the_lab_starts_again(error: TuneproofError, decide: Deciding) -> None:
    """The evidence contains the reason, and the first lab's log as well as the second's."""
    bench = failing(error, 3)
    cell = decide(bench)
    assert (cell.verdict, cell.blocks, cell.void_blocks, bench.failures) == ("holds", 5, 1, [error])
    assert [item["void_reasons"] for item in decide.samples(cell)] == [[], [], [error.what], [], [], []]
    log = decide.texts(cell)["subject.access.log"]
    assert [f'trial="loaded-b{block}"' in log for block in (1, 2, 3, 4, 6)] == [True] * 5


@pytest.mark.parametrize(("numbers", "failures"), [((2, 3), 1), ((1, 2), 1), ((2, 4, 6, 8), 4)], ids=repr)
def test_only_a_second_failure_in_a_row_ends_the_scenario(
    numbers: Collection[int], failures: int, decide: Deciding
) -> None:
    bench = failing(DIED, *numbers)
    if failures == 1:
        with pytest.raises(ScenarioEndedError, match=r"the lab failed twice: .* died during a trial") as ended:
            decide(bench)
        assert (ended.value.cell.verdict, ended.value.tail) == ("unsupported", "signal 9")
    else:
        assert decide(bench).verdict == "holds"
    assert len(bench.failures) == failures


def test_failures_in_different_arms_are_not_failures_in_a_row(decide: Deciding) -> None:
    bench = failing(DIED, 2)
    cell = decide(bench, "loaded", "idle", effect=lambda _: 9.0)
    assert (cell.verdict, cell.void_blocks, len(bench.failures)) == ("holds", 1, 2)


def test_a_death_that_is_an_outcome_is_a_valid_trial(decide: Deciding) -> None:
    """It counts each time, since the scenario itself has set the memory limit."""
    bench = failing(SubjectDiedError("subject", tail="", outcome=outcome(stalled("", 1))), *range(20))
    cell = decide(bench)
    assert (cell.verdict, cell.blocks, cell.void_blocks, len(bench.failures)) == ("holds", 5, 0, 5)


def test_an_unavailable_log_does_not_prevent_a_verdict(decide: Deciding, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the engine disappears after the last trial, only the log is lost."""

    def gone(_subject: str) -> str:
        raise EngineUnavailableError("the engine stopped answering")

    bench = FakeBench(stalled)
    monkeypatch.setattr(bench, "access_log", gone)
    cell = decide(bench)
    assert cell.verdict == "holds"
    assert not [path for path in cell.evidence if "access" in path]


def test_a_trial_fails_if_the_noise_cannot_be_measured(decide: Deciding, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client measures the noise before each block."""
    bench = FakeBench(stalled)
    looks: list[Callable[[], float]] = []

    def look() -> float:
        looks.append(look)
        if len(looks) == 2:
            raise LabError("the client does not answer")
        return 0.0

    monkeypatch.setattr(bench, "lost_cpu_pct", look)
    cell = decide(bench)
    assert (cell.verdict, cell.void_blocks, len(bench.failures)) == ("holds", 1, 1)


def test_without_a_new_lab_the_claim_is_not_decided(decide: Deciding, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = failing(DIED, 2)

    def refuse(_error: TuneproofError) -> FakeBench:
        raise EngineUnavailableError("the engine did not come back")

    monkeypatch.setattr(bench, "renew", refuse)
    asked = claim("stall", "loaded")
    with pytest.raises(ScenarioEndedError, match="did not come back"):
        decide.measuring(bench, asked).decide(asked)


@pytest.mark.parametrize("why", ["engine", "run"])
def test_without_its_engine_or_after_the_end_of_the_run_a_claim_gets_no_result(decide: Deciding, why: str) -> None:
    """The claim was not tested here and may be tested elsewhere."""
    gone = EngineUnavailableError("gone")
    asked = claim("stall", "loaded")
    running = decide.measuring(failing(gone if why == "engine" else DIED, 1, 2), asked)
    if why == "engine":
        running._may_go_on = lambda: False
    else:
        running._stop.ask()
    with pytest.raises(EngineUnavailableError if why == "engine" else RunEndedError):
        running.decide(asked)
    assert not load(decide.writer.folder).cells


def test_the_log_of_a_lab_that_failed_twice_is_shown_once(decide: Deciding) -> None:
    """Other claims in the scenario only get the reason, and nothing is measured for them."""
    bench = failing(DIED, 1, 2)
    first, second = claim("first", "loaded"), claim("second", "loaded")
    running = decide.measuring(bench, first, second)
    tails = []
    for asked in (first, second):
        with pytest.raises(ScenarioEndedError) as ended:
            running.decide(asked)
        tails.append(ended.value.tail)
    assert (tails, len(bench.trials)) == (["signal 9", ""], 2)
    assert [cell.verdict for cell in load(decide.writer.folder).cells] == ["unsupported", "unsupported"]
