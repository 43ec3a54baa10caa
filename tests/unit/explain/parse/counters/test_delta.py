"""What came between two snapshots: increments, and honesty about restarts, wraps and what is missing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuneproof.explain.parse.counters.snapshot import CounterSnapshot, delta, total

DROPS = "TcpExt.ListenDrops"
SEGMENTS = "Tcp.InSegs"
OCTETS = "IpExt.InOctets"


def a_snapshot(counters: dict[str, int], **changes: bool) -> CounterSnapshot:
    """Return a snapshot of /proc, or of nstat with zeros left out."""
    source = "nstat" if changes else "proc"
    return CounterSnapshot(
        source=source,
        counters=counters,
        relative=changes.get("relative", False),
        omits_zeros=changes.get("omits_zeros", False),
        is_32_bit=changes.get("is_32_bit", False),
    )


def test_increments_are_differences_and_gauges_are_none() -> None:
    """Connections that are over make Tcp.CurrEstab fall; that is no reset."""
    change = delta(a_snapshot({DROPS: 3, "Tcp.CurrEstab": 9}), a_snapshot({DROPS: 5, "Tcp.CurrEstab": 2}))
    assert change.increments == {DROPS: 2}
    assert change.gauges == {"Tcp.CurrEstab": 2}
    assert (change.reset, change.wrapped) == ((), ())


def test_a_counter_that_falls_makes_all_increments_since_the_restart() -> None:
    """What came between the earlier snapshot and the restart is lost for all counters, not for that one."""
    change = delta(a_snapshot({DROPS: 3, SEGMENTS: 900}), a_snapshot({DROPS: 5, SEGMENTS: 100}))
    assert change.increments == {DROPS: 5, SEGMENTS: 100}
    assert change.reset == (SEGMENTS,)


@pytest.mark.parametrize(
    ("earlier", "later", "increment"),
    [(2**32 - 10, 5, 15), (2**31, 0, None), (2**31 + 1, 0, 2**31 - 1), (2**31 - 1, 0, None), (2**32, 0, None)],
    ids=["near the end", "half away", "just nearer", "just too small", "beyond 32 bits"],
)
def test_a_fall_from_near_32_bits_is_a_wrap(earlier: int, later: int, increment: int | None) -> None:
    change = delta(a_snapshot({SEGMENTS: earlier}), a_snapshot({SEGMENTS: later}))
    if increment is None:
        assert (change.increments, change.reset) == ({SEGMENTS: later}, (SEGMENTS,))
    else:
        assert (change.increments, change.wrapped, change.reset) == ({SEGMENTS: increment}, (SEGMENTS,), ())


def test_what_looks_like_a_wrap_beside_a_reset_is_one_too() -> None:
    change = delta(a_snapshot({SEGMENTS: 2**32 - 10, DROPS: 9}), a_snapshot({SEGMENTS: 5, DROPS: 1}))
    assert change.increments == {SEGMENTS: 5, DROPS: 1}
    assert (set(change.reset), change.wrapped) == ({SEGMENTS, DROPS}, ())


def test_octets_of_32_bits_may_fall_at_any_time() -> None:
    """At 10 Gbit/s they wrap every four seconds; with 64 bits the same fall is a restart."""
    earlier, later = {OCTETS: 1000, DROPS: 1}, {OCTETS: 400, DROPS: 3}
    narrow = delta(a_snapshot(earlier, is_32_bit=True), a_snapshot(later, is_32_bit=True))
    assert narrow.increments == {OCTETS: 2**32 - 600, DROPS: 2}
    assert (narrow.wrapped, narrow.reset) == ((OCTETS,), ())
    assert delta(a_snapshot(earlier), a_snapshot(later)).reset == (OCTETS,)


def test_relative_snapshots_are_the_increments() -> None:
    change = delta(a_snapshot({DROPS: 90}, relative=True), a_snapshot({DROPS: 2}, relative=True))
    assert (change.increments, change.reset) == ({DROPS: 2}, ())


def test_a_counter_that_is_missing_was_zero_only_where_zeros_are_left_out() -> None:
    """The first drop makes its counter appear in nstat; in /proc a new name would be a new kernel's."""
    earlier, later = {"TcpExt.TW": 1}, {"TcpExt.TW": 1, DROPS: 7}
    omitting = delta(a_snapshot(earlier, omits_zeros=True), a_snapshot(later, omits_zeros=True))
    assert omitting.increments[DROPS] == 7
    telling = delta(a_snapshot(earlier), a_snapshot(later))
    assert DROPS not in telling.increments


def test_a_filter_makes_no_increments() -> None:
    change = delta(a_snapshot({SEGMENTS: 1}, omits_zeros=True), a_snapshot({SEGMENTS: 2, DROPS: 7}, omits_zeros=True))
    assert change.increments == {SEGMENTS: 1}


def test_names_of_the_earlier_snapshot_alone_are_no_reset() -> None:
    """The later one may be filtered."""
    change = delta(a_snapshot({SEGMENTS: 1, DROPS: 7}), a_snapshot({SEGMENTS: 2}))
    assert (change.reset, change.increments) == ((), {SEGMENTS: 1})


def test_the_total_of_several_steps_knows_what_came_before_a_restart() -> None:
    """First and last alone would know of the last two only."""
    change = total([a_snapshot({DROPS: value}) for value in (10, 15, 1, 3)])
    assert change.increments == {DROPS: 5 + 1 + 2}
    assert change.reset == (DROPS,)


def test_the_total_of_relative_snapshots_leaves_out_the_first() -> None:
    assert total([a_snapshot({DROPS: value}, relative=True) for value in (90, 2, 3)]).increments == {DROPS: 5}


@settings(max_examples=200, derandomize=True, database=None)
@given(
    st.dictionaries(st.sampled_from(("Tcp.A", "Tcp.B", "IpExt.C")), st.integers(0, 2**33)),
    st.dictionaries(st.sampled_from(("Tcp.A", "Tcp.B", "IpExt.C")), st.integers(0, 2**33)),
)
def test_increments_lead_from_the_earlier_to_the_later(earlier: dict[str, int], later: dict[str, int]) -> None:
    change = delta(CounterSnapshot(source="proc", counters=earlier), CounterSnapshot(source="proc", counters=later))
    for name, increment in change.increments.items():
        if change.reset:
            assert increment == later[name]
        else:
            turn = 2**32 if name in change.wrapped else 0
            assert earlier[name] + increment == later[name] + turn
