"""Functions for wording that all packages use."""

import pytest

from tuneproof.wording import each_once, mid_sentence, one_line, plain, size


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (16_777_215, "16 MiB"),
        (10 << 20, "10 MiB"),
        (-3 << 20, "-3 MiB"),
        (3000 << 30, "3000 GiB"),
    ],
)
def test_a_size_is_shown_in_the_largest_unit_that_fits_up_to_gib(count: int, expected: str) -> None:
    assert size(count) == expected


@pytest.mark.parametrize(
    ("words", "expected"), [("", ""), ("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abab", "a and b")]
)
def test_each_item_of_an_enumeration_is_named_once(words: str, expected: str) -> None:
    assert each_once(words) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A disk is full", "a disk is full"),
        ("OCSP stapling is on", "OCSP stapling is on"),
        ("OpenSSL fails", "OpenSSL fails"),
        ("PHP-FPM", "PHP-FPM"),
        ("nginx", "nginx"),
        ("Kubernetes: a probe failed", "Kubernetes: a probe failed"),
        ("", ""),
    ],
)
def test_a_sentence_inside_another_keeps_the_capitals_of_names(text: str, expected: str) -> None:
    assert mid_sentence(text) == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\r\n\u00fc \u2192\n", "a\tb\r\n\u00fc \u2192\n"),
        ("\x1b[31ma\x07\rb", r"\x1b[31ma\x07\rb"),
        ("a\u202eb\x9b\ud800\u2028c", r"a\u202eb\x9b\ud800\u2028c"),
        ("a\n  ::error file=a::b", "a\n  \\x3a:error file=a::b"),
        ("::stop-commands::a", r"\x3a:stop-commands::a"),
        (" ::1 lan;\n::face:1 ::2;", " ::1 lan;\n::face:1 ::2;"),
        ("a ##[group]b ##[ upstream ]##", r"a #\x23[group]b ##[ upstream ]##"),
        ("server ::error::a", "server ::error::a"),
    ],
    ids=["text", "terminal", "direction", "command", "stop", "IPv6", "old command", "within a line"],
)
def test_text_that_would_act_as_markup_is_escaped(text: str, shown: str) -> None:
    """IPv6 addresses begin like GitHub's commands, but are not escaped."""
    assert plain(text) == shown


def test_lines_are_joined_and_commands_are_escaped() -> None:
    assert one_line("a\n ::error::b\x1b\n") == r"a ::error::b\x1b"
    assert one_line("\n::error::b") == r"\x3a:error::b"
