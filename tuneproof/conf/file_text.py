"""Decodes a configuration's bytes, as editors, terminals and other systems write them."""

import codecs
import re
from typing import Final

from tuneproof.wording import without_escapes

BYTE_ORDER_MARK: Final = "\ufeff"
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
# Control characters that `script`, pagers and editors do not leave in a text, and U+FFFD.
_OF_NO_TEXT: Final = re.compile("[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_SAMPLE: Final = 4096
_MOST_CONTROLS: Final = 0.05
# Control characters that `script` and some pagers leave in a text.
_NOISE: Final = str.maketrans("", "", "\x00\x08")


def decode(raw: bytes) -> str:
    """Return bytes as text; those that are not UTF-8 become lone surrogates, from which patches get the bytes back.

    ``raw``: The file. A byte order mark determines its encoding and stays, since nginx reads it as text. UTF-16 is
    recognised even without one.
    """
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return raw.decode(encoding, errors="replace")
    # Every other byte of an ASCII text in UTF-16 is zero; other encodings of a configuration have no zero bytes.
    if len(raw) > 1 and not raw[1] and raw[0]:
        return raw.decode("utf-16-le", errors="replace")
    if len(raw) > 1 and not raw[0] and raw[1]:
        return raw.decode("utf-16-be", errors="replace")
    return raw.decode("utf-8", errors="surrogateescape")


def is_binary(text: str) -> bool:
    """Tell whether decoded bytes are binary: too many control characters at the beginning."""
    sample = text[:_SAMPLE]
    return len(_OF_NO_TEXT.findall(sample)) + sample.count("\0") // 2 > _MOST_CONTROLS * len(sample)


def without_terminal(text: str) -> str:
    """Return a text without a terminal's control sequences, and without the byte order mark that a shell may write."""
    return without_escapes(text).translate(_NOISE).removeprefix(BYTE_ORDER_MARK)


def lines_of(text: str) -> list[str]:
    """Return a text's lines with their ends, as nginx counts them: only by line feeds.

    ``str.splitlines`` also splits at form feeds and at characters such as U+0085, which a wrong conversion from
    Windows-1252 leaves in comments.
    """
    return _LINE.findall(text)
