"""Watching stays cheap: what is given up, and when it comes back."""

import pytest

from tuneproof.watch.plan import MOST_COST_SHARE, Plan, Rate, costs
from tuneproof.watch.program import X86_64, program
from tuneproof.watch.workers import Worker

ONE, TWO = Worker(pid=1, name="nginx"), Worker(pid=2, name="nginx")
IDLE = Rate(iterations=1, reads_and_writes=1)
FULL = Rate(iterations=30_000, reads_and_writes=30_000)
BULK = Rate(iterations=100, reads_and_writes=40_000)


def begun(one: Rate, two: Rate) -> Plan:
    """Two workers that did this before the first program ran."""
    of = Plan(workers=(ONE, TWO))
    of.begin({1: one, 2: two})
    return of


def test_a_quiet_worker_is_watched_in_full_from_the_start() -> None:
    """Each iteration counts, and its calls are timed; what came of it changes nothing."""
    of = begun(IDLE, IDLE)
    assert of.detailed == {1, 2}
    assert (of.timed, of.every) == (1, 1)
    assert not of.adapt({1: IDLE, 2: IDLE}, MOST_COST_SHARE / 100)


def test_at_full_load_the_first_program_times_no_calls() -> None:
    """The other worker, which stands still and seldom iterates, is the one to look at; one in sixteen is counted."""
    of = begun(FULL, IDLE)
    assert of.detailed == {2}
    assert of.every == 16


def test_bulk_transfers_are_timed_in_some_iterations() -> None:
    """They cost by their calls: a part shows as well what all do."""
    of = begun(BULK, IDLE)
    assert of.detailed == {1, 2}
    assert of.timed > 1


def test_a_load_that_comes_later_is_answered_before_the_next_account() -> None:
    """And when it has gone, the account brings the detail back."""
    of = begun(IDLE, IDLE)
    assert of.adapt({1: FULL, 2: IDLE}, None)
    assert of.detailed == {2}
    assert not of.adapt({1: IDLE, 2: IDLE}, None)
    assert of.adapt({1: IDLE, 2: IDLE}, MOST_COST_SHARE / 100)
    assert of.detailed == {1, 2}


def test_where_it_costs_more_than_guessed_less_is_watched() -> None:
    """The account decides; without it the guess stands."""
    of = begun(BULK, IDLE)
    assert not of.adapt({1: BULK, 2: IDLE}, None)
    assert of.adapt({1: BULK, 2: IDLE}, MOST_COST_SHARE * 2.5)
    assert of.detailed == {2}


def test_more_is_watched_only_where_that_leaves_a_fifth() -> None:
    """Else it would come and go with each account."""
    of = begun(FULL, FULL)
    assert not of.adapt({1: FULL, 2: FULL}, MOST_COST_SHARE * 0.9)
    assert of.adapt({1: FULL, 2: FULL}, MOST_COST_SHARE * 1.1)
    assert of.every == 256


def test_what_other_processes_pay_is_told_apart() -> None:
    """They run at everybody's waits, switches and calls; returning at once costs what the cheapest does."""
    runs = [(1_000, 10), (0, 0), (500, 10), (0, 0), (500, 10), (60_000, 1_000), (70_000, 1_000)]
    others = 2 * 3 + 8
    for times_calls, entered in ((True, others + 2 * 800), (False, others)):
        assert costs(runs, own_iterations=7, own_switches=2, own_calls=200, times_calls=times_calls) == (
            132_000,
            132_000 - entered * 50,
        )


@pytest.mark.parametrize("detailed", [frozenset[int](), frozenset({7})])
def test_every_process_is_named_in_the_program_and_no_placeholder_is_left(detailed: frozenset[int]) -> None:
    """A worker that no filter names is not watched."""
    text = program(X86_64, watched={7, 8}, detailed=detailed, every=4, timed=16)
    assert "tid == 7 || tid == 8" in text
    assert "args->next_pid == 7 || args->next_pid == 8" in text
    assert ("raw_syscalls" in text) == bool(detailed)
    assert "$$" not in text
    assert text.count("{") == text.count("}")


def test_exits_of_calls_are_left_alone_before_their_starts_are() -> None:
    """Probes are taken away in their order: an exit whose start nobody saw would be an earlier call's, of seconds."""
    text = program(X86_64, watched={7}, detailed={7})
    assert text.index("raw_syscalls:sys_exit") < text.index("raw_syscalls:sys_enter")
