"""TLS clients that count their ClientHellos."""

import ssl

import pytest

from images.http3.http3 import tls
from tuneproof.lab.protocol.http3 import TlsRequest
from tuneproof.lab.protocol.serving import CannotDoError
from tuneproof.lab.protocol.tls_records import Records

CHANGE_CIPHER_SPEC = b"\x14\x03\x03\x00\x01\x01"


def client_hello() -> bytes:
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="lab")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize(
    ("flight", "expected"),
    [
        (client_hello(), 1),
        (CHANGE_CIPHER_SPEC + client_hello(), 1),
        (CHANGE_CIPHER_SPEC, 0),
        (b"\x17\x03\x03\x00\x02\x01\x01", 0),
    ],
    ids=["the first", "after a HelloRetryRequest", "no handshake", "encrypted"],
)
def test_client_hellos_in_a_flight_are_counted(flight: bytes, expected: int) -> None:
    """The second one follows a change_cipher_spec (RFC 8446, appendix D.4)."""
    records = Records()
    records.add(flight)
    assert records.hellos == expected


def test_an_openssl_without_post_quantum_groups_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, a ClientHello without such a group would be counted."""
    monkeypatch.setattr(ssl, "OPENSSL_VERSION_INFO", (3, 0, 0, 0, 0))
    with pytest.raises(CannotDoError, match="no post-quantum groups"):
        tls.ask(("127.0.0.1", 9), TlsRequest())
