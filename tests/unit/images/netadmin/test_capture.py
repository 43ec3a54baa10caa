"""A capture keeps the newest packets, up to a limit in bytes."""

from io import BytesIO

import pytest

from images.netadmin.netadmin.capture import Newest, dropped, head, record
from tuneproof.explain.parse.capture.framing import PacketReader


@pytest.mark.parametrize("count", [0, 1, 10, 11, 25, 1000])
def test_the_newest_packets_are_kept(count: int) -> None:
    kept = Newest(most_bytes=53)
    records = [f"{number:05}".encode() for number in range(count)]
    for one in records:
        kept.add(one)
    assert list(kept.records) == records[-10:]


def test_a_large_record_replaces_several_small_ones() -> None:
    """A record that is larger than the limit is not kept, but displaces all others."""
    kept = Newest(most_bytes=10)
    for one in (b"aa", b"bb", b"cc", b"ddddddd"):
        kept.add(one)
    assert list(kept.records) == [b"cc", b"ddddddd"]
    kept.add(b"e" * 11)
    assert not kept.records


def test_the_file_contains_the_packets_and_how_many_the_kernel_dropped() -> None:
    """The parser of explain reads the file."""
    packet = record(b"frame", time_ns=1_700_000_000_123_456_789, snap_bytes=3)
    reader = PacketReader(BytesIO(b"".join([*head(snap_bytes=3), packet, dropped(12)])))
    assert list(reader) == [(1_700_000_000_123_456_789, 1, b"fra", 5)]
    assert (reader.dropped_packets, reader.truncated) == (12, None)
