"""What a run leaves for a CI server: properties in JUnit XML, and the step summary of a GitHub job."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from fixtures.pytest_plugin.properties import junit_properties
from tests.unit.inner_pytest import cell, prepare

DECIDES = """
    import pytest

    from fixtures.pytest_plugin.measurements import decide
    from tests.unit.fake_bench import claim
    from tests.unit.inner_pytest import Decided

    def test_claim(run_state, request):
        case = request.node.user_properties
        decide(claim("loaded", "loaded"), Decided(run_state, {changes}), run_state, properties=case)
"""
WITH_PROVE = """
    import types

    import pytest

    from fixtures.scenario.scenarios import Scenario
    from tests.unit.fake_bench import arm, claim
    from tests.unit.inner_pytest import Decided

    SCENARIO = Scenario(name="stall", arms=(arm("a"),), claims=(claim("one", "a"),))

    @pytest.fixture
    def measures(run_state):
        return Decided(run_state)

    @pytest.mark.claim("one")
    def test_claim(prove):
        prove()
"""
INCONCLUSIVE = "verdict='inconclusive', reason='too few', expected=None"


def properties(file: Path) -> dict[str, str]:
    """Return the properties of the only test case."""
    (case,) = ET.parse(file).getroot().iter("testcase")  # noqa: S314 - pytest wrote it just now
    return {item.attrib["name"]: item.attrib["value"] for item in case.iter("property")}


@pytest.mark.parametrize(
    ("changes", "verdict", "outcome"),
    [
        ("", "holds", {"passed": 1}),
        ("verdict='refuted'", "refuted", {"failed": 1}),
        (INCONCLUSIVE, "inconclusive", {"skipped": 1}),
    ],
    ids=["passed", "failed", "skipped"],
)
def test_a_test_case_has_its_cell_as_properties(
    pytester: pytest.Pytester, changes: str, verdict: str, outcome: dict[str, Any]
) -> None:
    """However the test ends; each figure is the cell's own, in full."""
    prepare(pytester, DECIDES.format(changes=changes))
    pytester.runpytest_inprocess("--junitxml", "junit.xml").assert_outcomes(**outcome)
    found = properties(pytester.path / "junit.xml")
    assert found == {
        "cell_id": "stall/loaded/nginx-1.22/bare",
        "verdict": verdict,
        **({} if verdict == "inconclusive" else {"expected": "holds"}),
        "effect": "134.0",
        "ci_low": "98.0",
        "ci_high": "180.0",
        "unit": "ratio",
        "threshold": "10.0",
        "blocks": "6",
    }


def test_every_claim_that_is_proved_has_properties(pytester: pytest.Pytester) -> None:
    """A scenario's test says nothing of them."""
    prepare(pytester, WITH_PROVE)
    pytester.runpytest_inprocess("--junitxml", "junit.xml").assert_outcomes(passed=1)
    assert properties(pytester.path / "junit.xml")["verdict"] == "holds"


def test_a_cell_without_effect_has_no_figures_of_one() -> None:
    """A missing value is left out: an empty or zero one would be charted."""
    bare = cell(verdict="unsupported", effect=None, threshold=None, blocks=0, reason="one CPU")
    assert junit_properties(bare) == {
        "cell_id": "stall/loaded/nginx-1.22/bare",
        "verdict": "unsupported",
        "expected": "holds",
        "blocks": "0",
    }


def test_a_run_in_a_job_appends_its_verdicts(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when a claim fails; the run is finished by then."""
    prepare(pytester, DECIDES.format(changes="verdict='refuted'"))
    summary = pytester.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    pytester.runpytest_inprocess().assert_outcomes(failed=1)
    text = summary.read_text(encoding="utf-8")
    assert "### Against the expectation" in text
    assert "Interrupted" not in text


def test_an_interrupted_run_appends_what_it_has(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says that it was interrupted."""
    prepare(pytester, DECIDES.format(changes="") + "\n    def test_next():\n        raise KeyboardInterrupt\n")
    summary = pytester.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    pytester.runpytest_inprocess(no_reraise_ctrlc=True)
    text = summary.read_text(encoding="utf-8")
    assert "> Interrupted, or still running: 1 cells were decided so far." in text


def test_a_run_without_cells_appends_nothing(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unit tests in a job have no verdicts."""
    prepare(pytester, "def test_plain(): pass")
    summary = pytester.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    assert not summary.exists()


def test_a_summary_that_cannot_be_written_fails_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run has its verdicts; one line says what is missing."""
    prepare(pytester, DECIDES.format(changes=""))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "no" / "summary.md"))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*no step summary: The results folder cannot be used*"])
