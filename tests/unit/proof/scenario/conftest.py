"""Results in a temporary folder, for the tests in this folder."""

from pathlib import Path

import pytest

from tests.support.fake_bench import Deciding
from tuneproof.report.results.run_file import ResultsWriter


@pytest.fixture
def decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deciding:
    return Deciding(ResultsWriter.create(tmp_path, host={}, seed=1, options={}), monkeypatch)
