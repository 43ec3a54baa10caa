"""The diagnosis of a recording is short for any number of workers."""

from dataclasses import replace

from tests.support.canned_loops import IDLE, SECOND
from tuneproof.explain.parse.event_loop import LoopRecording, LoopSecond
from tuneproof.explain.parse.event_loop_summary import WorkerLoop, summarise
from tuneproof.watch.diagnosis import diagnosis, table


def loops(*seconds: LoopSecond) -> tuple[WorkerLoop, ...]:
    return summarise(LoopRecording(began="", seconds=seconds))


STALLED = tuple(replace(SECOND, worker=number) for number in range(100, 120))
WITHOUT_REQUESTS = tuple(replace(IDLE, worker=number, iterations=0, histogram={}) for number in range(200, 300))


def test_the_diagnosis_contains_the_finding_the_remedy_and_what_is_ruled_out() -> None:
    """Without a problem, the first line states whether nginx had enough, little or nothing to do."""
    lines = list(diagnosis(loops(SECOND, IDLE)))
    assert lines[0] == (
        "Found: Worker 4711 stalls (busy in system calls): 10 iterations of 5 ms or longer in 1 s, of which the "
        "longest spent 38 ms on this; 33.7 % of new events wait 5 ms or longer. Its own time: 60 % in readv 8 MiB "
        "each on upstream 10.0.0.3:8000, 30 % in pwritev 6 MiB each on /var/cache/nginx/proxy_temp/1, 11 % in user "
        "space."
    )
    assert lines[-2].startswith("  Next: separate large downloads")
    assert lines[-1] == (
        "Ruled out: stopped by a signal, starved of CPU, blocked on a disk or a lock, stalled in user space."
    )
    assert next(diagnosis(loops(IDLE))) == "No problem found in the event loops."
    # A few iterations cannot rule anything out.
    rarely = list(diagnosis(loops(replace(IDLE, iterations=3))))
    assert rarely == ["No problem found in the event loops, in only 3 iterations."]
    nothing = "No event loop made an iteration: nginx had nothing to do."
    assert next(diagnosis(loops(*WITHOUT_REQUESTS))) == next(diagnosis(())) == nothing


def test_three_of_many_stalled_workers_are_explained_and_the_others_counted() -> None:
    lines = list(diagnosis(loops(*STALLED)))
    assert [line.split()[2] for line in lines if line.startswith("Found: ")] == ["100", "101", "102"]
    assert "  The same: 17 more workers: 103, 104, 105, 106, 107, 108, 109, 110, ..." in lines
    assert sum(line.startswith("  Next: ") for line in lines) == 1


def test_for_many_workers_the_table_shows_those_with_the_longest_iterations() -> None:
    lines = list(table(loops(replace(IDLE, worker=99), *STALLED, *WITHOUT_REQUESTS)))
    assert [line.split()[1] for line in lines[:16]] == [str(number) for number in range(100, 116)]
    assert lines[16:] == ["5 more workers: no iteration longer than 40 ms", "100 workers idle"]
