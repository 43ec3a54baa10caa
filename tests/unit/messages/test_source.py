"""The rows match nginx's source code: each message has a row or a reason for having none, and no row is obsolete.

TUNEPROOF_NGINX_SOURCE names folders of nginx's source, separated by colons; if unset, tests that need it are skipped.
"""

import os
import re
from pathlib import Path

import pytest

from tools.messages.coverage import begins, is_in, missing, of_format, of_words
from tools.messages.source import Written, literals, written
from tuneproof.messages.rows import Words, messages
from tuneproof.wording import as_numbers

SOURCES = [Path(folder) for folder in os.environ.get("TUNEPROOF_NGINX_SOURCE", "").split(":") if folder]
NO_SOURCE = pytest.mark.skipif(not SOURCES, reason="TUNEPROOF_NGINX_SOURCE names no folder of nginx's source")


def version_of(source: Path) -> tuple[int, ...]:
    header = (source / "src/core/nginx.h").read_text(encoding="utf-8")
    (version,) = re.findall(r'#define NGINX_VERSION\s+"([\d.]+)"', header)
    return as_numbers(version)


def is_valid(words: Words, version: tuple[int, ...]) -> bool:
    since, until = (as_numbers(text) if text else () for text in (words.since, words.until))
    return since <= version and (not until or version <= until)


@NO_SOURCE
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_each_message_in_the_source_has_a_row_or_a_reason_for_having_none(source: Path) -> None:
    known = list(written(source))
    assert len(known) > 1_000
    assert [f"{each.file}: [{each.level}] {each.format}" for each in missing(known)] == []


@NO_SOURCE
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_each_rows_words_are_in_the_source_of_its_versions(source: Path) -> None:
    version = version_of(source)
    known = {each.format for each in written(source)} | literals(source)
    wrong = [
        f"{row.id}: {words.text}"
        for row in messages().values()
        if row.area not in {"kernel", "applications", "backends"} and not row.id.startswith("windows_")
        for words in row.words
        if is_valid(words, version) and not is_in(words.text, known)
    ]
    assert wrong == []


def test_a_message_without_a_row_or_a_reason_is_reported_as_missing() -> None:
    new = Written(file="http/ngx_http_upstream.c", level="error", format="upstream sent a riddle: %V")
    own = Written(file="http/ngx_http_upstream.c", level="error", format="upstream sent too big header")
    assert list(missing([new, own])) == [new]


@pytest.mark.parametrize(
    ("words", "format_", "same"),
    [
        ("upstream sent too big header while reading response", "upstream sent too big header", True),
        ('host not found in upstream "<host>"', '%s in upstream "%V"', True),
        ('limiting requests, excess: <excess> by zone "<zone>"', 'limiting requests%s, excess: %ui by zone "%V"', True),
        ("upstream sent too big trailers", "upstream sent too big header", False),
        ("upstream sent too big trailers", '%s in upstream "%V"', False),
        ("no live upstreams while connecting to upstream", "no live upstreams", True),
    ],
)
def test_words_and_formats_are_compared_by_their_fixed_parts(words: str, format_: str, *, same: bool) -> None:
    assert any(begins(row, of_format(format_)) for row in of_words(words)) is same
