"""A fixture for several modules, and Hypothesis without deadlines, so that tests do not fail on a loaded machine."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.fake_kernel import Proc
from tuneproof.cli.output import CALLED_FROM

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# `./lab test` sets this variable to the caller's folder; commands that tests start would look for their files there.
os.environ.pop(CALLED_FROM, None)

# The objects that pytest creates while it collects tests live until the end. Searching them for garbage takes more than
# a second of CPU time in each process.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    """Return a process table without nginx."""
    return Proc(tmp_path)
