"""Progress rewrites one line on a terminal, and leaves only permanent lines elsewhere."""

# ruff: noqa: RUF001 - the multiplication signs and dashes are the answers themselves

import fcntl
import io
import os
import pty
import struct
import termios
from collections.abc import Iterator

import pytest

from tuneproof.report.terminal.progress import ProgressLine

CLEAR = "\r\x1b[K"


@pytest.fixture
def terminal() -> Iterator[tuple[int, io.TextIOWrapper]]:
    """A pseudo-terminal: its reading end as a descriptor, and its writing end as a text stream."""
    reading, writing = pty.openpty()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        yield reading, stream
    os.close(reading)


def resize(descriptor: int, columns: int) -> None:
    """Give a pseudo-terminal a width, as a terminal emulator does."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def test_update_replaces_the_line_and_close_clears_it() -> None:
    """Nothing of the progress stays behind, and clearing twice does no harm."""
    stream = io.StringIO()
    progress = ProgressLine(stream, interactive=True)
    progress.update("block 1")
    progress.update("block 2")
    progress.close()
    progress.close()
    assert stream.getvalue() == f"{CLEAR}block 1{CLEAR}block 2{CLEAR}"


def test_permanent_line_takes_the_place_of_the_update() -> None:
    """A line that stays is not mixed with what was being rewritten."""
    stream = io.StringIO()
    progress = ProgressLine(stream, interactive=True)
    progress.update("block 1")
    progress.line("stall: holds")
    assert stream.getvalue() == f"{CLEAR}block 1{CLEAR}stall: holds\n"


def test_log_file_gets_permanent_lines_only() -> None:
    """Where nothing can be rewritten, updates are silent and no control character appears."""
    stream = io.StringIO()
    progress = ProgressLine(stream, interactive=False)
    progress.update("block 1")
    progress.line("stall: holds")
    progress.close()
    assert stream.getvalue() == "stall: holds\n"


def test_log_file_shows_once_a_minute_that_the_run_goes_on() -> None:
    """Unless another line has shown it."""
    stream, now_s = io.StringIO(), [0.0]
    progress = ProgressLine(stream, interactive=False, clock=lambda: now_s[0])
    for at_s in (59.0, 60.0, 61.0, 119.0):
        now_s[0] = at_s
        progress.update(f"at {at_s:g}")
    progress.line("stall: holds")
    now_s[0] = 178.0
    progress.update("at 178")
    now_s[0] = 179.0
    progress.update("at 179")
    assert stream.getvalue().splitlines() == ["at 60", "stall: holds", "at 179"]


def test_update_is_clipped_to_the_terminal_as_it_is_now(terminal: tuple[int, io.TextIOWrapper]) -> None:
    """A wrapped line could not be rewritten; the width is asked anew, and wide characters count twice."""
    reading, stream = terminal
    progress = ProgressLine(stream, interactive=True)
    resize(reading, 11)
    progress.update("0123456789abcdef")
    assert os.read(reading, 1000).decode() == f"{CLEAR}0123456789"
    resize(reading, 6)
    progress.update("日本語日本語")
    assert os.read(reading, 1000).decode().rstrip() == f"{CLEAR}日本"


def test_terminal_without_a_size_counts_as_80_columns(terminal: tuple[int, io.TextIOWrapper]) -> None:
    """A pseudo-terminal that nobody has sized claims to have no columns at all."""
    reading, stream = terminal
    resize(reading, 0)
    ProgressLine(stream, interactive=True).update("x" * 100)
    assert os.read(reading, 1000).decode() == CLEAR + "x" * 79


def test_line_ends_in_an_update_do_not_break_it() -> None:
    stream = io.StringIO()
    ProgressLine(stream, interactive=True).update("a\nb\x1b[2J")
    assert stream.getvalue() == rf"{CLEAR}a b\x1b[2J"


def test_stream_that_knows_only_ascii_gets_ascii() -> None:
    """A terminal's narrow encoding is no reason to stop a measurement."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii", newline="\n")
    ProgressLine(stream, interactive=False).line("134× → holds")
    assert written.getvalue() == b"134x -> holds\n"
