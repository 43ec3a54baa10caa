"""Fixtures for several modules, and Hypothesis without a clock: other work on the machine fails no test."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.fake_kernel import Proc

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    """A process table without nginx."""
    return Proc(tmp_path)
