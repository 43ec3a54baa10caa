"""From a scenario's declarations to cells, through the plugins, with a lab that is not there."""

import io
import json
from pathlib import Path
from typing import Any, cast

import pytest

from fixtures.inference.intervals import Interval
from fixtures.inference.questions import Progress, QuestionState
from fixtures.inference.verdicts import Verdict
from fixtures.network.profiles import BARE
from fixtures.pytest_plugin.measurements import _ProgressShower
from fixtures.pytest_plugin.options import RunOptions
from fixtures.pytest_plugin.run_state import RunState
from fixtures.report.progress import ProgressLine
from tests.unit.fake_bench import PLACE, claim
from tests.unit.inner_pytest import prepare

LAB = """
    import types

    import pytest

    from fixtures.errors import EngineUnavailableError
    from fixtures.pytest_plugin import measurements
    from fixtures.scenario.preconditions import PreconditionError
    from tests.unit.canned_trials import raw_trial
    from tests.unit.fake_bench import PLACE, FakeBench, arm, claim

    class Lab:
        def __init__(self, session):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            print("lab removed")

    class Bench(FakeBench):
        def __init__(self, lab, *, subjects, placement, **_):
            super().__init__(lambda arm, number: raw_trial(lags_ms=([20.0 + number % 3], [1.0])))

        def check_links(self, arms):
            {links}

        def check_instrument(self, subject):
            {instrument}

        def warm_up(self):
            pass

    @pytest.fixture(scope="session")
    def engine():
        return types.SimpleNamespace(info=lambda: {{"NCPU": {cpus}}})

    @pytest.fixture(scope="session")
    def lab_session():
        return None

    @pytest.fixture(scope="session")
    def ensure():
        return lambda specs: None

    @pytest.fixture(scope="session")
    def role_images():
        return {{"backend": "b", "client": "c", "netadmin": "n"}}

    @pytest.fixture(scope="session")
    def host_facts():
        return {{"kernel": "6.1"}}

    def test_claim(measure, prove, monkeypatch):
        monkeypatch.setattr(measurements, "Lab", Lab)
        monkeypatch.setattr(measurements, "Bench", Bench)
        stall = claim("loaded_stalls", "loaded")
        with measure(PLACE, [arm("loaded"), arm("unused")], [stall]) as measures:
            prove(measures, stall)

    def test_next():
        pass
"""


def run_lab(
    pytester: pytest.Pytester, *, instrument: str = "return 10.0", links: str = "pass", cpus: int = 2
) -> pytest.RunResult:
    """Decide one claim in a stand-in lab, then run another test."""
    prepare(pytester, LAB.format(instrument=instrument, links=links, cpus=cpus))
    return pytester.runpytest_inprocess("-rsP", "--seed", "1")


def cells(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    """Return the cells of the inner run's results."""
    document = json.loads((pytester.path / "results/latest/results.json").read_text(encoding="utf-8"))
    assert document["host"] == {"kernel": "6.1"}
    return cast("list[dict[str, Any]]", document["cells"])


def test_a_claim_goes_from_the_lab_to_results_and_table(pytester: pytest.Pytester) -> None:
    """Progress is shown while output is captured; only the arms that the claim needs are measured."""
    result = run_lab(pytester)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "stall, nginx 1.22: starting 1 subjects",
            "stall, nginx 1.22: block 1 done",
            "*loaded_stalls: 1/6 blocks, 21×",  # noqa: RUF001 - as it is shown
            "*loaded_stalls: 6 blocks, * → holds",
            "*lab removed*",
            "*= verdicts =*",
        ]
    )
    (cell,) = cells(pytester)
    assert (cell["verdict"], cell["blocks"], list(cell["arms"])) == ("holds", 6, ["loaded"])
    assert cell["id"] == "stall/loaded_stalls/nginx-1.22/bare"


@pytest.mark.parametrize(
    ("lab", "reason"),
    [
        ({"cpus": 1}, "this engine has 1 CPU; timing claims need at least 2 give the virtual machine"),
        ({"instrument": "raise PreconditionError('the probe cannot tell')"}, "the probe cannot tell"),
        ({"links": "raise PreconditionError('the link is not what')"}, "the link is not what"),
    ],
    ids=["one-cpu", "instrument", "link"],
)
def test_a_failed_precondition_is_unsupported_and_never_a_failed_claim(
    pytester: pytest.Pytester, lab: dict[str, Any], reason: str
) -> None:
    """The cell says why; the lab is removed all the same, and the run goes on."""
    result = run_lab(pytester, **lab)
    result.assert_outcomes(skipped=1, passed=1)
    result.stdout.fnmatch_lines([f"*reason: {reason}*"])
    (cell,) = cells(pytester)
    assert (cell["verdict"], cell["effect"], cell["blocks"]) == ("unsupported", None, 0)
    assert cell["reason"].startswith(reason)


def test_an_engine_that_goes_away_is_no_property_of_the_host(pytester: pytest.Pytester) -> None:
    """It would make the same claim unsupported here and supported tomorrow: the run ends instead."""
    result = run_lab(pytester, instrument="raise EngineUnavailableError('the engine is gone')")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["the engine is gone", "*the engine is gone; the run ends here*"])
    assert cells(pytester) == []


def test_only_the_claims_of_the_selected_tests_are_measured(pytester: pytest.Pytester) -> None:
    """Those of this module and this version: a claim that nobody asked for costs no trials."""
    prepare(
        pytester,
        """
        import pytest

        from fixtures.pytest_plugin.measurements import selected_claims

        @pytest.fixture(scope="module")
        def selected(request, nginx, network):
            return selected_claims(request, {name: name for name in ("one", "two", "three")}, nginx, network)

        @pytest.mark.claim("one")
        def test_one(selected, nginx):
            print(f"{nginx} measures {selected}")

        @pytest.mark.claim("two")
        def test_two(selected):
            pass

        @pytest.mark.claim("three")
        def test_three(selected):
            pass
        """,
    )
    pytester.makepyfile(
        test_elsewhere="""
        import pytest

        @pytest.mark.claim("of_another_scenario")
        def test_other(nginx):
            pass
        """
    )
    result = pytester.runpytest_inprocess(
        "-s", "--nginx", "1.22", "--nginx", "1.30", "-k", "not three and not (two and 1.30)"
    )
    result.assert_outcomes(passed=5, deselected=3)
    result.stdout.fnmatch_lines(["*1.22 measures [[]'one', 'two'[]]", "*1.30 measures [[]'one'[]]"])


def test_progress_names_the_trial_and_after_a_block_every_claim() -> None:
    """Undecided claims show the next look; decided ones their verdict."""
    stream = io.StringIO()
    options = RunOptions(
        nginx=("1.22",),
        networks=(BARE,),
        shaper="auto",
        depth="quick",
        seed=1,
        results=Path("results"),
        strict_evidence=False,
    )
    run = RunState(options=options, progress=ProgressLine(stream, interactive=True))
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
