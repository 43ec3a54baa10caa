"""HTTP/2 frames follow RFC 9113, section 4.1, and fields follow RFC 7541."""

from collections.abc import Iterator

from tuneproof.catalogue.http2_frames import get, opening, upload

DATA, HEADERS, RST_STREAM, SETTINGS = 0, 1, 3, 4


def frames(text: str) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield kind, flags, stream and payload of each frame."""
    data = text.encode("latin-1")
    while data:
        size = int.from_bytes(data[:3], "big")
        yield data[3], data[4], int.from_bytes(data[5:9], "big"), data[9 : 9 + size]
        data = data[9 + size :]


def test_a_client_begins_with_its_preface_and_settings() -> None:
    preface, own, ack = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (SETTINGS, 0, 0, b""), (SETTINGS, 1, 0, b"")
    for acknowledges, settings in ((False, [own]), (True, [own, ack])):
        before, found, after = opening(acknowledges=acknowledges).partition(preface)
        assert (before, found, list(frames(after))) == ("", preface, settings)


def test_a_request_may_be_cancelled_at_once() -> None:
    """The request's fields begin as in RFC 7541, appendix C.3.1; error code 8 is CANCEL."""
    head = (HEADERS, 0x5, 3, b"\x82\x86\x84\x01\x03lab")
    assert list(frames(get(3, resets=False))) == [head]
    assert list(frames(get(3, resets=True))) == [head, (RST_STREAM, 0, 3, b"\0\0\0\x08")]


def test_an_upload_announces_its_length_and_uses_frames_that_every_server_accepts() -> None:
    (kind, flags, _, fields), *data = frames(upload(1, 40_000))
    assert (kind, flags) == (HEADERS, 0x4)
    assert fields.endswith(b"\x0540000")
    assert [(kind, flags, len(payload)) for kind, flags, _, payload in data] == [
        (DATA, 0, 16384),
        (DATA, 0, 16384),
        (DATA, 0, 7232),
        (DATA, 1, 0),
    ]
