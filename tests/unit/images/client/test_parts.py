"""The load generators' small parts: the trial's description, the machine's figures, loads in processes of their own."""

import os
from dataclasses import asdict
from typing import Any

import pytest

from images.client.loadgen.background import Background
from images.client.loadgen.machine import CpuTimes
from images.client.loadgen.spec import TrialSpec
from tuneproof.lab.load.stall_load import StallLoad

STAT = """\
cpu  100 10 50 800 20 5 15 0 7 3
cpu0 50 5 25 400 10 2 8 0 3 1
intr 12345
"""


def as_sent(plan: StallLoad) -> dict[str, Any]:
    """Return what the library sends to the client for a plan, as JSON brings it there."""
    fields = {**asdict(plan), "address": "172.18.0.2", "port": 8000, "trial": "a-b1", "probes": True}
    # The start of the window, which the client is told when it has prepared the trial, contains this time.
    # What the observer beside the subject counts is no business of the client.
    del fields["settle_s"], fields["counts_writes"], fields["counts_turns"]
    return {**fields, "bulk_per_worker": list(plan.bulk_per_worker)}


def test_the_client_understands_every_field_of_the_librarys_plan() -> None:
    """Both sides of the container's wall describe the same trial."""
    plan = StallLoad(bulk_per_worker=(4, 0), fast_rate_hz=15)
    assert asdict(TrialSpec.from_json(as_sent(plan))) == {**as_sent(plan), "bulk_per_worker": (4, 0)}


@pytest.mark.parametrize("missing", ["trial", "bulk_per_worker", "measure_s"])
def test_a_missing_field_is_named(missing: str) -> None:
    """Inside the container a plan has no defaults: its own are the only ones."""
    fields = as_sent(StallLoad())
    del fields[missing]
    with pytest.raises(TypeError, match=missing):
        TrialSpec.from_json(fields)


def test_an_unknown_field_is_named() -> None:
    """A knob that the client does not know would silently do nothing."""
    with pytest.raises(TypeError, match="slow_readers"):
        TrialSpec.from_json({**as_sent(StallLoad()), "slow_readers": 3})


def test_cpu_time_is_counted_over_all_cpus_without_the_guests() -> None:
    """Guest time is part of user and nice already (proc(5))."""
    assert CpuTimes.parse(STAT).jiffies == (100, 10, 50, 800, 20, 5, 15, 0)


def test_busy_and_stolen_time_are_shares_of_all_time_between_two_readings() -> None:
    """Waiting for a disk is idle time; stolen time is neither busy nor idle."""
    earlier = CpuTimes(jiffies=(100, 10, 50, 800, 20, 5, 15, 0))
    later = CpuTimes(jiffies=(120, 10, 60, 840, 30, 5, 15, 20))
    assert later.since(earlier) == {"busy_pct": 30.0, "steal_pct": 20.0}


def test_no_time_between_two_readings_is_no_work() -> None:
    """A window shorter than a clock tick divides nothing by zero."""
    reading = CpuTimes.parse(STAT)
    assert reading.since(reading) == {"busy_pct": 0.0, "steal_pct": 0.0}


def test_this_machines_counters_can_be_read() -> None:
    """The format is the running kernel's."""
    assert sum(CpuTimes.read().jiffies) > 0


def test_a_background_load_runs_in_another_process_and_hands_its_result_back() -> None:
    """A result far larger than a pipe's buffer arrives whole."""
    result = Background(lambda: {"pid": os.getpid(), "values": list(range(100_000))}).result()
    assert result["pid"] != os.getpid()
    assert result["values"][-1] == 99_999


def test_a_background_load_that_fails_is_an_error_with_its_traceback_shown(capfd: pytest.CaptureFixture[str]) -> None:
    """The parent neither hangs nor takes silence for a result."""

    def fail() -> None:
        raise OSError("no route")

    with pytest.raises(ChildProcessError, match="ended with status 1"):
        Background(fail).result()
    assert "OSError: no route" in capfd.readouterr().err


def test_a_background_load_that_is_killed_is_an_error() -> None:
    """The kernel's signal is told, too."""
    with pytest.raises(ChildProcessError, match="ended with status -9"):
        Background(lambda: os.kill(os.getpid(), 9)).result()
