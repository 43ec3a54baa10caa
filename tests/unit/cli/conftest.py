"""A fixture that runs the command line in this process."""

import pytest

from tests.support.command_line import Ended, Lab
from tuneproof.cli.main import main


@pytest.fixture
def lab(capsys: pytest.CaptureFixture[str]) -> Lab:
    def run(*words: object) -> Ended:
        status = main(list(map(str, words)))
        return Ended(status, *capsys.readouterr())

    return run
