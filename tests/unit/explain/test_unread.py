"""If a file is recognised but cannot be used, the error names its kind or the file to give instead."""

import gzip
from pathlib import Path
from typing import Final

import pytest

from tests.support.canned_loops import SECOND
from tests.support.explained import explained
from tests.support.tables import table
from tuneproof.explain.parse import event_loop

# The end of the error, by its beginning.
INSTEAD: Final = {
    "an access log of": (
        ": its times cover nginx and everything behind it, without distinguishing them; give nginx's own access log "
        "for the same period"
    ),
    "a log of": ", which explain does not read; give nginx's own logs for the same period",
}

PRETTY_PRINTED: Final = (
    '[\n  {\n    "@type": "type.googleapis.com/google.cloud.loadbalancing.type.LoadBalancerLogEntry"\n  }\n]'
)


@pytest.mark.parametrize(
    ("line", "expected"), [*table("other_logs"), (PRETTY_PRINTED, "an access log of a Google Cloud load balancer")]
)
def test_a_log_that_nginx_did_not_write_is_named_and_not_read(line: str, expected: str, tmp_path: Path) -> None:
    """Some of these logs use the names of nginx's variables with other meanings."""
    (found,) = explained(tmp_path, {"log": f"{line}\n" * 3}).found
    assert (found.kind, found.figures) == (None, ())
    assert found.error == expected + INSTEAD[expected.partition(" of ")[0] + " of"]


def test_with_a_given_format_the_error_for_another_programs_log_concerns_the_format(tmp_path: Path) -> None:
    """The user knows what the file is."""
    text = '{"ClientIP":"203.0.113.9","EdgeResponseStatus":200}\n'
    (found,) = explained(tmp_path, {"log": text}, log_formats=("$status",)).found
    assert found.error is not None
    assert "as an access log" in found.error


@pytest.mark.parametrize(
    ("expected", "text"), [*table("unread"), ("without its first line", event_loop.to_line(SECOND))]
)
def test_a_known_text_that_is_not_read_has_its_own_error(expected: str, text: str, tmp_path: Path) -> None:
    (found,) = explained(tmp_path, {"text": text.replace("\\n", "\n").replace("\\t", "\t")}).found
    assert found.error is not None
    assert found.error.startswith("not read: ")
    assert expected in found.error


@pytest.mark.parametrize(
    ("content", "packing"),
    [
        (b"\x28\xb5\x2f\xfdx", "compressed with zstd"),
        (b"PK\x03\x04x", "a zip archive"),
        (bytes(257) + b"ustar\0", "a tar archive"),
        (gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), "compressed twice"),
        (gzip.compress(b"access.log".ljust(257, b"\0") + b"ustar", mtime=0), "a tar archive"),
    ],
    ids=["zstd", "zip", "tar", "twice", "packed tar"],
)
def test_a_packed_file_that_cannot_be_read_is_named(content: bytes, packing: str, tmp_path: Path) -> None:
    (found,) = explained(tmp_path, {"packed": content}).found
    assert found.error == f"{packing}: unpack it first (only gzip, bzip2 and xz are unpacked here)"
