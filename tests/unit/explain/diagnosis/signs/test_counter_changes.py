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
    """A counter that stood still is told as such."""
    changes = CounterChanges(files(reading(5), reading(9)))
    assert changes.grown_number(OVERFLOWS) == 4
    still = changes.grown("Tcp.OutSegs")
    assert still is not None
    assert still.number == 0


def test_counters_that_go_backwards_tell_nothing_of_the_time_between() -> None:
    """The files may be in the wrong order: 900 overflows of last week would be an alarm of today."""
    given = files(reading(905), reading(900))
    assert CounterChanges(given).grown(OVERFLOWS) is None
    assert diagnose(given).found == ()


def test_of_many_readings_only_the_step_backwards_is_left_out() -> None:
    """The machine was restarted in the middle of the loop."""
    loop = tuple(reading(number, segments=segments) for number, segments in ((5, 50), (8, 60), (1, 10), (2, 20)))
    given = EvidenceSet(counters=(Named(name="loop", content=loop),))
    assert CounterChanges(given).grown_number(OVERFLOWS) == 3 + 1


def test_two_tools_at_one_moment_are_not_before_and_after() -> None:
    """/proc/net/netstat and nstat -a of the same second would rule everything out."""
    assert CounterChanges(files(reading(5), reading(5, source="nstat"))).grown(OVERFLOWS) is None
