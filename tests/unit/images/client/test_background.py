"""Loads in processes of their own."""

import os
from dataclasses import dataclass

import pytest

from images.client.loadgen.background import Background


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The result of a load in the background."""

    pid: int
    values: tuple[int, ...]


def test_a_background_load_runs_in_another_process_and_returns_its_result() -> None:
    result = Background(lambda: Counted(pid=os.getpid(), values=tuple(range(100_000)))).result()
    assert result.pid != os.getpid()
    assert result.values == tuple(range(100_000))


def test_a_background_load_that_fails_is_an_error_and_its_traceback_is_printed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fail() -> Counted:
        raise OSError("no route")

    with pytest.raises(ChildProcessError, match="ended with status 1"):
        Background(fail).result()
    assert "OSError: no route" in capfd.readouterr().err


def test_a_background_load_that_is_killed_is_an_error() -> None:
    """The kernel's signal is reported, too."""

    def die() -> Counted:
        os.kill(os.getpid(), 9)
        return Counted(pid=0, values=())

    with pytest.raises(ChildProcessError, match="ended with status -9"):
        Background(die).result()
