"""Values of directives: sizes, flags, versions of nginx."""

import re
from typing import Final

# More digits than any number of nginx's has.
_MOST_DIGITS: Final = 18
_SIZE: Final = re.compile(rf"([0-9]{{1,{_MOST_DIGITS}}})([kKmMgG]?)$")
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size_bytes(text: str) -> int | None:
    """Return a size such as "8k" in bytes; None if it is none (https://nginx.org/en/docs/syntax.html)."""
    match = _SIZE.match(text)
    return int(match[1]) * _UNITS[match[2].lower()] if match else None


def whole_number(text: str) -> int | None:
    """Return a number; None if it is none, such as "auto"."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def nginx_size(number: int) -> str:
    """Return a size as nginx would write it, in the largest unit that leaves no fraction."""
    for unit, factor in (("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)):
        if number >= factor and number % factor == 0:
            return f"{number // factor}{unit}"
    return str(number)
