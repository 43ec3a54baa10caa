"""Regular expressions of PCRE: Python's where both read the same, an error where not."""

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
def test_what_both_read_the_same_is_asked_of_python(regex: str, text: str, *, matches: bool) -> None:
    assert (compiled(regex, ignores_case=False).search(as_bytes_read(text)) is not None) == matches


@pytest.mark.parametrize(
    "regex",
    [
        *(r"(?|a|b)", r"a\Kb", "[[:alpha:]]", "a(?i)b", r"(a)\1", r"\Z", r"\Qa"),
        *("(*UTF8)a", "a{,3}", "(?R)", "[]a]", "(", r"\h"),
    ],
)
def test_what_python_reads_otherwise_is_refused(regex: str) -> None:
    with pytest.raises(ForeignRegexError):
        compiled(regex, ignores_case=False)
