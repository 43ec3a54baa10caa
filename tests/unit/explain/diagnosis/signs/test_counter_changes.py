"""Readings of counters, and conclusions about the time between them."""

from dataclasses import replace

from tests.support.canned_evidence import readings, seen
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.signs.counter_changes import CounterChanges

OVERFLOWS = "TcpExt.ListenOverflows"


def test_two_files_are_compared_in_their_order() -> None:
    """An unchanged counter is reported as such.

    A counter that went backwards shows nothing about the time between: the files may be in the wrong order, and last
    week's 900 overflows would cause an alarm today. The outputs of two tools at the same moment are not compared
    either.
    """
    five, nine = readings({OVERFLOWS: 5}, {OVERFLOWS: 9})
    changes = CounterChanges(seen((five,), (nine,)))
    assert changes.grown_number(OVERFLOWS) == 4
    still = changes.grown("Tcp.OutSegs")
    assert still is not None
    assert still.number == 0
    backwards = seen((nine,), (five,))
    assert CounterChanges(backwards).grown(OVERFLOWS) is None
    assert diagnose(backwards).found == ()
    assert CounterChanges(seen((five,), (replace(five, source="nstat"),))).grown(OVERFLOWS) is None


def test_of_many_readings_only_the_step_backwards_is_left_out() -> None:
    """Here the machine was restarted in the middle of the loop."""
    numbers = ((5, 50), (8, 60), (1, 10), (2, 20))
    loop = readings(*({OVERFLOWS: overflows, "Tcp.OutSegs": segments} for overflows, segments in numbers))
    assert CounterChanges(seen(loop)).grown_number(OVERFLOWS) == 3 + 1
