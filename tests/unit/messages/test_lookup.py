"""Lookup finds the row for a message that people paste or remember."""

import re
from typing import Final

import pytest

from tests.support.tables import table
from tuneproof.messages.lookup import find
from tuneproof.messages.patterns import PLACE
from tuneproof.messages.render import lines
from tuneproof.messages.rows import messages


@pytest.mark.parametrize(("text", "row"), table("lookup"))
def test_a_text_finds_exactly_its_row_or_none(text: str, row: str) -> None:
    assert [found.id for found in find(text)] == ([row] if row else [])


def test_words_in_several_rows_find_them_all() -> None:
    found = [row.id for row in find("too many open files")]
    assert {"files_accept", "files_upstream", "files_open"} <= set(found)
    assert len(find("upstream")) > 5


def test_a_row_is_shown_with_all_its_parts_and_the_versions_of_its_words() -> None:
    shown = list(lines(messages()["upstream_too_big_trailers"]))
    assert shown[:2] == [
        ("Message", messages()["upstream_too_big_trailers"].name),
        ("Words", "upstream sent too big trailers (since 1.27.2)"),
    ]
    labels = [label for label, _ in lines(messages()["upstream_refused"]) if label]
    assert labels == [
        *("Message", "Words", "Level", "Problem", "What", "Why", "Affects", "Next", "In mail", "Not so", "Not so"),
        "Confirm",
        "Page",
    ]


# Error texts of musl and glibc that differ, for the error numbers in the rows.
MUSL: Final = {
    "Out of memory": "Cannot allocate memory",
    "No file descriptors available": "Too many open files",
    "Filename too long": "File name too long",
    "Quota exceeded": "Disk quota exceeded",
    "Symbolic link loop": "Too many levels of symbolic links",
    "Address in use": "Address already in use",
    "Address not available": "Cannot assign requested address",
    "Network unreachable": "Network is unreachable",
    "Message too large": "Message too long",
    "Connection aborted": "Software caused connection abort",
    "Socket not connected": "Transport endpoint is not connected",
    "Operation timed out": "Connection timed out",
    "Host is unreachable": "No route to host",
}


def wordings(errno_words: str) -> list[str]:
    return [words.text for row in messages().values() for words in row.words if f": {errno_words})" in words.text]


def test_a_message_truncated_before_its_error_number_finds_all_rows_that_begin_with_it() -> None:
    """People paste only the part that fits their screen."""
    begin = {
        row.id
        for row in messages().values()
        if any(words.text.startswith("bind() to <address> failed") for words in row.words)
    }
    assert {row.id for row in find("bind() to 0.0.0.0:80 failed")} == begin
    assert len(begin) > 1


@pytest.mark.parametrize(("musl", "glibc"), MUSL.items())
def test_musls_error_texts_find_the_same_row(musl: str, glibc: str) -> None:
    """The message may be whole, truncated, or have another system's error number; or only the error text is given."""
    assert wordings(glibc)
    for words in wordings(glibc):
        text = PLACE.sub("7", words.replace("<function>", "recv"))
        other = text.replace(glibc, musl)
        (row,) = find(text)
        assert find(other) == (row,)
        assert find(re.sub(r"\((\d+): ", r"(4\1: ", other)) == (row,)
        if not words.endswith(")"):
            assert find(f"{other[:-4]}...") == find(f"{text[:-4]}...")
    assert set(find(musl)) & set(find(glibc))


def test_every_error_text_in_the_rows_is_the_same_in_musl_or_listed_above() -> None:
    alike = {
        *("Operation not permitted", "No such file or directory", "Bad file descriptor", "Permission denied"),
        *("Not a directory", "Invalid argument", "Too many open files in system", "No space left on device"),
        *("Broken pipe", "Resource temporarily unavailable", "Address family not supported by protocol"),
        *("Connection reset by peer", "Connection refused", "Read-only file system", "No such process"),
        # nginx's resolver has its own texts.
        *("Server failure", "Host not found", "Operation refused"),
    }
    used = {
        found
        for row in messages().values()
        for words in row.words
        for found in re.findall(r"\(\d+: ([A-Z][^)<]+)\)", words.text)
    }
    assert used - alike - set(MUSL.values()) - set(MUSL) == set()
