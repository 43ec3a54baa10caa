"""Settings for netem are checked when they are created, and get a queue of a suitable size."""

import math
from typing import Any

import pytest

from tuneproof.errors import BadInputError
from tuneproof.lab.network.impairments import MAX_QUEUE_PACKETS, MAX_QUEUE_SUPER_FRAMES, Impairment, value_fault


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"loss_pct": 120}, "loss_pct: 120 is not between 0 and 100"),
        ({"duplicate_pct": -0.5}, "duplicate_pct: -0.5 is not between 0 and 100"),
        ({"delay_ms": 10_000.5}, "delay_ms: 10000.5 is not between 0 and 10000"),
        ({"delay_ms": math.nan}, "delay_ms: nan is not a number between 0 and 10000"),
        ({"delay_ms": "20"}, "delay_ms: '20' is not a number between 0 and 10000"),
        ({"delay_ms": None}, "delay_ms: None is not a number between 0 and 10000"),
        ({"delay_ms": 1, "jitter_ms": -1}, "jitter_ms: -1 is not between 0 and 10000"),
        ({"loss_pct": True}, "loss_pct: True is not a number between 0 and 100"),
        ({"rate_mbit": 0}, "rate_mbit: 0 is not between 0.01 and 32000"),
        ({"rate_mbit": math.inf}, "rate_mbit: inf is not a number between 0.01 and 32000"),
        ({"limit_packets": 2601}, "limit_packets: 2601 is not between 1 and 2600"),
        ({"limit_packets": 10.0}, "limit_packets: 10 is not a whole number between 1 and 2600"),
        ({"delay_ms": 0.0005}, "delay_ms: 0.0005 is finer than a microsecond; give at most three decimals"),
        # An invalid delay is reported alone, although jitter and reordering need a valid one.
        ({"delay_ms": -1, "jitter_ms": 2, "reorder_pct": 5}, "delay_ms: -1 is not between 0 and 10000"),
        ({"delay_ms": 5, "jitter_ms": 6}, "jitter_ms: 6 needs a delay_ms of at least as much"),
        ({"reorder_pct": 10}, "reorder_pct: 10 needs a delay_ms: packets overtake delayed ones"),
        (
            {"delay_ms": 5, "reorder_pct": 10, "rate_mbit": 50},
            "reorder_pct: 10 would let packets bypass the rate_mbit",
        ),
        (
            {"delay_ms": 5, "jitter_ms": 1, "rate_mbit": 50},
            "jitter_ms: 1 with a rate_mbit would make the mean delay longer",
        ),
    ],
    ids=str,
)
def test_an_impossible_value_is_rejected_with_the_reason(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(BadInputError) as caught:
        Impairment(**fields)
    assert caught.value.what == fault


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(BadInputError) as caught:
        Impairment(loss_pct=101, delay_ms=1, jitter_ms=2, rate_mbit=-1, limit_packets=0)
    assert [clause.partition(":")[0] for clause in caught.value.what.split("; ")] == [
        "loss_pct",
        "rate_mbit",
        "limit_packets",
        "jitter_ms",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delay_ms", 0),
        ("delay_ms", 10_000),
        ("delay_ms", 1.001),
        ("jitter_ms", 0.001),
        ("loss_pct", 100),
        ("rate_mbit", 0.01),
        ("rate_mbit", 32_000),
        ("rate_mbit", None),
        ("limit_packets", 1),
        ("limit_packets", MAX_QUEUE_PACKETS),
        ("limit_packets", None),
    ],
)
def test_the_limits_of_a_range_are_valid(name: str, value: float | None) -> None:
    """1.001 ms is a whole number of microseconds, although 1.001 times 1000 is not whole in binary."""
    assert value_fault(name, value) is None


def test_packets_in_flight_that_do_not_fit_are_rejected_unless_the_queue_is_set() -> None:
    """125 MB/s times 31.491 ms is 2600 frames of 1514 bytes: they fit, but leave no room for a buffer."""
    with pytest.raises(BadInputError) as caught:
        Impairment(delay_ms=31.492, rate_mbit=1000)
    assert caught.value.what == (
        "rate_mbit: 1000 with a delay_ms of 31.492 has 2601 packets in flight; a link holds 2600: "
        "lower the rate or the delay, or set limit_packets"
    )
    assert Impairment(delay_ms=31.492, rate_mbit=1000, limit_packets=300).queue_packets == 300
    assert Impairment(delay_ms=31.491, rate_mbit=1000).queue_packets == 2600


@pytest.mark.parametrize(
    ("impairment", "packets"),
    [
        (Impairment(delay_ms=20, rate_mbit=100), 496),  # 12.5 MB/s times 60 ms, divided by 1514 bytes
        (Impairment(delay_ms=1, jitter_ms=0.5), 1776),  # 125 MB/s (assumed) times 21.5 ms
        (Impairment(delay_ms=5, rate_mbit=100), 207),  # 12.5 MB/s times 25 ms: the buffer is 20 ms, not 10
        (Impairment(rate_mbit=2), 100),  # 5 kB would be 4 frames
        (Impairment(loss_pct=1), 1652),  # 125 MB/s (assumed) times 20 ms
        (Impairment(delay_ms=20, rate_mbit=1000), MAX_QUEUE_PACKETS),  # 4954 with the whole buffer
        (Impairment(delay_ms=1, rate_mbit=8000), MAX_QUEUE_SUPER_FRAMES),  # 321 with the whole buffer
        (Impairment(delay_ms=200), MAX_QUEUE_PACKETS),  # capped instead of rejected, since the rate is assumed
    ],
)
def test_the_queue_holds_packets_in_transit_and_a_buffer(impairment: Impairment, packets: int) -> None:
    """The buffer is one round trip at the rate, at least 20 ms; the queue has room for at least 100 frames."""
    assert impairment.queue_packets == packets
    assert impairment.to_netem()["limit_packets"] == impairment.to_json()["limit_packets"] == packets


def test_each_effect_except_jitter_and_reordering_shapes_a_link_alone() -> None:
    """Jitter and reordering need a delay. A limit alone has no effect, since no packets wait."""
    fields: list[dict[str, Any]] = [
        {name: 1} for name in ("delay_ms", "loss_pct", "duplicate_pct", "corrupt_pct", "rate_mbit")
    ]
    assert all(Impairment(**alone).shapes for alone in fields)
    assert not Impairment().shapes
    assert not Impairment(limit_packets=10).shapes


@pytest.mark.parametrize(
    ("fields", "frame_bytes"),
    [
        ({}, 65_536),
        ({"delay_ms": 1}, 65_536),
        ({"delay_ms": 1.001}, 1514),
        ({"delay_ms": 0.5, "jitter_ms": 0.5}, 65_536),
        ({"delay_ms": 0.6, "jitter_ms": 0.5}, 1514),
        ({"rate_mbit": 209.7152}, 65_536),
        ({"rate_mbit": 209.715}, 1514),
        ({"loss_pct": 0.1}, 1514),
        ({"duplicate_pct": 0.1}, 1514),
        ({"delay_ms": 0.5, "reorder_pct": 0.1}, 1514),
        ({"corrupt_pct": 0.1}, 1514),
    ],
    ids=str,
)
def test_super_frames_are_split_if_they_would_distort_the_effects(fields: dict[str, Any], frame_bytes: int) -> None:
    """A frame of 64 KiB takes 2.5 ms at 209.7152 Mbit/s, and its loss would be that of 44 packets."""
    impairment = Impairment(**fields)
    assert impairment.frame_bytes == frame_bytes
    assert impairment.per_packet == (frame_bytes == 1514)


def test_netem_gets_whole_microseconds_and_bytes() -> None:
    """In binary, 1.001 times 1000 is not a whole number; 100 Mbit/s is 12.5 MB/s; 0 means no rate, as in the kernel."""
    impairment = Impairment(delay_ms=1.001, loss_pct=2, duplicate_pct=3, corrupt_pct=5, rate_mbit=100)
    netem = impairment.to_netem()
    assert netem == {
        "delay_us": 1001,
        "jitter_us": 0,
        "loss_pct": 2.0,
        "duplicate_pct": 3.0,
        "reorder_pct": 0.0,
        "corrupt_pct": 5.0,
        "rate_bytes_per_s": 12_500_000,
        "limit_packets": 174,  # 12.5 MB/s times 21.001 ms, divided by 1514 bytes
    }
    whole = {name for name, value in netem.items() if isinstance(value, int)}
    assert whole == {"delay_us", "jitter_us", "rate_bytes_per_s", "limit_packets"}
    netem = Impairment(delay_ms=1, jitter_ms=0.1, reorder_pct=4).to_netem()
    assert (netem["rate_bytes_per_s"], netem["jitter_us"], netem["reorder_pct"]) == (0, 100, 4.0)


def test_a_limit_must_fit_into_memory_even_with_super_frames() -> None:
    """A hundred frames of 64 KiB need about as much memory as 2600 frames of 1514 bytes."""
    assert Impairment(rate_mbit=1000, limit_packets=100).queue_packets == 100
    with pytest.raises(BadInputError, match="limit_packets: 101 is too many for frames of 64 KiB; 100 at most"):
        Impairment(rate_mbit=1000, limit_packets=101)
