"""PCRE's regular expressions: Python's if both mean the same, otherwise an error."""

import pytest

from tuneproof.conf.regexes import ForeignRegexError, as_bytes_read, compiled


@pytest.mark.parametrize(
    ("regex", "text", "matches"),
    [
        (r"\.php$", "/a.php", True),
        (r"^/(?<name>\w+)/(?:x|y)\z", "/é/x", False),
        (r"(?i)^/A", "/a", True),
        ("^/a++b", "/aab", True),
        ("^/(?!b)", "/b", False),
    ],
)
def test_python_matches_expressions_that_mean_the_same_in_both(regex: str, text: str, *, matches: bool) -> None:
    assert (compiled(regex, ignores_case=False).search(as_bytes_read(text)) is not None) == matches


@pytest.mark.parametrize(
    "regex",
    [
        *(r"(?|a|b)", r"a\Kb", "[[:alpha:]]", "a(?i)b", r"(a)\1", r"\Z", r"\Qa"),
        *("(*UTF8)a", "a{,3}", "(?R)", "[]a]", "(", r"\h"),
    ],
)
def test_expressions_with_another_meaning_in_python_are_rejected(regex: str) -> None:
    with pytest.raises(ForeignRegexError):
        compiled(regex, ignores_case=False)
