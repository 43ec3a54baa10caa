"""Keeps the results of the lab's tests separate from a user's results."""

from typing import Any

import pytest

from fixtures.options import RunState
from tuneproof.report.results.run_file import ResultsWriter


@pytest.fixture(scope="session")
def results(run_state: RunState, host_facts: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> ResultsWriter:
    """Write results.json of these tests into one of pytest's folders, so results/latest stays the user's last run."""
    run_state.writer = ResultsWriter.create(
        tmp_path_factory.mktemp("results"),
        host=host_facts,
        seed=run_state.options.seed,
        options=run_state.options_json(),
    )
    return run_state.writer
