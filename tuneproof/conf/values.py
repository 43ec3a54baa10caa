"""Values of directives: sizes, times, numbers, addresses (https://nginx.org/en/docs/syntax.html)."""

import ipaddress
import re
from typing import Final

# No sensible number in a configuration has more digits.
_MOST_DIGITS: Final = 18
_SIZE: Final = re.compile(rf"([0-9]{{1,{_MOST_DIGITS}}})([kKmMgG]?)")
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# The largest unit comes first, as nginx requires (ngx_parse_time); a month has 30 days, a year 365.
_SECOND_MS: Final = 1000
_DAY_MS: Final = 24 * 3600 * _SECOND_MS
_TIMES_MS: Final = {
    "y": 365 * _DAY_MS,
    "M": 30 * _DAY_MS,
    "w": 7 * _DAY_MS,
    "d": _DAY_MS,
    "h": 3600 * _SECOND_MS,
    "m": 60 * _SECOND_MS,
    "s": _SECOND_MS,
    "ms": 1,
}
_LEADING_ZEROS: Final = re.compile(r"\b0+(?=[0-9])", re.ASCII)
_TIME: Final = re.compile(rf"([0-9]{{1,{_MOST_DIGITS}}})(ms|[yMwdhms])? *")


def size_bytes(text: str) -> int | None:
    """Return a size such as "8k" in bytes; None if it is not a size."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _UNITS[match[2].lower()] if match else None


def time_ms(text: str) -> int | None:
    """Return a time such as "90", "1m 30s" or "500ms" in milliseconds (default unit: seconds); None if invalid."""
    total, at = 0, 0
    left = list(_TIMES_MS)
    while at < len(text):
        part = _TIME.match(text, at)
        unit = (part[2] or "s") if part else ""
        if part is None or unit not in left or (part[2] is None and part.end() < len(text)):
            return None
        total += int(part[1]) * _TIMES_MS[unit]
        left = left[left.index(unit) + 1 :]
        at = part.end()
    return total if at else None


def whole_number(text: str) -> int | None:
    """Return a number; None for anything else, such as "auto"."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def is_address(host: str) -> bool:
    """Tell whether a host is an IP address, written without brackets; its numbers may begin with zeros, as in nginx."""
    try:
        ipaddress.ip_address(host if ":" in host else _LEADING_ZEROS.sub("", host))
    except ValueError:
        return False
    return True


def ipv4_number(text: str) -> int | None:
    """Return an IPv4 address as a number; None for anything else, and for 255.255.255.255, nginx's mark of an error."""
    if ":" in text or text == "255.255.255.255" or not is_address(text):
        return None
    return int(ipaddress.IPv4Address(_LEADING_ZEROS.sub("", text)))


def nginx_size(number: int) -> str:
    """Return a size in nginx's syntax, in the largest unit that leaves no fraction."""
    for unit in ("m", "k"):
        if number >= _UNITS[unit] and number % _UNITS[unit] == 0:
            return f"{number // _UNITS[unit]}{unit}"
    return str(number)
