"""The text of /proc/PID/io."""

import pytest

from tuneproof.explain.parse.problems import MalformedEvidenceError
from tuneproof.explain.parse.processes.status import write_bytes

TEXT = """\
rchar: 3980
wchar: 12
syscr: 7
syscw: 2
read_bytes: 4096
write_bytes: 8192
cancelled_write_bytes: 0
"""


def test_what_was_written_to_file_systems_is_told() -> None:
    """Neither what went to a terminal (wchar) nor what was taken back."""
    assert write_bytes(TEXT) == 8192


@pytest.mark.parametrize("text", ["", "no such process\n", TEXT.replace("\nwrite_bytes", "\nwritten_bytes")])
def test_another_text_is_an_error(text: str) -> None:
    """A figure that is missing is not zero."""
    with pytest.raises(MalformedEvidenceError, match="/proc/PID/io"):
        write_bytes(text)
