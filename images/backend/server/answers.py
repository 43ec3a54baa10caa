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
    """Return the response to a request, which is 501 for any method but GET and for a request with a body.

    head: the request without the empty line that ends its headers.
    """
    request_line, *lines = head.split(b"\r\n")
    method, target, version = request_line.split(b" ")
    fields = [(name.lower(), value.strip().lower()) for name, _, value in (line.partition(b":") for line in lines)]
    # Bodies are not read; after a body, the start of the next request would be unknown.
    has_body = any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0") for name, value in fields
    )
    if method != b"GET" or has_body:
        return Answer(data=_head(b"501 Not Implemented", length=0, then=Then.CLOSE), then=Then.CLOSE)
    then = Then.KEEP if _persists(version, fields) else Then.CLOSE
    if target.startswith(HOLD_PATH):
        data = _head(b"200 OK", length=HOLD_ANNOUNCED_BYTES, then=then) + bytes(HOLD_SENT_BYTES)
        return Answer(data=data, then=Then.HOLD)
    wait_ms = _wait_ms(target)
    found = target.partition(b"?")[0] == b"/" or wait_ms is not None
    status, body = (b"200 OK", page) if found else (b"404 Not Found", b"")
    return Answer(data=_head(status, length=len(body), then=then) + body, then=then, after_s=(wait_ms or 0) / 1000)


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
