"""Under pytest-xdist: what a worker lacks, and what it does not get."""

import pytest

from tests.unit.inner_pytest import prepare

_SOURCE = """
    def test_progress(run_state):
        run_state.progress.update("nobody sees this")
        run_state.progress.line("nor this")

    def test_engine(engine):
        raise AssertionError("nobody comes here")
"""


def test_a_worker_has_no_terminal_and_gets_no_engine(pytester: pytest.Pytester) -> None:
    """Progress goes nowhere. Two labs at once would measure each other: the message says what to do."""
    prepare(pytester, _SOURCE)
    result = pytester.runpytest_inprocess("-n", "1")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*-n: what needs the engine runs in one process*", "*leave -n out*"])
    result.stdout.no_fnmatch_line("*nobody sees this*")
    result.stdout.no_fnmatch_line("*nor this*")
