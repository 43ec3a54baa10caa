"""At the end of a run the pages stand beside the results, and a fault of theirs changes nothing else."""

import pytest

from fixtures.errors import DiskFullError
from fixtures.report import html
from tests.unit.inner_pytest import prepare

_CLAIM = """
    from fixtures.pytest_plugin.measurements import decide
    from tests.unit.fake_bench import claim
    from tests.unit.inner_pytest import Decided

    def test_claim(run_state):
        decide(claim("loaded", "loaded"), Decided(run_state), run_state)
"""


def test_a_run_ends_with_its_pages(pytester: pytest.Pytester) -> None:
    """The last lines say where results and pages are."""
    prepare(pytester, _CLAIM, pages=True)
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["results: results/*/results.json", "report: results/*/index.html"])
    assert (pytester.path / "results/latest/index.html").is_file()


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ZeroDivisionError("a fault"), "report: no pages: ZeroDivisionError: a fault"),
        (DiskFullError("The disk is full.", where="here", remedy="make room"), "report: no pages: The disk is full."),
    ],
)
def test_a_fault_of_the_pages_is_one_line(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    """The verdicts were shown before, and the outcome stays what it was."""

    def fail(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(html, "write_report", fail)
    prepare(pytester, _CLAIM, pages=True)
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*verdicts*", line])
