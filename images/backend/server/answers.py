"""Turns the headers of a request into the bytes of its response."""

import enum
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

HOLD_PATH: Final = b"/hold"
HOLD_ANNOUNCED_BYTES: Final = 1 << 30
HOLD_SENT_BYTES: Final = 1024
WAIT_PATH: Final = b"/wait/"
LONGEST_WAIT_MS: Final = 60_000
_METHODS: Final = (b"GET", b"HEAD")
_VERSIONS: Final = (b"HTTP/1.0", b"HTTP/1.1")
_REQUEST_LINE_WORDS: Final = 3


class Then(enum.Enum):
    """What happens to the connection after a response."""

    KEEP = enum.auto()
    CLOSE = enum.auto()
    HOLD = enum.auto()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The bytes of a response, its delay in seconds, and what happens to the connection."""

    data: bytes
    then: Then
    after_s: float = 0.0


# Nearly all requests in a load are the same.
@lru_cache(maxsize=1024)
def answer_to(head: bytes, *, page: bytes) -> Answer:
    """Return the response to a request.

    head: the request without the empty line that ends its headers.
    """
    request_line, *lines = head.split(b"\r\n")
    words = request_line.split(b" ")
    if len(words) != _REQUEST_LINE_WORDS or words[2] not in _VERSIONS:
        return _refusal(b"400 Bad Request")
    method, target, version = words
    fields = [(name.lower(), value.strip().lower()) for name, _, value in (line.partition(b":") for line in lines)]
    # Bodies are not read; after a body, the start of the next request would be unknown.
    has_body = any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0") for name, value in fields
    )
    if method not in _METHODS or has_body:
        return _refusal(b"501 Not Implemented")
    then = Then.KEEP if _persists(version, fields) else Then.CLOSE
    if target.startswith(HOLD_PATH):
        held = method == b"GET"
        body = bytes(HOLD_SENT_BYTES) if held else b""
        data = _head(b"200 OK", length=HOLD_ANNOUNCED_BYTES, then=then) + body
        return Answer(data=data, then=Then.HOLD if held else then)
    wait_ms = _wait_ms(target)
    found = target.partition(b"?")[0] == b"/" or wait_ms is not None
    status, body = (b"200 OK", page) if found else (b"404 Not Found", b"")
    return Answer(
        data=_head(status, length=len(body), then=then) + (body if method == b"GET" else b""),
        then=then,
        after_s=(wait_ms or 0) / 1000,
    )


def too_long() -> Answer:
    """Return the response to headers that are too long (RFC 6585, section 5)."""
    return _refusal(b"431 Request Header Fields Too Large")


def _wait_ms(target: bytes) -> int | None:
    """Return the delay that a target asks for, at most a minute: /wait/200 takes 200 ms; None for other targets."""
    digits = target.removeprefix(WAIT_PATH)
    if digits == target or not digits.isdigit() or len(digits) > len(str(LONGEST_WAIT_MS)):
        return None
    return min(int(digits), LONGEST_WAIT_MS)


def _persists(version: bytes, fields: list[tuple[bytes, bytes]]) -> bool:
    """Return whether the connection stays open: RFC 9112, section 9.3."""
    options = {option.strip() for name, value in fields if name == b"connection" for option in value.split(b",")}
    return b"close" not in options and (version == b"HTTP/1.1" or b"keep-alive" in options)


def _refusal(status: bytes) -> Answer:
    return Answer(data=_head(status, length=0, then=Then.CLOSE), then=Then.CLOSE)


def _head(status: bytes, *, length: int, then: Then) -> bytes:
    # "keep-alive" is for HTTP/1.0 clients, which need it.
    connection = b"close" if then is Then.CLOSE else b"keep-alive"
    lines = (
        b"HTTP/1.1 " + status,
        b"Content-Type: text/html",
        b"Content-Length: %d" % length,
        b"Connection: " + connection,
    )
    return b"\r\n".join(lines) + b"\r\n\r\n"
