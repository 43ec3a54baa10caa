"""HTTP/2 frames (RFC 9113, section 4.1) as text, for clients that send what no library would."""

from typing import Final

_DATA, _HEADERS, _RST_STREAM, _SETTINGS = 0x0, 0x1, 0x3, 0x4
_END_STREAM, _END_HEADERS, _ACK = 0x1, 0x4, 0x1
_CANCEL: Final = b"\x00\x00\x00\x08"
_FRAME_BYTES: Final = 16_384  # the largest frame that every server accepts
# Fields of the static table (RFC 7541, appendix A), by index; then fields with literal values.
_GET, _POST, _HTTP, _ROOT = b"\x82", b"\x83", b"\x86", b"\x84"
_AUTHORITY: Final = b"\x01\x03lab"
_CONTENT_LENGTH: Final = b"\x0f\x0d"


def opening(*, acknowledges: bool) -> str:
    """Return the beginning of a client's connection: the preface and the client's settings.

    acknowledges: whether the client also acknowledges the server's settings.
    """
    ack = _frame(_SETTINGS, _ACK, 0, b"") if acknowledges else b""
    return _text(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(_SETTINGS, 0, 0, b"") + ack)


def get(stream: int, *, resets: bool) -> str:
    """Return a request; ``resets``: whether it is cancelled at once."""
    head = _frame(_HEADERS, _END_HEADERS | _END_STREAM, stream, _GET + _HTTP + _ROOT + _AUTHORITY)
    return _text(head + (_frame(_RST_STREAM, 0, stream, _CANCEL) if resets else b""))


def upload(stream: int, body_bytes: int) -> str:
    """Return a request with its whole body, regardless of the server's window."""
    length = str(body_bytes).encode()
    fields = _POST + _HTTP + _ROOT + _AUTHORITY + _CONTENT_LENGTH + bytes([len(length)]) + length
    head = _frame(_HEADERS, _END_HEADERS, stream, fields)
    sizes = [min(_FRAME_BYTES, body_bytes - at) for at in range(0, body_bytes, _FRAME_BYTES)]
    data = [_frame(_DATA, 0, stream, bytes(size)) for size in sizes]
    return _text(head + b"".join(data) + _frame(_DATA, _END_STREAM, stream, b""))


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def _text(data: bytes) -> str:
    return data.decode("latin-1")
