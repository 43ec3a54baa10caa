"""A capture keeps the newest packets, whole, and never more than was allowed."""

import pytest

from images.netadmin.netadmin.capture import Newest


@pytest.mark.parametrize("count", [0, 1, 10, 11, 25, 1000])
def test_of_what_does_not_fit_the_newest_is_kept(count: int) -> None:
    kept = Newest(most_bytes=53)
    records = [f"{number:05}".encode() for number in range(count)]
    for record in records:
        kept.add(record)
    assert list(kept.records) == records[-10:]


def test_records_of_different_sizes_share_the_room() -> None:
    """A large one takes the place of several; one that has no room at all is not kept."""
    kept = Newest(most_bytes=10)
    for record in (b"aa", b"bb", b"cc", b"ddddddd"):
        kept.add(record)
    assert list(kept.records) == [b"cc", b"ddddddd"]
    kept.add(b"e" * 11)
    assert not kept.records
