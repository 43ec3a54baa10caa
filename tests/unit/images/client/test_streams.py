"""Responses that stay open: chunks, compression, and what has arrived."""

import zlib
from collections.abc import Iterable

import pytest

from images.client.loadgen.streams import Chunks, Http1

CHUNKED = b"5;name=value\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\n"


def taken_apart(pieces: Iterable[bytes]) -> tuple[bytes, bool]:
    """Return the decoded body, and whether its chunks have ended."""
    chunks = Chunks()
    return b"".join(map(chunks.add, pieces)), chunks.complete


@pytest.mark.parametrize("size", range(1, len(CHUNKED) + 1))
def test_chunks_are_decoded_in_whatever_pieces_they_arrive(size: int) -> None:
    pieces = [CHUNKED[at : at + size] for at in range(0, len(CHUNKED), size)]
    assert taken_apart(pieces) == (b"hello, world", True)


def test_the_received_part_of_a_chunk_counts() -> None:
    """The end of the chunk need not have arrived."""
    assert taken_apart([b"5\r\nhel"]) == (b"hel", False)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_compressed_data_counts_once_it_can_be_read(size: int) -> None:
    """A flush of the compressor makes all earlier data readable; what the compressor keeps has not arrived."""
    compress = zlib.compressobj(wbits=31)
    first = compress.compress(b"hello" * 100) + compress.flush(zlib.Z_SYNC_FLUSH)
    kept = compress.compress(b"world" * 100)
    message = Http1()
    answer = HEAD + b"Content-Encoding: gzip\r\n\r\n" + first + kept
    for at in range(0, len(answer), size):
        assert message.add(answer[at : at + size]) == b""
    assert (message.status, message.body_bytes, message.end) == (200, 500, "")


def test_without_headers_there_is_no_status() -> None:
    message = Http1()
    message.add(HEAD)
    assert (message.status, message.body_bytes) == (0, 0)
    message.add(b"\r\nabc")
    assert (message.status, message.body_bytes) == (200, 3)
