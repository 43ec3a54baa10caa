"""The place at which a capture was taken, and findings in its handshakes."""

from typing import Any

from tests.support.canned_evidence import both_legs, capture, seen, service, spread
from tests.support.canned_evidence import repeated_syns as syns_again
from tuneproof.explain.diagnosis.signs.handshakes import Viewpoint, no_repeated_syns, repeated_syns, viewpoint
from tuneproof.explain.diagnosis.signs.legs import captured_services


def test_an_end_that_answers_in_a_fifth_of_the_time_is_close() -> None:
    """A service without handshakes in one direction may have been captured anywhere.

    Inside nginx's namespace, the front is captured at its server, and the back at its client.
    """
    for behind_s, before_s, expected in (
        (0.0001, 0.0006, Viewpoint.SERVER),
        (0.0001, 0.0004, Viewpoint.UNKNOWN),
        (0.0004, 0.0001, Viewpoint.UNKNOWN),
        (0.0006, 0.0001, Viewpoint.CLIENT),
        (0.00005, None, Viewpoint.UNKNOWN),
    ):
        before = None if before_s is None else spread(before_s)
        given = capture(service(syn_to_synack_s=spread(behind_s), synack_to_ack_s=before))
        [where] = captured_services(seen(given))
        assert viewpoint(where) is expected
    front, back = captured_services(both_legs())
    assert (viewpoint(front), viewpoint(back)) == (Viewpoint.SERVER, Viewpoint.CLIENT)


def test_three_repeated_syns_are_a_pattern() -> None:
    """Two repeated SYNs are not."""
    three, two = (seen(service(**syns_again(count))) for count in (3, 2))
    assert [each.where.label for each in repeated_syns(three)] == ["10.0.0.2:8000"]
    assert list(repeated_syns(two)) == []


def test_twenty_simultaneous_handshakes_are_enough() -> None:
    """Nineteen are too few, and no number is enough if another handshake got no answer."""
    enough, few = (seen(service(handshakes={"complete": count})) for count in (20, 19))
    assert len(list(no_repeated_syns(enough))) == 1
    assert list(no_repeated_syns(few)) == []
    trouble: Any
    for trouble in ({"syn_retransmitted_flows": 1}, {"unanswered": 1}, {"synack_retransmitted_flows": 1}):
        assert list(no_repeated_syns(seen(service(**trouble)))) == []
