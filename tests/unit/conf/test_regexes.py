"""Python matches the PCRE expressions that have the same meaning in Python; all others are rejected."""

import pytest

from tuneproof.conf.regexes import ForeignRegexError, as_bytes_read, compiled, refusal


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
def test_expressions_with_the_same_meaning_in_python_are_matched(regex: str, text: str, *, matches: bool) -> None:
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


@pytest.mark.parametrize(
    ("regex", "old", "new"),
    [
        ("^/a(b", "missing )", "missing closing parenthesis"),
        ("a)b", "unmatched parentheses", "unmatched closing parenthesis"),
        ("*.php", "nothing to repeat", "quantifier does not follow a repeatable item"),
        ("(*UTF8)a", "", ""),
        ("(?<a>b)|(?'c'd)", "", ""),
        ("^[^[:space:])]+$", "", ""),
    ],
)
def test_an_invalid_regex_gets_the_message_of_the_versions_library(regex: str, old: str, new: str) -> None:
    """Debian builds nginx 1.18 with PCRE, and 1.22 with PCRE2."""
    assert refusal(regex, (1, 18, 0)) == (f'pcre_compile() failed: {old} in "{regex}"' if old else "")
    assert refusal(regex, (1, 22, 1)) == (f'pcre2_compile() failed: {new} in "{regex}"' if new else "")
