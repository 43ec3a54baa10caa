"""Progress rewrites one line on a terminal, and leaves only permanent lines elsewhere."""

# ruff: noqa: RUF001 - the output contains multiplication signs and dashes

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
    """Open a pseudo-terminal: its reading end as a descriptor, and its writing end as a text stream."""
    reading, writing = pty.openpty()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        yield reading, stream
    os.close(reading)


def resize(descriptor: int, columns: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def test_a_terminals_line_is_rewritten_and_a_log_file_gets_only_permanent_lines() -> None:
    """No progress text remains, closing twice does no harm, and foreign text does not break a line."""
    printed = {}
    for interactive in (True, False):
        stream = io.StringIO()
        progress = ProgressLine(stream, interactive=interactive)
        progress.update("block 1")
        progress.update("a\nb\x1b[2J")
        progress.line("stall: holds")
        progress.update("block 2")
        progress.close()
        progress.close()
        printed[interactive] = stream.getvalue()
    assert printed == {
        True: rf"{CLEAR}block 1{CLEAR}a b\x1b[2J{CLEAR}stall: holds" + f"\n{CLEAR}block 2{CLEAR}",
        False: "stall: holds\n",
    }


def test_a_log_file_shows_once_a_minute_that_the_run_continues() -> None:
    """If another line was printed in that minute, none is added."""
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


def test_an_update_is_clipped_to_the_terminals_current_width(terminal: tuple[int, io.TextIOWrapper]) -> None:
    """A wrapped line could not be rewritten; wide characters count twice, and an unknown width counts as 80."""
    reading, stream = terminal
    progress = ProgressLine(stream, interactive=True)
    for columns, text, shown in (
        (11, "0123456789abcdef", "0123456789"),
        (6, "日本語日本語", "日本"),
        (0, "x" * 100, "x" * 79),
    ):
        resize(reading, columns)
        progress.update(text)
        assert os.read(reading, 1000).decode().rstrip() == f"{CLEAR}{shown}"


def test_a_stream_that_can_encode_only_ascii_gets_ascii() -> None:
    """A terminal's limited encoding is not a reason to stop a measurement."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii", newline="\n")
    ProgressLine(stream, interactive=False).line("134× → holds")
    assert written.getvalue() == b"134x -> holds\n"
