"""The summary of a recording of many workers, in few lines."""

from dataclasses import replace

import pytest

from tests.support.canned_loops import IDLE, SECOND
from tuneproof.explain.parse.event_loop import LoopRecording, LoopSecond
from tuneproof.explain.parse.event_loop_summary import WorkerLoop, summarise
from tuneproof.watch.diagnosis import diagnosis, table


def loops(*seconds: LoopSecond) -> tuple[WorkerLoop, ...]:
    return summarise(LoopRecording(began="", seconds=seconds))


STALLED = tuple(replace(SECOND, worker=number) for number in range(100, 120))
WITHOUT_REQUESTS = tuple(replace(IDLE, worker=number, iterations=0, histogram={}) for number in range(200, 300))


def test_three_of_many_stalled_workers_are_explained_and_the_others_named() -> None:
    """There is one remedy for all of them."""
    lines = list(diagnosis(loops(*STALLED)))
    assert [line.split()[2] for line in lines if line.startswith("Found: ")] == ["100", "101", "102"]
    assert "  The same: 17 more workers: 103, 104, 105, 106, 107, 108, 109, 110, ..." in lines
    assert sum(line.startswith("  Next: ") for line in lines) == 1


def test_for_many_workers_the_table_has_those_with_the_longest_iterations() -> None:
    lines = list(table(loops(*STALLED, IDLE, *WITHOUT_REQUESTS)))
    assert [line.split()[1] for line in lines[:16]] == [str(number) for number in range(100, 116)]
    assert lines[16:] == ["5 more workers: no iteration longer than 40 ms", "100 workers idle"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (WITHOUT_REQUESTS, "No iteration of an event loop was seen: nginx had nothing to do."),
        ((IDLE,), "No problem found in the event loops."),
    ],
    ids=["no-requests", "healthy"],
)
def test_if_nothing_is_wrong_it_says_so(seconds: tuple[LoopSecond, ...], said: str) -> None:
    assert next(diagnosis(loops(*seconds))) == said


def test_causes_that_no_worker_shows_are_ruled_out() -> None:
    *_, last = diagnosis(loops(*STALLED))
    assert last.startswith("Ruled out: stopped by a signal, starved of CPU")
    assert "reading and writing" not in last
