"""Results below a temporary folder, for the tests beside it."""

from pathlib import Path

import pytest

from tuneproof.report.results.run_file import ResultsWriter


@pytest.fixture
def writer(tmp_path: Path) -> ResultsWriter:
    """Results below a temporary folder."""
    return ResultsWriter.create(tmp_path, host={}, seed=1, options={})
