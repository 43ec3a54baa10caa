"""Parts of a run, taken from one pile by several engines."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tuneproof.proof.matrix.pool import Pile


def test_every_part_is_taken_once_whoever_takes_it() -> None:
    """In their order."""
    pile = Pile(["1/4", "2/4", "3/4", "4/4"], {"a", "b"})
    first, second = pile.parts_for("a"), pile.parts_for("b")
    assert [next(first), next(second), next(second), next(first)] == ["1/4", "2/4", "3/4", "4/4"]
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(list, (first, second))) == [[], []]
    assert pile.open_parts == ()


def test_what_a_lost_engine_had_goes_to_one_that_waits() -> None:
    """Who is done waits for the others: one of them may be lost yet."""
    pile = Pile(["1/2", "2/2"], {"a", "b"})
    lost = pile.parts_for("a")
    assert next(lost) == "1/2"
    taken: list[str] = []
    waiting = threading.Thread(target=lambda: taken.extend(pile.parts_for("b")))
    waiting.start()
    while taken != ["2/2"]:
        time.sleep(0.001)
    assert waiting.is_alive()
    pile.give_back("a")
    waiting.join(10)
    assert taken == ["2/2", "1/2"]
    assert list(lost) == []


def test_without_any_engine_left_parts_stay_open() -> None:
    """What was given back, and what nobody had taken."""
    pile = Pile(["1/2", "2/2"], {"a"})
    parts = pile.parts_for("a")
    next(parts)
    pile.give_back("a")
    assert list(parts) == []
    assert pile.open_parts == ("1/2", "2/2")
