"""A log's format is determined from its first lines, or from an nginx.conf next to it."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.canned_formats import COMBINED_LINE, COMMON_LINE, CONFIGURATION
from tests.support.growth import assert_grows_with_its_size
from tuneproof.conf.statements import GUESSED, parse_file
from tuneproof.explain.parse.access_log.known import guess_format
from tuneproof.explain.parse.access_log.log_format import TextFormat
from tuneproof.explain.parse.access_log.nginx_conf import LoggingSettings, logging_settings
from tuneproof.explain.parse.problems import MalformedEvidenceError

QUICK = settings(derandomize=True)


def guess(*lines: str, formats: tuple[TextFormat, ...] = ()) -> tuple[str, int, int]:
    """Return the guessed format's name, the number of lines in it, and the number of lines examined."""
    result = guess_format(lines, formats)
    return result.line_format.name, result.matched_lines, result.tried_lines


def test_a_guess_reports_the_numbers_of_matching_and_examined_lines() -> None:
    """At most 200 lines are examined, without blank ones; truncated lines do not match."""
    assert guess(COMBINED_LINE) == ("combined", 1, 1)
    assert guess(*[COMBINED_LINE, ""] * 300) == ("combined", 200, 200)
    assert guess(COMBINED_LINE[30:], *[f"{COMBINED_LINE}\r\n"] * 3, COMBINED_LINE[:50]) == ("combined", 3, 5)
    assert guess(f"\ufeff{COMBINED_LINE}") == ("combined", 1, 1)


def test_one_request_among_nine_messages_is_enough_for_a_guess() -> None:
    message = "2023/05/31 08:27:49 [error] 7#7: *1 connect() failed (111: Connection refused)"
    assert guess(*[message] * 9, COMBINED_LINE) == ("combined", 1, 10)
    with pytest.raises(MalformedEvidenceError, match="with 1 of 11 lines"):
        guess(*[message] * 10, COMBINED_LINE)


def test_if_two_formats_match_the_one_with_more_variables_is_used() -> None:
    vague = TextFormat("$everything", name="vague")
    same = TextFormat('$remote_addr - $user [$time_local] "$request" $status $body_bytes_sent', name="same")
    assert guess(COMMON_LINE, formats=(vague, same)) == ("same", 1, 1)
    assert guess(COMMON_LINE, formats=(vague,)) == ("common", 1, 1)
    assert guess("anything", formats=(vague,)) == ("vague", 1, 1)


def test_a_log_in_no_known_format_is_reported_with_the_nearest_format() -> None:
    lines = ["", COMBINED_LINE.replace(" 200 ", " OK "), "nonsense"]
    with pytest.raises(MalformedEvidenceError) as caught:
        guess(*lines)
    assert (caught.value.line, caught.value.column) == (2, 60)
    assert str(caught.value) == (
        "line 2, column 60: no known log format fits; nearest is 'common' with 0 of 2 lines: expected $status (three "
        "digits) and then ' ', found 'OK 12 \"-\" \"curl\"'"
    )


@pytest.mark.parametrize("lines", [(), ("", " ", "\0\0\r\n")], ids=["empty", "blank"])
def test_a_log_without_lines_has_no_format(lines: tuple[str, ...]) -> None:
    with pytest.raises(MalformedEvidenceError, match="line 1: no lines"):
        guess(*lines)


def test_formats_in_a_configuration_are_found() -> None:
    """An access log without a format is in the format combined; with "off", there is no log."""
    found = logging_settings(CONFIGURATION)
    assert [(item.name, item.text, item.escape, item.line) for item in found.formats] == [
        ("main", '$remote_addr "$request" $status "$pid" ${host}_$connection', "default", 5),
        ("objects", '{"status":"$status","uri":"$request_uri"}\n', "json", 8),
    ]
    assert [(use.path, use.format_name) for use in found.uses] == [
        ("/var/log/all.log", "main"),
        ("off", None),
        ("logs/slow.log", "combined"),
        ("syslog:server=unix:/dev/log,tag=a", "objects"),
    ]
    assert found.includes == ("modules/*.conf",)
    assert logging_settings("# nothing\n") == LoggingSettings(formats=(), uses=(), includes=())


@pytest.mark.parametrize("piece", ["{", "[[", "[=", '\\"', "-- ", "#", "'", "${", "a{access_log x;}"])
def test_reading_a_hostile_configuration_takes_linear_time(piece: str) -> None:
    def read(size: int) -> None:
        for begin in ("", "x_by_lua_block {"):
            with contextlib.suppress(MalformedEvidenceError):
                logging_settings(begin + piece * (size // len(piece)))

    assert_grows_with_its_size(read, size=16_384)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("\n a b", 2, "unexpected end of file"),
        ("a }", 1, 'unexpected "}"'),
        ("}", 1, 'unexpected "}"'),
        ("\n;", 2, 'unexpected ";"'),
        ("a;\nhttp {\n", 2, "unexpected end of file"),
        ("log_format a;", 1, "log_format needs a name and a format"),
        ("log_format a '$';", 1, "a: log_format: not a variable's name"),
        ("log_format a escape=xml '$b';", 1, "a: log_format: escape=xml is not one of"),
        ("a {" * 101, 1, "more than 100 nested blocks"),
    ],
)
def test_the_error_for_an_invalid_configuration_names_the_line(text: str, line: int, message: str) -> None:
    with pytest.raises(MalformedEvidenceError) as caught:
        logging_settings(text)
    assert caught.value.line == line
    assert message in caught.value.what


@QUICK
@given(words=st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_quoted_words_are_unquoted(words: list[str]) -> None:
    """In quotes, a backslash precedes quotes and backslashes."""
    text = " ".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in words)
    (statement,) = parse_file("", f"{text};", around=(GUESSED,)).statements
    assert (statement.name, *statement.args) == tuple(words)
