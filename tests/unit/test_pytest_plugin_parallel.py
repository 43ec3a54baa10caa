"""In a worker of pytest-xdist: what it lacks, and what it does not get."""

import pytest

from tests.unit.inner_pytest import prepare

_SOURCE = """
    def test_progress(run_state):
        run_state.progress.update("nobody sees this")
        run_state.progress.line("nor this")

    def test_engine(engine):
        raise AssertionError("nobody comes here")
"""
_AS_A_WORKER = """

@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.workerinput = {}
"""


def test_a_worker_has_no_terminal_and_gets_no_engine(pytester: pytest.Pytester) -> None:
    """Progress goes nowhere. Two labs at once would measure each other: the message says what to do."""
    prepare(pytester, _SOURCE)
    with (pytester.path / "conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(_AS_A_WORKER)
    run = pytester.inline_run("-p", "no:terminal", "-p", "no:xdist")
    passed, skipped, failed = run.listoutcomes()
    assert ([report.location[2] for report in passed], skipped) == (["test_progress"], [])
    (refused,) = failed
    assert str(refused.longrepr).startswith("-n: what needs the engine runs in one process\n  to do: leave -n out")
