"""Two clocks on one path: what one of them is ahead is found, and taken out."""

import pytest

from tuneproof.lab.network.clocks import on_one_clock, other_ahead_us
from tuneproof.lab.protocol.links import PathSeen


def seen(*, ahead_us: int, there_us: tuple[int, ...], back_us: tuple[int, ...]) -> PathSeen:
    """Return what a leading agent answers whose partner's clock is ahead."""
    return PathSeen(
        sent=len(there_us),
        late=(),
        there=tuple((number, way_us + ahead_us) for number, way_us in enumerate(there_us)),
        back=tuple((number, way_us - ahead_us, there_us[number] + way_us) for number, way_us in enumerate(back_us)),
        loads={},
    )


@pytest.mark.parametrize("ahead_us", [0, 1_000, -5_000_000_000])
def test_the_quickest_ways_tell_how_far_the_other_clock_is_ahead(ahead_us: int) -> None:
    """Others waited somewhere, each way for itself."""
    assert other_ahead_us(seen(ahead_us=ahead_us, there_us=(900, 100, 300), back_us=(100, 4000, 200))) == ahead_us


def test_ways_that_differ_err_by_half_of_their_difference() -> None:
    """Which is less than half of the round trip, whatever they are."""
    assert other_ahead_us(seen(ahead_us=0, there_us=(300,), back_us=(100,))) == 100


def test_each_way_is_told_as_one_clock_would_have_timed_it() -> None:
    """The round trip is that already."""
    told = on_one_clock(seen(ahead_us=70_000, there_us=(100, 250), back_us=(120, 90)), 70_000)
    assert told.there == ((0, 100), (1, 250))
    assert told.back == ((0, 120, 220), (1, 90, 340))


def test_nothing_is_told_where_no_probe_came_back() -> None:
    """Though some may have got there."""
    with pytest.raises(ValueError, match="none of 1 probes came back"):
        other_ahead_us(PathSeen(sent=1, late=(), there=((0, 5),), back=(), loads={}))
