"""Several engines take the parts of a run from a shared pool."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.written_results import a_cell, unsupported
from tuneproof.proof.matrix.pool import Part, Pile, calmer_than, noise_of
from tuneproof.report.results.cells import Cell


def shards(count: int) -> list[Part]:
    return [Part(shard=f"{number}/{count}") for number in range(1, count + 1)]


def taking(parts: Iterator[Part]) -> tuple[threading.Thread, list[Part]]:
    """Take parts in another thread until there are no more; return the thread, and a list of the parts taken so far."""
    taken: list[Part] = []
    thread = threading.Thread(target=lambda: taken.extend(parts), daemon=True)
    thread.start()
    return thread, taken


def wait_for(taken: list[Part], count: int) -> None:
    deadline_s = time.monotonic() + 10
    while len(taken) < count and time.monotonic() < deadline_s:
        time.sleep(0.001)
    assert len(taken) == count


def test_every_part_is_taken_once() -> None:
    pile = Pile(shards(4), {"a", "b"})
    first, second = pile.parts_for("a"), pile.parts_for("b")
    assert [next(first), next(second), next(second), next(first)] == shards(4)
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(list, (first, second))) == [[], []]
    assert pile.open_parts == ()


def test_a_lost_engines_part_goes_to_one_that_waits() -> None:
    """An engine that has finished waits for the others, since one of them may still be lost."""
    one, two = shards(2)
    pile = Pile([one, two], {"a", "b"})
    lost = pile.parts_for("a")
    assert next(lost) == one
    waiting, taken = taking(pile.parts_for("b"))
    wait_for(taken, 1)
    assert waiting.is_alive()
    pile.give_back("a")
    waiting.join(10)
    assert taken == [two, one]
    assert list(lost) == []


def test_an_engine_that_stepped_aside_takes_nothing_while_another_one_is_left() -> None:
    """If all others are lost, it continues, since no other engine can do the rest."""
    one, two, three = shards(3)
    pile = Pile([one, two, three], {"a", "b"})
    noisy, calm = pile.parts_for("a"), pile.parts_for("b")
    assert [next(noisy), next(calm)] == [one, two]
    pile.step_aside("a")
    waiting, taken = taking(noisy)
    waiting.join(0.05)
    assert waiting.is_alive()
    assert taken == []
    pile.give_back("b")
    waiting.join(10)
    assert taken == [two, three]


def seen(lost_pct: float) -> Cell:
    """Return a cell; ``lost_pct`` is the median share of CPU time lost before its blocks."""
    return a_cell(host_noise={"looks": 6, "lost_p50_pct": lost_pct, "lost_max_pct": 90.0, "waited_s": 0.0})


def test_an_engines_noise_is_the_median_of_its_cells() -> None:
    """One cell that a neighbour disturbed hardly changes it; cells without a measurement of noise are left out."""
    assert noise_of([seen(3.0), seen(80.0), unsupported(), seen(5.0)]) == 5.0
    assert noise_of([unsupported()]) is None


@pytest.mark.parametrize(
    ("noise_pct", "calmer"),
    [
        ({"a": 40.0, "b": 20.0, "c": 5.0, "d": 9.0}, "c"),
        ({"a": 40.0, "b": 20.0}, "b"),
        ({"a": 40.0, "b": 21.0}, None),
        ({"a": 15.0, "b": 1.0}, None),
        ({"a": 16.0, "b": 1.0}, "b"),
        ({"a": 40.0}, None),
    ],
    ids=["calmest", "half", "all-noisy", "quiet-enough", "noisy", "no-other"],
)
def test_an_engine_is_too_noisy_if_another_is_at_most_half_as_noisy(
    noise_pct: dict[str, float], calmer: str | None
) -> None:
    """Its noise must also be above 15 %."""
    assert calmer_than("a", noise_pct) == calmer


def test_the_calmest_engine_is_never_too_noisy() -> None:
    """Therefore, one engine always remains."""
    assert calmer_than("b", {"a": 90.0, "b": 40.0, "c": 80.0}) is None
