"""The signs of each worker in a recording of event loops, as ``watch`` and ``explain`` use them."""

from dataclasses import replace

import pytest

from tests.support.canned_loops import IDLE, SECOND, STALL, TEXT
from tuneproof.explain.diagnosis.causes import event_loop_stall
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.diagnosis.render import rows
from tuneproof.explain.diagnosis.signs.event_loops import signs
from tuneproof.explain.parse.event_loop import LongIteration, LoopRecording, LoopSecond, parse
from tuneproof.explain.parse.event_loop_summary import Reason, WorkerLoop, summarise

FULL = replace(STALL, events=200, took_s=0.008, called_s=0.004, waited_s=0.0)


def loops(*seconds: LoopSecond) -> tuple[WorkerLoop, ...]:
    return summarise(LoopRecording(began="", seconds=seconds))


def reported(*long: LongIteration, **changes: object) -> list[tuple[Reason, CauseVerdict]]:
    """Return the signs of a worker that had these long iterations in ten seconds."""
    second = replace(SECOND, long=long, lasted_s=10.0, **changes)  # type: ignore[arg-type]  # fields by name
    return [(sign.reason, sign.verdict) for sign in signs(loops(second))]


@pytest.mark.parametrize(
    ("long", "expected"),
    [
        ((), []),
        ((STALL,) * 20, []),
        ((STALL,) * 40, [(Reason.CALLS, CauseVerdict.FOUND)]),
        ((replace(STALL, called_s=0.001),) * 40, [(Reason.COMPUTING, CauseVerdict.FOUND)]),
        ((replace(STALL, blocked_s=0.03),) * 40, [(Reason.BLOCKED, CauseVerdict.FOUND)]),
        ((replace(STALL, took_s=0.15, called_s=0.14),), [(Reason.CALLS, CauseVerdict.RARE)]),
        ((replace(STALL, took_s=0.5, blocked_s=0.45),), [(Reason.BLOCKED, CauseVerdict.FOUND)]),
        ((replace(STALL, waited_s=0.039),) * 40, [(Reason.STARVED, CauseVerdict.FOUND)]),
        ((replace(STALL, waited_s=0.0, took_s=0.01, stopped_s=0.0099),), [(Reason.STOPPED, CauseVerdict.FOUND)]),
        ((FULL,) * 400, [(Reason.MANY_EVENTS, CauseVerdict.FOUND)]),
        ((*(replace(STALL, called_s=None),) * 30, *(STALL,) * 10), [(Reason.CALLS, CauseVerdict.FOUND)]),
    ],
    ids=["none", "few", "many", "computing", "blocked", "one-150-ms", "one-500-ms", "starved", "stopped-10-ms",
         "full", "sampled"],
)  # fmt: skip
def test_the_verdict_on_delays_depends_on_their_length_and_frequency(
    long: tuple[LongIteration, ...], expected: list[tuple[Reason, CauseVerdict]]
) -> None:
    """A delay is found if 10 % of new events wait for 5 ms or longer, or 1 % for 100 ms. A stop is always found."""
    assert reported(*long) == expected


def test_waiting_for_a_cpu_before_iterations_is_reported() -> None:
    """Waits of an idle worker do not matter. A starved worker may also stall."""
    starved = (Reason.STARVED, CauseVerdict.FOUND)
    assert reported(run_s=3.0, wait_s=3.0) == [starved]
    assert reported(run_s=5.0, wait_s=1.0) == reported(run_s=0.1, wait_s=0.2) == []
    # Stalls count as a share of the time without waits: 20 are too few in ten seconds, but not in four.
    assert set(reported(*(STALL,) * 20, run_s=1.0, wait_s=6.0)) == {starved, (Reason.CALLS, CauseVerdict.FOUND)}
    # A wait that began before the recording counts in full, so the waits may exceed the recorded time.
    assert set(reported(*(STALL,) * 20, run_s=1.0, wait_s=10.2)) == {starved, (Reason.CALLS, CauseVerdict.FOUND)}
    assert reported(replace(STALL, took_s=0.012), run_s=1.0, wait_s=10.2) == [starved]


def test_the_next_step_depends_on_the_reason_for_long_iterations() -> None:
    computing = replace(SECOND, long=(replace(STALL, called_s=0.001),) * 40)
    for second, words in ((SECOND, "separate large downloads"), (computing, "find out what computes in the worker")):
        evidence = EvidenceSet(event_loops=(Named(name="loops.json", content=loops(second)),))
        (step,) = [row.text for row in rows(diagnose(evidence)) if row.label == "Next"]
        assert step.startswith(words)


def test_the_verdict_about_a_stall_follows_from_a_recording() -> None:
    def verdict(*seconds: LoopSecond) -> CauseVerdict:
        named = Named(name="loops.json", content=loops(*seconds))
        return event_loop_stall.assess(EvidenceSet(event_loops=(named,))).verdict

    assert verdict(*parse(TEXT).seconds) is CauseVerdict.FOUND
    assert verdict(IDLE) is CauseVerdict.RULED_OUT
    assert verdict(replace(IDLE, iterations=20, histogram={16: 20})) is CauseVerdict.RULED_OUT
    assert verdict(replace(IDLE, iterations=19, histogram={16: 19})) is CauseVerdict.NOT_SEEN
    assert verdict(replace(SECOND, long=(replace(STALL, took_s=0.15),), lasted_s=10.0)) is CauseVerdict.RARE
    starved = replace(SECOND, long=(replace(STALL, waited_s=0.039),) * 40)
    assert verdict(starved) is CauseVerdict.RULED_OUT
