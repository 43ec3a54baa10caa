"""A database without addresses, for ``geoip2``: it can be opened, and every variable gets its default.

The format: https://maxmind.github.io/MaxMind-DB/
"""

from typing import Final

_TEXT: Final = 2
_SHORT: Final = 5
_NUMBER: Final = 6
_MAP: Final = 7
# One node with two empty records: a record equal to the number of nodes means "no data".
_TREE: Final = b"\x00\x00\x01" * 2
_BETWEEN: Final = bytes(16)
_MARK: Final = b"\xab\xcd\xefMaxMind.com"
# Types above seven need another byte, which is the type minus seven.
_ARRAY_OF_ONE: Final = b"\x01\x04"
_LONG_ONE: Final = b"\x01\x02\x01"  # libmaxminddb rejects a build time of zero


def no_places() -> bytes:
    """Return the database's bytes."""
    facts = {
        "binary_format_major_version": _number(_SHORT, 2),
        "binary_format_minor_version": _number(_SHORT, 0),
        "build_epoch": _LONG_ONE,
        "database_type": _text("Nowhere"),
        "description": bytes([_MAP << 5 | 1]) + _text("en") + _text("no place"),
        "ip_version": _number(_SHORT, 6),
        "languages": _ARRAY_OF_ONE + _text("en"),
        "node_count": _number(_NUMBER, 1),
        "record_size": _number(_SHORT, 24),
    }
    entries = b"".join(_text(name) + value for name, value in facts.items())
    return b"".join((_TREE, _BETWEEN, _MARK, bytes([_MAP << 5 | len(facts)]), entries))


def _text(text: str) -> bytes:
    return bytes([_TEXT << 5 | len(text)]) + text.encode()


def _number(kind: int, value: int) -> bytes:
    written = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([kind << 5 | len(written)]) + written
