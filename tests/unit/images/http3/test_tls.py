"""TLS clients that count their ClientHellos."""

import ssl

import pytest

from images.http3.http3 import tls
from tuneproof.lab.protocol.http3 import TlsRequest
from tuneproof.lab.protocol.serving import CannotDoError


def test_an_openssl_without_post_quantum_groups_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, a ClientHello without such a group would be counted."""
    monkeypatch.setattr(ssl, "OPENSSL_VERSION_INFO", (3, 0, 0, 0, 0))
    with pytest.raises(CannotDoError, match="no post-quantum groups"):
        tls.ask(("127.0.0.1", 9), TlsRequest())
