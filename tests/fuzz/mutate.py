"""Changes seeds without regard to their format: bits, bytes, numbers, words and lines."""

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

MOST_BYTES: Final = 8_192
"""Longer inputs are cut, because short ones take less time. Unit tests cover very long lines."""

_MOST_CHANGES: Final = 4
_MOST_COPIES: Final = 32
_LONGEST_SLICE: Final = 64
_LONGEST_NUMBER: Final = 24
_USUAL: Final = 0.75
_NUMBER: Final = re.compile(rb"[0-9]{1,24}(?:\.[0-9]{1,12})?")
# A word, a quoted text, or innermost brackets with their content.
_TOKEN: Final = re.compile(rb'"[^"\n]{0,200}"|[\w.%$/-]{1,200}|\[[^][{}]{0,500}\]|\{[^][{}]{0,500}\}')
_VALUES: Final = (b"null", b"true", b"[]", b"{}", b'""', b"[[]]", b"-", b"0")
# Limits of common number ranges, and texts that resemble numbers; float() or int() accept some of them.
_NUMBERS: Final = (
    *b"0 1 99 0001 9999 -1 +1 1_0 007 0x10 0.0 -0.001 .5 65536 2147483648 4294967295 4294967296".split(),
    *b"9223372036854775808 18446744073709551615 18446744073709551616 1e308 1e400 nan inf".split(),
    *(b"9" * digits for digits in (18, 25, 400, 5_000)),
    *(b"", "\u0663".encode(), "\u00b2".encode()),
)
# NULs, invalid UTF-8 (overlong, half of a surrogate pair, cut), a byte order mark, line breaks, spaces, characters
# that resemble them, punctuation, and deep nesting.
_PIECES: Final = (
    *(b"\0", b"\0" * 4, b"\xff", b"\xff" * 4, b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82", b"\xef\xbb\xbf"),
    *(b"\r", b"\n", b"\r\n", b"\x0b", b"\x1c", b" ", b"\t"),
    *(text.encode() for text in ("\u0085", "\u2028", "\u00a0")),
    *rb"""- : , " ' \ \x22 \u $ # { } [ ] ( )""".split(),
    *(b"[" * 2_000, b'{"a":' * 1_000),
)


def mutated(seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """Return one of the seeds after one to four changes, which may splice in another seed."""
    content = chance.choice(seeds)
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        content = chance.choice(_CHANGES)(content, seeds, chance)[:MOST_BYTES]
    return content


def _slice(content: bytes, chance: random.Random) -> tuple[int, int]:
    """Return the start and end of a slice; most slices are short."""
    start = chance.randint(0, len(content))
    longest = chance.choice((1, 4, 16, _LONGEST_SLICE, len(content)))
    return start, min(len(content), start + chance.randint(0, longest))


def _flip_bit(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    if not content:
        return content
    at = chance.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]


def _set_bytes(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    """Overwrite 1, 2, 4 or 8 bytes, which may be a binary number."""
    at, width = chance.randint(0, len(content)), chance.choice((1, 1, 2, 4, 8))
    value = chance.choice((bytes(width), b"\xff" * width, b"\x7f" + b"\xff" * (width - 1), chance.randbytes(width)))
    return content[:at] + value + content[at + width :]


def _delete(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _slice(content, chance)
    return content[:start] + content[end:]


def _insert(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    at = chance.randint(0, len(content))
    piece = chance.choice(_PIECES) if chance.random() < _USUAL else chance.randbytes(chance.randint(1, 16))
    return content[:at] + piece + content[at:]


def _double(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _slice(content, chance)
    copies = chance.choice((1, 1, 2, _MOST_COPIES))
    return content[:end] + content[start:end] * copies + content[end:]


def _splice(content: bytes, seeds: Sequence[bytes], chance: random.Random) -> bytes:
    other = chance.choice(seeds)
    return content[: chance.randint(0, len(content))] + other[chance.randint(0, len(other)) :]


def _paste(content: bytes, seeds: Sequence[bytes], chance: random.Random) -> bytes:
    other = chance.choice(seeds)
    start, end = _slice(other, chance)
    at = chance.randint(0, len(content))
    return content[:at] + other[start:end] + content[at:]


def _noise(_content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    return chance.randbytes(chance.randint(0, 200))


def _cut_end(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    return content[: chance.randint(0, len(content))]


def _cut_start(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    return content[chance.randint(0, len(content)) :]


def _number(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    # The first number after a random position is replaced, so that long inputs are not searched completely.
    found = _NUMBER.search(content, chance.randint(0, max(0, len(content) - _LONGEST_NUMBER)))
    if found is None:
        return content
    return content[: found.start()] + chance.choice(_NUMBERS) + content[found.end() :]


def _token(content: bytes, seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """Replace a word, a quoted text or a bracketed text with another one, or with a JSON value."""
    found = _some_token(content, chance)
    other = _some_token(chance.choice((content, *seeds)), chance)
    if found is None or other is None:
        return content
    word = other[0] if chance.random() < _USUAL else chance.choice(_VALUES)
    return content[: found.start()] + word + content[found.end() :]


def _some_token(content: bytes, chance: random.Random) -> re.Match[bytes] | None:
    return _TOKEN.search(content, chance.randint(0, len(content)))


def _shuffle_lines(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    start = chance.randrange(len(lines))
    some = lines[start : start + chance.choice((2, 3, len(lines)))]
    chance.shuffle(some)
    return b"\n".join([*lines[:start], *some, *lines[start + len(some) :]])


def _drop_line(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    del lines[chance.randrange(len(lines))]
    return b"\n".join(lines)


# Changes of a number or a word appear twice: most of their results are still valid.
_CHANGES: Final[tuple[Callable[[bytes, Sequence[bytes], random.Random], bytes], ...]] = (
    *(_flip_bit, _set_bytes, _delete, _insert, _double, _splice, _paste, _cut_end, _cut_start, _noise),
    *(_number, _number, _token, _token, _shuffle_lines, _drop_line),
)
