"""Watching stays cheap: what is given up, and when it comes back."""

import pytest

from tuneproof.watch.plan import MOST_COST_SHARE, Plan, costs
from tuneproof.watch.program import X86_64, program
from tuneproof.watch.workers import Worker

ONE, TWO = Worker(pid=1, name="nginx"), Worker(pid=2, name="nginx")
CHEAP, DEAR = MOST_COST_SHARE / 100, MOST_COST_SHARE * 2


def plan() -> Plan:
    """Two workers, watched as at the start."""
    return Plan(workers=(ONE, TWO))


def test_the_busiest_worker_loses_its_timed_calls_first() -> None:
    """Another one that stands still seldom iterates, and is the one to look at."""
    of = plan()
    assert of.adapt({1: 30_000, 2: 100}, DEAR)
    assert of.detailed == {2}
    assert not of.adapt({1: 30_000, 2: 100}, MOST_COST_SHARE / 2)
    assert of.adapt({1: 100, 2: 100}, MOST_COST_SHARE / 2)
    assert of.detailed == {1, 2}


def test_many_calls_in_few_iterations_are_timed_in_fewer() -> None:
    """Bulk transfers cost by their calls: one iteration in sixteen shows as well what they do."""
    of = plan()
    assert of.adapt({1: 200, 2: 100}, DEAR)
    assert of.detailed == {1, 2}
    assert of.timed == 16
    assert of.adapt({1: 200, 2: 100}, CHEAP)
    assert of.timed == 4


def test_without_timed_calls_short_iterations_are_sampled() -> None:
    """It ends there: more cannot be given up."""
    of = plan()
    of.adapt({1: 30_000, 2: 30_000}, DEAR)
    assert of.detailed == frozenset()
    assert [(of.adapt({1: 30_000, 2: 30_000}, DEAR), of.every) for _ in range(5)] == [
        (True, 4), (True, 16), (True, 64), (True, 256), (False, 256),
    ]  # fmt: skip


def test_what_other_processes_pay_is_told_apart() -> None:
    """The last two programs run at everybody's calls; returning at once costs what the cheapest costs on average."""
    runs = [(1_000, 10), (500, 10), (60_000, 1_000), (70_000, 1_000)]
    assert costs(runs, own_calls=200, times_calls=True) == (131_500, 131_500 - 2 * 800 * 50)
    assert costs(runs, own_calls=200, times_calls=False) == (131_500, 131_500)


@pytest.mark.parametrize("detailed", [frozenset[int](), frozenset({7})])
def test_every_process_is_named_in_the_program_and_no_placeholder_is_left(detailed: frozenset[int]) -> None:
    """A worker that no filter names is not watched."""
    text = program(X86_64, watched={7, 8}, detailed=detailed, every=4, timed=16)
    assert "tid == 7 || tid == 8" in text
    assert "args->next_pid == 7 || args->next_pid == 8" in text
    assert ("raw_syscalls" in text) == bool(detailed)
    assert "$$" not in text
    assert text.count("{") == text.count("}")
