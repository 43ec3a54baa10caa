"""Each row is complete, and each of its wordings finds the row."""

import re
from unittest.mock import Mock

import pytest

from tests.support.places import CHECKOUT
from tests.support.tables import table
from tuneproof.explain.parse.error_log import EVENTS
from tuneproof.messages import patterns
from tuneproof.messages.patterns import PLACE, find_cut, find_one
from tuneproof.messages.rows import Problem, messages

ROWS = list(messages().values())
LEVELS = {"info", "notice", "warn", "error", "crit", "alert", "emerg", "debug"}
SAMPLES = {"end": "", "n": "7", "number": "24", "n+": "7", "function": "recv"}
WITHOUT_LEVEL = {"configuration_ok", "configuration_syntax_ok", "configuration_test_failed"}
"""nginx -t prints these messages without a level."""
VERSION = re.compile(r"1\.\d+\.\d+")


def sample(words: str) -> str:
    """Return a message with these words, in which a short text replaces each placeholder."""
    return PLACE.sub(lambda place: SAMPLES.get(place[1], "x"), words)


def test_each_wording_finds_its_row_at_each_of_its_levels() -> None:
    """Wordings of other rows may begin with the same words."""
    for row in ROWS:
        for words in row.words:
            for level in row.levels or ("",):
                found = find_one(sample(words.text), level)
                assert found is not None
                assert found.id == row.id, words.text


def test_a_row_is_complete_and_refers_only_to_existing_rows_and_pages() -> None:
    for row in ROWS:
        for text in (row.name, row.happened, row.why, row.first, row.confirm, row.affects):
            assert text.strip() == text != ""
        assert not row.name.endswith(".")
        assert row.happened.endswith(".")
        assert row.why.endswith(".")
        assert bool(row.provoke) != bool(row.unprovoked)
        assert set(row.levels) <= LEVELS
        assert bool(row.levels) != (row.area in {"backends", "kernel"} or row.id in WITHOUT_LEVEL)
        assert all(each.advice and each.because and not each.because.endswith(".") for each in row.wrong)
        assert all(VERSION.fullmatch(text) for words in row.words for text in (words.since, words.until) if text)
        assert row.id not in row.follows
        assert set(row.follows) <= messages().keys()
        assert all(400 <= status < 600 for status in row.statuses)
        assert not row.page or (CHECKOUT / "docs" / row.page).is_file()


def test_every_kind_of_problem_has_a_row_and_names_are_unique() -> None:
    assert len(ROWS) >= 70
    assert {row.problem for row in ROWS} == set(Problem)
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_events_belong_to_existing_rows() -> None:
    assert {row for rows in EVENTS.values() for row in rows} <= messages().keys()


def test_a_message_has_its_most_specific_row_and_other_text_has_none() -> None:
    """Rows may differ in their level, or in the text that follows; another C library may have other error texts."""
    for text, level, row in table("messages"):
        found = find_one(text, level)
        assert (found.id if found is not None else "") == row, text


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("upstream timed out (110: Connection timed out) while reading respon\u2026", "upstream_header_timeout"),
        ("upstream timed out (110: Connection timed out) while reading respo...", "upstream_header_timeout"),
        ("connect() to unix:/run/php.sock failed (13: Permission denied)...", "upstream_socket_denied"),
        ("upstream timed out (110: Connection timed out)", None),
        ("upstream", None),
        ("a message of nobody's that is long enough", None),
    ],
)
def test_a_truncated_message_finds_a_row_only_if_no_other_row_begins_with_it(text: str, row: str | None) -> None:
    found = find_cut(text)
    assert (found.id if found is not None else None) == row


def test_a_message_without_a_row_is_compared_with_few_wordings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log may contain thousands of such messages, and a wording that begins with a placeholder may fit any text."""
    counted = Mock(wraps=patterns._fixed_of)
    monkeypatch.setattr(patterns, "_fixed_of", counted)
    texts = [f"module {number} cannot talk to its peer number {number * 7}: it said no" for number in range(200)]
    assert [find_cut(text, "error") for text in texts] == [None] * len(texts)
    assert counted.call_count <= 2 * len(texts)


def test_the_quick_check_before_a_comparison_rejects_no_truncated_message() -> None:
    for row in ROWS:
        for words in row.words:
            whole = sample(words.text)
            for text in (whole[: len(whole) // 2], whole[:-1]):
                compared = [
                    each
                    for own in patterns._by_start().values()
                    for each in own
                    if each.message is row and (patterns._fixed_of(each.pieces, text) or 0) >= patterns._FEWEST
                ]
                assert all(each.begun in text for each in compared)


@pytest.mark.parametrize(
    ("whole", "level", "row"),
    [
        ("send() failed (111: Connection refused)", "error", "stream_udp_refused"),
        ("connect() to unix:/run/a.sock failed (2: No such file or directory)", "crit", "upstream_socket_missing"),
    ],
)
def test_a_whole_message_is_not_taken_for_a_truncated_one(whole: str, level: str, row: str) -> None:
    assert find_cut(whole, level) is None
    cut = find_cut(f"{whole}...", level)
    assert cut is not None
    assert cut.id == row
