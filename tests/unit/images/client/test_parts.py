"""The load generators' small parts: the machine's figures, loads in processes of their own."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from images.client.loadgen.background import Background
from tuneproof.lab.protocol.codec import MalformedMessageError
from tuneproof.lab.protocol.cpu_times import CpuTimes, MachineShares

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What a load in the background may bring."""

    pid: int
    values: tuple[int, ...]


def test_busy_and_stolen_time_are_shares_of_all_time_between_two_readings() -> None:
    """Waiting for a disk is idle time; stolen time is neither busy nor idle."""
    earlier = CpuTimes(jiffies=(100, 10, 50, 800, 20, 5, 15, 0))
    later = CpuTimes(jiffies=(120, 10, 60, 840, 30, 5, 15, 20))
    assert later.since(earlier) == MachineShares(busy_pct=30.0, steal_pct=20.0)


def test_a_background_load_runs_in_another_process_and_hands_its_result_back() -> None:
    result = Background(lambda: Counted(pid=os.getpid(), values=tuple(range(100_000))), Counted).result()
    assert result.pid != os.getpid()
    assert result.values == tuple(range(100_000))


def test_a_background_load_that_brings_something_else_is_an_error() -> None:
    with pytest.raises(MalformedMessageError, match="Counted lacks pid, values"):
        Background(cast("Callable[[], Counted]", dict), Counted).result()


def test_a_background_load_that_fails_is_an_error_with_its_traceback_shown(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> Counted:
        raise OSError("no route")

    with pytest.raises(ChildProcessError, match="ended with status 1"):
        Background(fail, Counted).result()
    assert "OSError: no route" in capfd.readouterr().err


def test_a_background_load_that_is_killed_is_an_error() -> None:
    """The kernel's signal is told, too."""

    def die() -> Counted:
        os.kill(os.getpid(), 9)
        return Counted(pid=0, values=())

    with pytest.raises(ChildProcessError, match="ended with status -9"):
        Background(die, Counted).result()
