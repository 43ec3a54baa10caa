"""Formats numbers and untrusted text, for all packages."""

import difflib
import html
import re
from collections.abc import Iterable
from typing import Final

_ASCII_FORMS: Final = str.maketrans(
    {"×": "x", "÷": "/", "–": "-", "—": "-", "→": "->", "…": "...", "≤": "<=", "≥": ">=", "µ": "u"}  # noqa: RUF001 - the look-alikes are meant
)
_FIRST_LONG_NUMBER: Final = 1_000
_FIRST_EXPONENT: Final = 1_000_000
_SIZES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_PROPER_NAMES: Final = frozenset({"Kubernetes", "Lua"})
# Control sequences: ECMA-48, and xterm's for window titles.
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

_TYPOGRAPHIC: Final = str.maketrans({"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'"})

_SUSPECT: Final = re.compile(r"\r(?!\n)|[^\r\n\t\x20-\x7e]")
# "::error file=a::text" at the beginning of a line, and "##[error]text" anywhere, which the runner still accepts.
_COMMAND: Final = re.compile(r"(^[^\S\n]*):(:[A-Za-z][A-Za-z-]*(?: [^\n]*?)?::)", re.MULTILINE)
_OLD_COMMAND: Final = re.compile(r"##(\[[A-Za-z-]+[ \]])")


def format_number(value: float, *, digits: int = 3) -> str:
    """Return a finite number; from 0.0001 to below a million, without an exponent.

    Args:
        value: The number.
        digits: Significant digits; three unless given.
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:.0f}" if _FIRST_LONG_NUMBER <= abs(rounded) < _FIRST_EXPONENT else f"{rounded:.{digits}g}"


def seconds(value_s: float) -> str:
    """Return a time; below a second, in milliseconds."""
    return f"{format_number(value_s)} s" if abs(value_s) >= 1 else f"{format_number(value_s * 1000)} ms"


def share(value: float) -> str:
    """Return a share between 0 and 1 in per cent."""
    return f"{format_number(100 * value)} %"


def size(value_bytes: float) -> str:
    """Return a number of bytes in the largest unit, up to GiB, of which there is at least one."""
    scale, unit = next((found for found in _SIZES if abs(value_bytes) >= found[0]), (1, "B"))
    return f"{format_number(value_bytes / scale, digits=3 if scale > 1 else 4)} {unit}"


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    Args:
        number: How many.
        one: The noun for one.
        many: The noun for any other number; default: ``one`` with an s.
    """
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def mid_sentence(text: str) -> str:
    """Return a sentence for use inside another one: PHP, OpenSSL and Kubernetes keep their capitals."""
    first = re.split(r"[ :]", text, maxsplit=1)[0]
    return text[:1].lower() + text[1:] if first.istitle() and first not in _PROPER_NAMES else text


def each_once(words: Iterable[str]) -> str:
    """Join items for a sentence, without repetitions: ``1.22, 1.26 and 1.30``."""
    unique = list(dict.fromkeys(words))
    return " and ".join([", ".join(unique[:-1]), *unique[-1:]] if len(unique) > 1 else unique)


def close_to(word: str, names: Iterable[str]) -> str:
    """Return suggestions for a mistyped name: "did you mean …?"; empty for none."""
    found = difflib.get_close_matches(word, list(names), n=3)
    return f"did you mean {' or '.join(found)}?" if found else ""


VERDICT_WORDS: Final = {"unsupported": "not testable"}
"""The readers' words for verdicts that results.json names differently."""


def without_escapes(text: str) -> str:
    """Return text without the control sequences for a terminal's colours, titles and modes."""
    return _ESCAPES.sub("", text)


def plain_quotes(text: str) -> str:
    """Return text with plain quotes for typographic ones and entities; unchanged if it has a plain double quote."""
    if '"' in text:
        return text
    if "&quot;" in text or "&#" in text:
        return html.unescape(text)
    return text if text.isascii() else text.translate(_TYPOGRAPHIC)


def plain(text: str) -> str:
    r"""Return lines as plain text: anything that a terminal or GitHub's runner interprets is escaped, as in ``\x1b``.

    These are control characters, marks that change the writing direction, lone surrogates, and GitHub's commands, such
    as ``::error::``. Line ends and tabs stay.
    https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
    """
    if not text.isprintable():
        text = _SUSPECT.sub(lambda found: found[0] if found[0].isprintable() else ascii(found[0])[1:-1], text)
    return _COMMAND.sub(r"\1\\x3a\2", _OLD_COMMAND.sub(r"#\\x23\1", text))


def one_line(text: str) -> str:
    """Return text as :func:`plain` does, but on one line."""
    return plain(" ".join(text.split()))


def ascii_only(text: str) -> str:
    """Return text in ASCII: typographic signs become their usual replacement, others backslash escapes."""
    return text.translate(_ASCII_FORMS).encode("ascii", "backslashreplace").decode("ascii")


_VERSION: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")
MAINLINE_RELEASES: Final = {
    ".".join(map(str, release[:2])): release
    for release in ((1, 19, 10), (1, 21, 6), (1, 23, 4), (1, 25, 5), (1, 27, 5), (1, 29, 8), (1, 31, 3))
}
"""The last release of each mainline branch, since features differ within such a branch; for 1.31, the lab's release."""


def as_numbers(version: str) -> tuple[int, ...]:
    """Return a version such as "1.29.7" as comparable numbers; "1.29" means its release in MAINLINE_RELEASES.

    Raises ValueError: It is not a version.
    """
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{version!r} is not a version")
    return MAINLINE_RELEASES.get(version) or tuple(map(int, version.split(".")))
