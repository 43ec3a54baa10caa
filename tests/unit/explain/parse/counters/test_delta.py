"""Increments between snapshots are right even with restarts, wraps and missing counters."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from tuneproof.explain.parse.counters.snapshot import CounterSnapshot, delta, total

DROPS, SEGMENTS, OCTETS, GAUGE, TW = "TcpExt.ListenDrops", "Tcp.InSegs", "IpExt.InOctets", "Tcp.CurrEstab", "TcpExt.TW"
NSTAT: Final = {"source": "nstat", "omits_zeros": True}
Counters = Mapping[str, int]


def a_snapshot(counters: Counters, **changes: Any) -> CounterSnapshot:
    return CounterSnapshot(**{"source": "proc", "counters": counters, **changes})


# Each row: before, after, and fields of both snapshots; the increments, and the counters that were reset or wrapped.
CASES: Final[Mapping[str, tuple[Counters, Counters, dict[str, Any], Counters, tuple[str, ...], tuple[str, ...]]]] = {
    # A gauge falls when connections end.
    "a gauge that falls is no reset": ({DROPS: 3, GAUGE: 9}, {DROPS: 5, GAUGE: 2}, {}, {DROPS: 2}, (), ()),
    # Increments between the earlier snapshot and the restart are lost for all counters.
    "a counter that falls means a restart": (
        *({DROPS: 3, SEGMENTS: 900}, {DROPS: 5, SEGMENTS: 100}, {}),
        *({DROPS: 5, SEGMENTS: 100}, (SEGMENTS,), ()),
    ),
    "a wrap near the end of 32 bits": ({SEGMENTS: 2**32 - 10}, {SEGMENTS: 5}, {}, {SEGMENTS: 15}, (), (SEGMENTS,)),
    "just above half of 32 bits": ({SEGMENTS: 2**31 + 1}, {SEGMENTS: 0}, {}, {SEGMENTS: 2**31 - 1}, (), (SEGMENTS,)),
    "at half of 32 bits": ({SEGMENTS: 2**31}, {SEGMENTS: 0}, {}, {SEGMENTS: 0}, (SEGMENTS,), ()),
    "just below half of 32 bits": ({SEGMENTS: 2**31 - 1}, {SEGMENTS: 0}, {}, {SEGMENTS: 0}, (SEGMENTS,), ()),
    "beyond 32 bits": ({SEGMENTS: 2**32}, {SEGMENTS: 0}, {}, {SEGMENTS: 0}, (SEGMENTS,), ()),
    "an apparent wrap with a reset": (
        *({SEGMENTS: 2**32 - 10, DROPS: 9}, {SEGMENTS: 5, DROPS: 1}, {}),
        *({SEGMENTS: 5, DROPS: 1}, (SEGMENTS, DROPS), ()),
    ),
    # At 10 Gbit/s, a 32-bit counter of octets wraps every 3.4 seconds; with 64 bits, the same decrease means a restart.
    "octets of 32 bits": ({OCTETS: 1000}, {OCTETS: 400}, {"is_32_bit": True}, {OCTETS: 2**32 - 600}, (), (OCTETS,)),
    "octets of 64 bits": ({OCTETS: 1000}, {OCTETS: 400}, {}, {OCTETS: 400}, (OCTETS,), ()),
    "relative values are increments": ({DROPS: 90}, {DROPS: 2}, {"relative": True}, {DROPS: 2}, (), ()),
    # The first drop makes its counter appear in nstat; in /proc a new name would mean a new kernel.
    "a counter that appears in nstat": ({TW: 1}, {TW: 1, DROPS: 7}, NSTAT, {TW: 0, DROPS: 7}, (), ()),
    "a counter that appears in /proc": ({TW: 1}, {TW: 1, DROPS: 7}, {}, {TW: 0}, (), ()),
    "a counter of a protocol that was filtered out before": (
        {SEGMENTS: 1},
        {SEGMENTS: 2, DROPS: 7},
        NSTAT,
        {SEGMENTS: 1},
        (),
        (),
    ),
    "a counter that is missing later": ({SEGMENTS: 1, DROPS: 7}, {SEGMENTS: 2}, {}, {SEGMENTS: 1}, (), ()),
}


@pytest.mark.parametrize(("earlier", "later", "read", "grown", "reset", "wrapped"), CASES.values(), ids=CASES)
def test_increments_resets_and_wraps_between_two_snapshots_are_reported(
    earlier: Counters,
    later: Counters,
    read: dict[str, Any],
    grown: Counters,
    reset: tuple[str, ...],
    wrapped: tuple[str, ...],
) -> None:
    change = delta(a_snapshot(earlier, **read), a_snapshot(later, **read))
    assert (change.increments, change.reset, change.wrapped) == (grown, reset, wrapped)
    assert change.gauges == {name: value for name, value in later.items() if name == GAUGE}


def test_the_total_of_several_steps_includes_increments_before_a_restart() -> None:
    """The first and last snapshots alone would show only the last two steps; a relative first snapshot is left out."""
    change = total([a_snapshot({DROPS: value}) for value in (10, 15, 1, 3)])
    assert (change.increments, change.reset) == ({DROPS: 5 + 1 + 2}, (DROPS,))
    assert total([a_snapshot({DROPS: value}, relative=True) for value in (90, 2, 3)]).increments == {DROPS: 5}
