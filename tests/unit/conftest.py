"""Fixtures of more than one module."""

from pathlib import Path

import pytest

from tests.support.fake_kernel import Proc


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    """A process table without nginx."""
    return Proc(tmp_path)
