"""What readings of counters say about the time between them, and what they do not."""

from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.diagnosis.signs.counter_changes import CounterChanges
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot

OVERFLOWS = "TcpExt.ListenOverflows"


def reading(overflows: int, *, source: str = "proc", segments: int = 5000) -> CounterSnapshot:
    return CounterSnapshot(
        source=source, counters={OVERFLOWS: overflows, "TcpExt.ListenDrops": overflows, "Tcp.OutSegs": segments}
    )


def files(*readings: CounterSnapshot) -> EvidenceSet:
    return EvidenceSet(
        counters=tuple(Named(name=f"file {number}", content=(each,)) for number, each in enumerate(readings))
    )


def test_two_files_are_compared_in_their_order() -> None:
    """A counter that stood still is told as such.

    One that went backwards tells nothing of the time between: the files may be in the wrong order, and 900 overflows of
    last week would be an alarm of today. Nor are two tools at one moment before and after.
    """
    changes = CounterChanges(files(reading(5), reading(9)))
    assert changes.grown_number(OVERFLOWS) == 4
    still = changes.grown("Tcp.OutSegs")
    assert still is not None
    assert still.number == 0
    backwards = files(reading(905), reading(900))
    assert CounterChanges(backwards).grown(OVERFLOWS) is None
    assert diagnose(backwards).found == ()
    assert CounterChanges(files(reading(5), reading(5, source="nstat"))).grown(OVERFLOWS) is None


def test_of_many_readings_only_the_step_backwards_is_left_out() -> None:
    """The machine was restarted in the middle of the loop."""
    loop = tuple(reading(number, segments=segments) for number, segments in ((5, 50), (8, 60), (1, 10), (2, 20)))
    given = EvidenceSet(counters=(Named(name="loop", content=loop),))
    assert CounterChanges(given).grown_number(OVERFLOWS) == 3 + 1
