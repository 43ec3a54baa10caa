"""Files that users name, but others may have written, have a size limit, and lead to at most one error."""

import os
import resource
import stat
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tuneproof import user_files
from tuneproof.errors import BadInputError
from tuneproof.user_files import read_json, read_text, write_text


def test_a_file_may_be_as_large_as_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "MOST_BYTES", 4)
    file = tmp_path / "file"
    file.write_text("abcd", encoding="utf-8")
    assert read_text(file) == "abcd"
    file.write_text("abcde", encoding="utf-8")
    with pytest.raises(BadInputError, match="is larger than"):
        read_text(file)


def test_a_pipe_without_an_end_is_read_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "MOST_BYTES", 1 << 16)
    os.mkfifo(pipe := tmp_path / "pipe")

    def write() -> None:
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    writing = threading.Thread(target=write)
    writing.start()
    with pytest.raises(BadInputError, match="is larger than"):
        read_text(pipe)
    writing.join()


@pytest.mark.parametrize("text", ["[1, 2, 3]", '{"a": 1, "b": 2}', '"a,b,[{"'])
def test_values_are_counted_before_they_are_made(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that take two bytes each in a text would take thirty times the text's memory."""
    monkeypatch.setattr(user_files, "_MOST_VALUES", 4)
    assert read_json(text)
    monkeypatch.setattr(user_files, "_MOST_VALUES", 1)
    with pytest.raises(ValueError, match="more than 1 values"):
        read_json(text)


@pytest.mark.parametrize(("before", "after"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_a_document_that_is_nested_too_deeply_is_rejected(before: str, after: str) -> None:
    assert read_json(before * 100 + "1" + after * 100)
    with pytest.raises(RecursionError, match="nested more than 100 deep"):
        read_json(before * 101 + "1" + after * 101)


def test_a_text_is_written_unchanged(tmp_path: Path) -> None:
    """Line endings do not change, nor do the bytes of a name that is not UTF-8."""
    write_text(tmp_path / "patch", "a\r\n\udcffb\n")
    assert (tmp_path / "patch").read_bytes() == b"a\r\n\xffb\n"


@pytest.mark.parametrize("name", [".", "none/patch", "/dev/full"])
def test_a_path_that_cannot_be_written_leads_to_one_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="cannot be written: "):
        write_text(tmp_path / name, "a")


@pytest.mark.parametrize("before", [None, "old"])
def test_a_text_that_does_not_fit_leaves_the_old_file_or_none(before: str | None, tmp_path: Path) -> None:
    """A truncated patch or baseline would look complete."""
    file = tmp_path / "patch"
    if before is not None:
        file.write_text(before, encoding="utf-8")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, limits[1]))
    try:
        with pytest.raises(BadInputError, match="cannot be written: File too large"):
            write_text(file, "a longer text")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ([] if before is None else [before])


def test_a_file_keeps_its_links_and_its_mode(tmp_path: Path) -> None:
    file, link = tmp_path / "patch", tmp_path / "link"
    file.write_text("a longer text", encoding="utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    write_text(link, "new")
    assert file.read_text(encoding="utf-8") == "new"
    assert (link.is_symlink(), stat.S_IMODE(file.stat().st_mode)) == (True, 0o640)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "none"])
def test_an_input_that_is_no_file_here_does_not_prevent_writing(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    write_text(tmp_path / "file", "abcd", inputs=[name])
    assert (tmp_path / "file").read_text(encoding="utf-8") == "abcd"
