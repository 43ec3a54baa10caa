"""Responses that stay open: how much has arrived, with chunks and with compression."""

import zlib
from collections.abc import Iterable

import pytest

from images.client.loadgen.streams import Chunks, Http1

CHUNKED = b"5;name=value\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\n"


def decoded(pieces: Iterable[bytes]) -> tuple[bytes, bool]:
    """Return the decoded body, and whether its chunks have ended."""
    chunks = Chunks()
    return b"".join(map(chunks.add, pieces)), chunks.complete


@pytest.mark.parametrize("size", range(1, len(CHUNKED) + 1))
def test_chunks_are_decoded_however_their_bytes_are_split(size: int) -> None:
    pieces = [CHUNKED[at : at + size] for at in range(0, len(CHUNKED), size)]
    assert decoded(pieces) == (b"hello, world", True)


def test_a_part_of_a_chunk_is_decoded() -> None:
    assert decoded([b"5\r\nhel"]) == (b"hel", False)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_compressed_data_counts_once_it_can_be_decompressed(size: int) -> None:
    """A flush makes all earlier data readable. Data that the compressor still keeps has not arrived."""
    compress = zlib.compressobj(wbits=31)
    first = compress.compress(b"hello" * 100) + compress.flush(zlib.Z_SYNC_FLUSH)
    kept = compress.compress(b"world" * 100)
    message = Http1()
    answer = HEAD + b"Content-Encoding: gzip\r\n\r\n" + first + kept
    for at in range(0, len(answer), size):
        assert message.add(answer[at : at + size]) == b""
    assert (message.status, message.body_bytes, message.end) == (200, 500, "")
