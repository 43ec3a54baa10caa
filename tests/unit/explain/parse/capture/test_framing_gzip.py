"""Captures that are compressed with gzip: read like others, in bounded memory, and a fault of gzip is told."""

import gzip
import tracemalloc
import zlib

import pytest

from tests.support.capture_files import block, chunks, enhanced, interface, packet, pcap, pcapng, section
from tuneproof.explain.parse.capture.framing import PacketReader
from tuneproof.explain.parse.capture.gunzip import gunzip
from tuneproof.explain.parse.problems import MalformedEvidenceError

THREE = [packet(number) for number in range(3)]
MEBIBYTE = 1 << 20


@pytest.mark.parametrize("size", [1, 10, 1 << 20])
@pytest.mark.parametrize(("content", "name"), [(pcap(THREE), "pcap, gzip"), (pcapng(THREE), "pcapng, gzip")])
def test_compressed_capture_is_read_like_others(content: bytes, name: str, size: int) -> None:
    """The first bytes tell, not the file's name."""
    reader = PacketReader(chunks(gzip.compress(content), size))
    assert list(reader) == THREE
    assert (reader.format, reader.truncated) == (name, None)


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_members_are_read_one_after_the_other(size: int) -> None:
    """As gzip does with files written one behind the other, filled up with zeros or not."""
    content = pcap(THREE)
    packed = gzip.compress(content[:50]) + gzip.compress(content[50:]) + bytes(100)
    reader = PacketReader(chunks(packed, size))
    assert list(reader) == THREE
    assert reader.truncated is None


def test_compressed_file_that_ends_early_is_told_even_between_two_packets() -> None:
    """The content may end well where the file does not."""
    packed = gzip.compress(pcap(THREE))
    reader = PacketReader([packed[:-1]])
    assert list(reader) == THREE
    assert reader.truncated == f"byte {len(packed) - 1}: the gzip file ends early"


@pytest.mark.parametrize("size", [1, 50, 1 << 20])
def test_compressed_file_gives_the_packets_before_its_end(size: int) -> None:
    """Not compressible data, so that the end of the file is the end of the content."""
    packed = gzip.compress(pcap(THREE), compresslevel=0)
    reader = PacketReader(chunks(packed[:-70], size))
    assert list(reader) == THREE[:2]
    assert reader.truncated is not None
    assert "the gzip file ends early" in reader.truncated


def test_nothing_of_a_file_that_ends_early_stays_inside_zlib() -> None:
    """A step that is full holds back what its last bytes unpack to; it is given out at the end."""
    packed = gzip.compress(bytes(3 * MEBIBYTE), mtime=0)
    # A step is full, with a mebibyte, after about a thousandth of it.
    for size in range(1000, 1100):
        pieces: list[bytes] = []
        with pytest.raises(MalformedEvidenceError, match="ends early"):
            pieces.extend(gunzip([packed[:size]]))
        everything = zlib.decompressobj(31).decompress(packed[:size])
        assert sum(map(len, pieces)) == len(everything), f"{size} bytes"


def test_what_follows_the_last_member_is_told() -> None:
    """It may have been a part of the capture."""
    reader = PacketReader([gzip.compress(pcap(THREE)) + b"no gzip at all"])
    assert list(reader) == THREE
    assert reader.truncated is not None
    assert "broken gzip" in reader.truncated


def test_wrong_checksum_is_told() -> None:
    """The packets are given all the same: they were there before the checksum was."""
    packed = bytearray(gzip.compress(pcap(THREE)))
    packed[-8] ^= 1
    reader = PacketReader([bytes(packed[:-8]), bytes(packed[-8:])])
    assert list(reader) == THREE
    assert reader.truncated is not None
    assert "broken gzip" in reader.truncated


@pytest.mark.parametrize("content", [b"", b"a text", gzip.compress(pcap(THREE))])
def test_compressed_file_of_another_kind_is_refused(content: bytes) -> None:
    """Nothing, a text, and a capture that was compressed twice."""
    with pytest.raises(MalformedEvidenceError, match="no capture"):
        PacketReader([gzip.compress(content)])


def test_small_file_that_unpacks_to_a_large_one_takes_little_memory() -> None:
    """A hundred mebibytes of zeros, in a file of a hundred kibibytes, which comes in one piece."""
    packed = gzip.compress(section() + interface() + block(5, bytes(100 * MEBIBYTE)) + enhanced(b"data"), mtime=0)
    assert len(packed) < MEBIBYTE / 4
    tracemalloc.start()
    reader = PacketReader([packed])
    found = list(reader)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [(0, 1, b"data", 4)]
    assert peak_bytes < 8 * MEBIBYTE
