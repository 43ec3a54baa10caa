"""Files are read once, decompressed, and limited in size; an unreadable file is bad input."""

import bz2
import gzip
import io
import lzma
import os
import random
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.capture_files import block, enhanced, interface, section
from tuneproof.errors import BadInputError
from tuneproof.explain import opening as reading
from tuneproof.explain.opening import HEAD_BYTES, OpenedFile, TooLargeError, opened, sources
from tuneproof.explain.parse.capture.framing import PacketReader


class Pieces(io.BytesIO):
    """A file that arrives in pieces, like a pipe."""

    def __init__(self, data: bytes, size: int = 1 << 20) -> None:
        super().__init__(data)
        self.size = size

    def read1(self, size: int | None = -1, /) -> bytes:
        return self.read(min(size or self.size, self.size))


@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 20])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_all_bytes_are_returned_once_for_any_size_of_pieces(size: int, pack: Callable[[bytes], bytes]) -> None:
    """Reading the beginning first loses nothing. Compressed files are recognised by their content."""
    data = b"".join(b"line %d\n" % number for number in range(9_000))
    read = OpenedFile(Pieces(pack(data), size))
    assert read.head == data[:HEAD_BYTES]
    assert not read.whole
    assert read.stream.read() == data
    assert read.warnings == []


def test_head_text_ends_with_a_whole_line() -> None:
    """A line that continues later is left out; a file's last line without a line feed is kept."""
    long = OpenedFile(io.BytesIO(b"a" * (HEAD_BYTES - 3) + b"\nbcdef\n"))
    assert long.head_text == "a" * (HEAD_BYTES - 3) + "\n"
    assert OpenedFile(io.BytesIO(b"ab\ncd")).head_text == "ab\ncd"


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_lines_end_at_line_feeds_only(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form feed or U+2028 inside a logged variable does not end a line; a character may arrive in two pieces.

    Invalid bytes become U+FFFD, and a line is cut at the limit.
    """
    data = b"\xff" + "a\x0cb\u2028c\nd\u00e9\r\n\nlast".encode()
    assert list(OpenedFile(Pieces(data, size)).lines()) == ["\ufffda\x0cb\u2028c", "d\u00e9\r", "", "last"]
    monkeypatch.setattr(reading, "LINE_LIMIT_CHARACTERS", 10)
    assert list(OpenedFile(Pieces(b"x" * 25 + b"\ny", size)).lines()) == ["x" * 10, "y"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_sets_the_encoding(encoding: str) -> None:
    data = "Tcp: A\nTcp: 1\n".encode(encoding)
    assert OpenedFile(io.BytesIO(data)).head_text == "Tcp: A\nTcp: 1\n"
    assert OpenedFile(io.BytesIO(data)).text() == "Tcp: A\nTcp: 1\n"
    assert list(OpenedFile(io.BytesIO(data)).lines()) == ["Tcp: A", "Tcp: 1"]


def test_a_text_that_is_too_long_is_rejected_before_it_is_read_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "TEXT_LIMIT_BYTES", 3 << 20)

    with Path("/dev/zero").open("rb") as endless, pytest.raises(TooLargeError, match="more than 3 MiB of text"):
        OpenedFile(endless).text()


def test_rotated_logs_in_one_gzip_file_are_one_text() -> None:
    read = OpenedFile(Pieces(gzip.compress(b"a\n") + bytes(5) + gzip.compress(b"b\n") + bytes(3), 2))
    assert list(read.lines()) == ["a", "b"]
    assert read.warnings == []


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_the_readable_part_of_a_truncated_compressed_file_is_read(pack: Callable[[bytes], bytes]) -> None:
    data = random.Random(1).randbytes(1_200_000)  # noqa: S311 - not secret: data that does not compress
    read = OpenedFile(io.BytesIO(pack(data)[:1_100_000]))
    got = read.stream.read()
    assert len(got) > HEAD_BYTES
    assert data.startswith(got)
    assert [warning.startswith("only a part could be unpacked: ") for warning in read.warnings] == [True]


def test_a_wrong_checksum_and_data_after_the_last_member_are_reported() -> None:
    packed = bytearray(gzip.compress(b"line\n"))
    packed[-8] ^= 1
    for broken in (bytes(packed), gzip.compress(b"line\n") + b"no gzip at all"):
        read = OpenedFile(io.BytesIO(broken))
        assert list(read.lines()) == ["line"]
        assert [warning.startswith("only a part could be unpacked: broken data") for warning in read.warnings] == [True]


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_damaged_data_leads_to_a_warning_instead_of_an_error(pack: Callable[[bytes], bytes]) -> None:
    packed = bytearray(pack(b"line\n" * 9))
    packed[len(packed) // 2] ^= 0xFF
    read = OpenedFile(io.BytesIO(bytes(packed)))
    list(read.lines())
    assert [warning.startswith("only a part could be unpacked: broken data") for warning in read.warnings] == [True]


def test_everything_that_zlib_can_decompress_from_a_truncated_file_is_returned() -> None:
    """If a file ends at certain places, zlib holds back data."""
    packed = gzip.compress(bytes(3 << 20), mtime=0)
    for size in range(1000, 1100):
        everything = zlib.decompressobj(31).decompress(packed[:size])
        assert OpenedFile(io.BytesIO(packed[:size])).stream.read() == everything, f"{size} bytes"


def test_a_large_block_in_a_small_compressed_capture_takes_little_memory() -> None:
    packed = gzip.compress(section() + interface() + block(5, bytes(32 << 20)) + enhanced(b"data"), mtime=0)
    tracemalloc.start()
    found = list(PacketReader(OpenedFile(io.BytesIO(packed)).stream))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [(0, 1, b"data", 4)]
    assert peak_bytes < 8 << 20


def test_a_folder_is_read_as_its_files_in_order_of_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers in names are sorted as numbers. Subfolders are skipped, and so are pipes, which may never end."""
    for name in ("b10.log", "b9.log", "a.log", "\u0663.log"):
        (tmp_path / name).write_text("x")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "c.log").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    found = sources([str(tmp_path), str(tmp_path / "b9.log"), "-"])
    assert [(source.name, source.named) for source in found] == [
        *((str(tmp_path / name), False) for name in ("a.log", "b9.log", "b10.log", "\u0663.log")),
        (str(tmp_path / "b9.log"), True),
        ("standard input", True),
    ]
    # If the folder is the only argument, the names do not repeat it.
    assert [source.name for source in sources([str(tmp_path)])] == ["a.log", "b9.log", "b10.log", "\u0663.log"]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(b"hello"))))
    with opened(found[-1]) as read:
        assert read.text() == "hello"


@pytest.mark.parametrize("name", ["missing", "empty", "-"])
def test_unreadable_files_are_bad_input(name: str, tmp_path: Path) -> None:
    """Standard input can be read only once."""
    (tmp_path / "empty").mkdir()
    where = name if name == "-" else str(tmp_path / name)
    with pytest.raises(BadInputError) as caught:
        sources([where, where])
    assert caught.value.where == where
    assert caught.value.remedy


def test_a_read_error_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(OpenedFile):
        def lines(self) -> Iterator[str]:
            raise OSError(5, "Input/output error")

    (tmp_path / "log").write_text("x")
    monkeypatch.setattr(reading, "OpenedFile", Failing)
    with (
        pytest.raises(BadInputError, match="Input/output error") as caught,
        opened(sources([str(tmp_path / "log")])[0]) as read,
    ):
        list(read.lines())
    assert caught.value.where == str(tmp_path / "log")
