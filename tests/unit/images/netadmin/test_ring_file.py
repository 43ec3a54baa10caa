"""A capture's file: the newest records, whole, and never more than was allowed."""

from pathlib import Path

import pytest

from images.netadmin.netadmin.ring_file import RingFile


def written(path: Path, records: list[bytes], *, most_bytes: int) -> bytes:
    """Return the file that these records make."""
    with RingFile(path, header=b"HEAD", most_bytes=most_bytes) as ring:
        for record in records:
            ring.write(record)
    assert [item.name for item in path.parent.iterdir()] == [path.name]
    return path.read_bytes()


def test_what_fits_is_kept_whole(tmp_path: Path) -> None:
    """Behind the header, in its order."""
    assert written(tmp_path / "c", [b"one ", b"two ", b"three"], most_bytes=100) == b"HEADone two three"


def test_a_file_without_a_record_is_its_header(tmp_path: Path) -> None:
    """A capture that saw nothing is a capture."""
    assert written(tmp_path / "c", [], most_bytes=100) == b"HEAD"


@pytest.mark.parametrize("count", [10, 11, 25, 1000])
def test_of_what_does_not_fit_the_newest_is_kept(tmp_path: Path, count: int) -> None:
    """Between half of what is allowed and all of it, and no gap inside."""
    records = [f"{number:05}".encode() for number in range(count)]
    kept = written(tmp_path / "c", records, most_bytes=50).removeprefix(b"HEAD")
    assert 25 <= len(kept) <= 50
    assert b"".join(records).endswith(kept)


def test_a_record_that_is_larger_than_a_half_is_kept_while_it_is_the_newest(tmp_path: Path) -> None:
    """A limit below a packet's size would be no reason to lose it."""
    assert written(tmp_path / "c", [b"x" * 40, b"y" * 40], most_bytes=50) == b"HEAD" + b"x" * 40 + b"y" * 40
