"""The load decides between two levels of detail."""

from tuneproof.watch.levels import MOST_CALLS_PER_S, Levels, Rate
from tuneproof.watch.program import Level

IDLE = Rate(iterations=1, reads_and_writes=1)
FULL = Rate(iterations=30_000, reads_and_writes=30_000)
BULK = Rate(iterations=100, reads_and_writes=40_000)


def test_calls_are_timed_for_quiet_workers_and_bulk_transfers() -> None:
    """Both make fewer system calls per second than the limit."""
    levels = Levels()
    assert not levels.adapt([IDLE, BULK])
    assert levels.level is Level.CALLS


def test_one_worker_at_full_load_ends_timing_at_once() -> None:
    """Timing would add a cost to each call."""
    levels = Levels()
    assert levels.adapt([IDLE, FULL])
    assert levels.level is Level.ITERATIONS
    assert not levels.adapt([IDLE, FULL])


def test_ten_calm_seconds_restore_timing_and_a_pulsating_load_does_not() -> None:
    levels = Levels()
    levels.adapt([FULL])
    busy = Rate(iterations=0, reads_and_writes=0.6 * MOST_CALLS_PER_S)
    assert not any(levels.adapt([rate]) for rate in [*[IDLE] * 9, busy, *[IDLE] * 9])
    assert levels.adapt([IDLE])
    assert levels.level is Level.CALLS


def test_seconds_without_workers_are_calm() -> None:
    levels = Levels(level=Level.ITERATIONS)
    assert [levels.adapt([]) for _ in range(10)] == [*[False] * 9, True]
