"""Two levels of detail: which one fits."""

from tuneproof.watch.levels import MOST_CALLS_PER_S, Levels, Rate
from tuneproof.watch.program import Level

IDLE = Rate(iterations=1, reads_and_writes=1)
FULL = Rate(iterations=30_000, reads_and_writes=30_000)
BULK = Rate(iterations=100, reads_and_writes=40_000)


def test_calls_are_timed_of_quiet_workers_and_of_bulk_transfers() -> None:
    """Those iterate seldom, and what their calls do is the question."""
    levels = Levels()
    assert not levels.adapt([IDLE, BULK])
    assert levels.level is Level.CALLS


def test_one_worker_at_full_load_ends_that_at_once() -> None:
    """It would pay for each call."""
    levels = Levels()
    assert levels.adapt([IDLE, FULL])
    assert levels.level is Level.ITERATIONS
    assert not levels.adapt([IDLE, FULL])


def test_ten_calm_seconds_bring_it_back_and_a_load_that_pulsates_does_not() -> None:
    levels = Levels()
    levels.adapt([FULL])
    busy = Rate(iterations=0, reads_and_writes=0.6 * MOST_CALLS_PER_S)
    assert not any(levels.adapt([rate]) for rate in [*[IDLE] * 9, busy, *[IDLE] * 9])
    assert levels.adapt([IDLE])
    assert levels.level is Level.CALLS


def test_without_workers_nothing_changes() -> None:
    assert not Levels().adapt([])
