"""Converts nginx's regular expressions (PCRE) to Python's; rejects those with a different meaning in Python.

https://nginx.org/en/docs/http/server_names.html#regex_names, https://www.pcre.org/current/doc/html/pcre2pattern.html
"""

import functools
import re
import warnings
from typing import Final

# Syntax that Python interprets differently or not at all, each with its name.
_FOREIGN: Final = (
    (r"\(\*", "a verb such as (*UTF8)"),
    (r"\(\?[|R&+0-9C]|\(\?\(|\(\?P>", "recursion, a condition, a branch reset or a callout"),
    (r"(?<!^)\(\?[a-zA-Z^-]+\)|\(\?(?![ims]+[:)])[a-zA-Z^-]+[:)]", "inline options"),
    (r"\\[^\WABDSWZbdfnrstvwxz_]", "an escape that Python lacks"),
    (r"\\Z", "an escape that Python reads differently"),
    (r"\\x(?![0-9a-fA-F]{2})", "a character by its number"),
    (r"\\[0-9]", "a back reference or an octal number"),
    (r"\[\^?\]|\[[^]]*\[[:.=]|\[[^]]*\[", "a bracket in a class"),
    (r"\{,|\{[0-9]*\s|\{\s", "a quantifier without a minimum, or with spaces"),
    (r"\(\?#", "a comment"),
)
_GROUP_NAME: Final = re.compile(r"\(\?<(?=\w)|\(\?'(\w+)'")
# Quoted text, comments and free spacing may contain brackets; Python ends a class at the bracket of a POSIX class.
_OTHERWISE_READ: Final = re.compile(r"\\[QEc]|\[[:.=]|\(\?#|\(\?[a-zA-Z^-]*x")
# https://nginx.org/en/CHANGES: "now nginx is built with the PCRE2 library by default".
_PCRE2_SINCE: Final = (1, 21, 5)
# Python's message, and whether it is about a character after the first (None: any); then PCRE's and PCRE2's messages.
_REFUSED: Final = {
    ("missing ), unterminated subpattern", None): ("missing )", "missing closing parenthesis"),
    ("unterminated character set", None): ("missing terminating ] for character class",) * 2,
    ("unbalanced parenthesis", None): ("unmatched parentheses", "unmatched closing parenthesis"),
    ("nothing to repeat", False): ("nothing to repeat", "quantifier does not follow a repeatable item"),
}
# A class may contain what looks like a group.
_CLASS: Final = re.compile(r"\[\^?\]?[^\]]*\]")
_TORN_NAME: Final = re.compile(r"\(\?(?:P?<|')[A-Za-z_]\w*+(?![>'])", re.ASCII)
_OF_A_NAME: Final = (
    "syntax error in subpattern name (missing terminator)",
    "syntax error in subpattern name (missing terminator?)",
)
_ESCAPE: Final = re.compile(r"\\.", re.DOTALL)


class ForeignRegexError(Exception):
    """A regular expression that Python cannot evaluate."""


def as_bytes_read(text: str) -> str:
    """Return a text as nginx compares it, one character per UTF-8 byte."""
    return text.encode(errors="surrogateescape").decode("latin-1")


@functools.lru_cache(maxsize=1024)
def compiled(regex: str, *, ignores_case: bool) -> re.Pattern[str]:
    """Return nginx's regular expression in Python, for texts from :func:`as_bytes_read`.

    Raises ForeignRegexError: Python lacks some of the syntax, or interprets it differently.
    """
    # An escaped backslash does not begin another escape.
    plain = _ESCAPE.sub(lambda match: "\\_" if match[0] == r"\\" else match[0], regex)
    for pattern, name in _FOREIGN:
        if re.search(pattern, plain):
            raise ForeignRegexError(f"{regex} has {name}")
    ours = _GROUP_NAME.sub(lambda match: f"(?P<{match[1]}>" if match[1] else "(?P<", as_bytes_read(regex))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(_end_of_text(ours), re.ASCII | (re.IGNORECASE if ignores_case else 0))
    except (re.error, FutureWarning, OverflowError, RecursionError) as error:
        raise ForeignRegexError(f"{regex}: {error}") from error


def refusal(regex: str, version: tuple[int, ...]) -> str:
    """Return PCRE's error about brackets, a group's name or a quantifier at the beginning; empty for none."""
    is_new = version >= _PCRE2_SINCE
    said = _refused(regex)
    return f'pcre{"2" if is_new else ""}_compile() failed: {said[is_new]} in "{regex}"' if said else ""


def groups_in(regex: str) -> int | None:
    """Return the number of capturing groups; None if Python cannot tell."""
    try:
        return compiled(regex, ignores_case=False).groups
    except ForeignRegexError:
        return None


@functools.lru_cache(maxsize=1024)
def _refused(regex: str) -> tuple[str, str] | None:
    """Return the errors of PCRE and PCRE2 (see :func:`refusal`); None if there is none, or Python cannot tell."""
    if _OTHERWISE_READ.search(regex):
        return None
    if _TORN_NAME.search(_CLASS.sub("", _ESCAPE.sub("", regex))):
        return _OF_A_NAME
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(_GROUP_NAME.sub("(?:", regex))
    except re.error as error:
        return _REFUSED.get((error.msg, bool(error.pos)), _REFUSED.get((error.msg, None)))
    except (OverflowError, RecursionError):
        pass
    return None


def _end_of_text(regex: str) -> str:
    """Replace PCRE's escape for the end of the text with Python's."""
    return _ESCAPE.sub(lambda match: r"\Z" if match[0] == r"\z" else match[0], regex)
