"""Configurations for streams: the same locations over plain HTTP, TLS and HTTP/2."""

from collections.abc import Mapping
from typing import Final

from tuneproof.catalogue.streams_scripts import CLEAR_HTTP2_PORT, HTTP2_PORT
from tuneproof.lab.subject.written_config import CERTIFICATE, TLS_PORT, written_config
from tuneproof.proof.scenario.backends import SCRIPTED, Backend

BACKEND: Final = Backend(kind=SCRIPTED)


def streaming(lines: Mapping[str, str], *, http: str = "") -> str:
    """Return a configuration with the location ``/NAME/`` for each line, by its name, over every transport."""
    locations = "\n".join(
        f"location /{name}/ {{ proxy_pass http://{BACKEND.upstream}; {line} }}" for name, line in lines.items()
    )
    servers = "\n".join(
        f"server {{ listen {port} {options}; {CERTIFICATE} ssl_protocols TLSv1.2 TLSv1.3; {locations} }}"
        for port, options in ((TLS_PORT, "ssl"), (HTTP2_PORT, "ssl http2"), (CLEAR_HTTP2_PORT, "http2"))
    )
    return written_config(locations, http=f"{http}\n{servers}")
