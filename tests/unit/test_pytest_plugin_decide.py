"""What is shown of a claim while it is measured, and once it is decided."""

import io
from pathlib import Path

import pytest

from fixtures.inference.intervals import Interval
from fixtures.inference.questions import Progress, QuestionState
from fixtures.inference.verdicts import Verdict
from fixtures.network.profiles import BARE
from fixtures.pytest_plugin.measurements import _ProgressShower, decide
from fixtures.pytest_plugin.options import RunOptions
from fixtures.pytest_plugin.run_state import RunState
from fixtures.report.progress import ProgressLine
from tests.unit.fake_bench import PLACE, claim
from tests.unit.inner_pytest import Decided


def run_state(stream: io.StringIO, *, results: Path = Path("results")) -> RunState:
    """Return the state of a run that shows its progress on a stream."""
    options = RunOptions(
        nginx=("1.22",),
        networks=(BARE,),
        shaper="auto",
        depth="quick",
        seed=1,
        results=results,
        strict_evidence=False,
    )
    return RunState(options=options, progress=ProgressLine(stream, interactive=True))


def test_the_table_of_a_claim_is_shown_as_soon_as_it_is_decided(tmp_path: Path) -> None:
    """From the cell's own figures, also when nobody expected the verdict; the cell is entered all the same."""
    stream = io.StringIO()
    run = run_state(stream, results=tmp_path)
    grid = claim("grid", "loaded", table=lambda arms: [f"{name}: {arm['trials']}" for name, arm in arms.items()])
    assert decide(grid, Decided(run), run).verdict == "holds"
    assert stream.getvalue().splitlines()[-1].strip() == "loaded: 6"
    with pytest.raises(pytest.fail.Exception, match="refuted, expected holds"):
        decide(grid, Decided(run, verdict="refuted", arms={"loaded": {"trials": 9}}), run)
    assert stream.getvalue().splitlines()[-1].strip() == "loaded: 9"
    assert [cell.verdict for cell in run.cells] == ["holds", "refuted"]


@pytest.mark.parametrize("arms", [{}, {"loaded": {"trials": 6}}], ids=["nothing-measured", "no-table"])
def test_without_a_table_or_figures_nothing_is_shown(tmp_path: Path, arms: dict[str, dict[str, int]]) -> None:
    """A claim that is unsupported here has none to show."""
    stream = io.StringIO()
    run = run_state(stream, results=tmp_path)
    plain = claim("plain", "loaded", table=None if arms else lambda _: ["a line"])
    decide(plain, Decided(run, arms=arms), run)
    assert stream.getvalue() == ""


def test_progress_names_the_trial_and_after_a_block_every_claim() -> None:
    """Undecided claims show the next look; decided ones their verdict."""
    stream = io.StringIO()
    run = run_state(stream)
    shower = _ProgressShower(run, PLACE, [claim("one", "a"), claim("two", "a")])
    undecided = QuestionState(blocks=4, void_blocks=0, next_look=6, effect=20.0, interval=None, verdict=None)
    decided = QuestionState(
        blocks=6,
        void_blocks=0,
        next_look=None,
        effect=20.0,
        interval=Interval(value=20.0, low=15.0, high=25.0),
        verdict=Verdict.HOLDS,
    )
    states = {"one": undecided, "two": decided, "control": decided}
    shower(Progress(block=4, arm="a", trials_done=1, trials_in_block=3, states=states))
    assert stream.getvalue().endswith("stall, nginx 1.22: block 4, trial 2 of 3: a")
    run.progress.close()
    stream.truncate(0)
    stream.seek(0)
    shower(Progress(block=4, arm=None, trials_done=3, trials_in_block=3, states=states))
    assert [line.strip() for line in stream.getvalue().splitlines()] == [
        "stall, nginx 1.22: block 4 done",
        "one: 4/6 blocks, 20×",  # noqa: RUF001 - as it is shown
        "two: 6 blocks, 20× [15–25] → holds",  # noqa: RUF001 - as it is shown
    ]
