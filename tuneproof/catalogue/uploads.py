"""Uploads: buffered and unbuffered bodies, retries, limits, timeouts and Expect: 100-continue.

Directives: https://nginx.org/en/docs/http/ngx_http_core_module.html, and proxy_request_buffering in
https://nginx.org/en/docs/http/ngx_http_proxy_module.html.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.catalogue.uploads_scripts import (
    BODY_BYTES,
    CLIENTS,
    LIMIT_BYTES,
    SLOW_STALLED_AFTER_MS,
    STALLED_AFTER_MS,
    UPLOADS,
    Script,
    chunked,
    halted,
    occupied,
    paused,
    slow,
    stalled,
    to_two_peers,
    too_large,
    whole,
)
from tuneproof.lab.protocol.scripted import BROKEN_PORT, SILENT_PORT
from tuneproof.lab.subject.written_config import LOG, written_config
from tuneproof.proof.scenario.backends import SCRIPTED, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=SCRIPTED)

_UNBUFFERED: Final = "proxy_request_buffering off; proxy_http_version 1.1;"
_BUFFERED: Final = "proxy_http_version 1.1;"
_LIMITED: Final = f"client_max_body_size {LIMIT_BYTES};"
_STALLED: Final = f"client_body_timeout {STALLED_AFTER_MS}ms; {LOG}"
_OTHER_TIMEOUTS: Final = " ".join(
    f"{name} {STALLED_AFTER_MS}ms;" for name in ("proxy_read_timeout", "proxy_send_timeout", "send_timeout")
)
_SOON_STALLED: Final = f"client_body_timeout {SLOW_STALLED_AFTER_MS}ms;"
_REFUSES: Final = "127.0.0.1:9"  # no listener there


def _proxied(name: str, location: str, script: Script, *, server: str = "", to: str = BACKEND.upstream) -> Setting:
    config = written_config(f"{server} location / {{ proxy_pass http://{to}; {location} }}")
    return Setting(name=name, config=config, script=script)


def _two_peers(name: str, location: str, failing: str) -> Setting:
    servers = f"server {failing} max_fails=0; server {BACKEND.upstream} max_fails=0;"
    config = written_config(
        f"location / {{ proxy_pass http://peers; {location} }}", http=f"upstream peers {{ {servers} }}"
    )
    return Setting(name=name, config=config, script=to_two_peers)


_SLOW: Final = halted(whole(BODY_BYTES))
_ASKS_FIRST: Final = halted(whole(BODY_BYTES, "Expect: 100-continue"), sent_bytes=0)
_RESETS: Final = f"{BACKEND.name}:{BROKEN_PORT}"
# The backend never answers, so any rejection comes from nginx.
_SILENT: Final = f"{BACKEND.name}:{SILENT_PORT}"

ARMS: Final = arms_of(
    [
        _proxied("slow-unbuffered", _UNBUFFERED, _SLOW),
        _proxied("slow-buffered", _BUFFERED, _SLOW),
        _proxied("chunked-unbuffered", "proxy_request_buffering off;", halted(chunked(BODY_BYTES))),
        _proxied("chunked-unbuffered-1.1", _UNBUFFERED, halted(chunked(BODY_BYTES))),
        _two_peers("reset-unbuffered", _UNBUFFERED, _RESETS),
        _two_peers("reset-buffered", _BUFFERED, _RESETS),
        _two_peers("refused-unbuffered", _UNBUFFERED, _REFUSES),
        _proxied("stalled", _STALLED, stalled),
        _proxied("stalled-too-large", f"{_STALLED} {_LIMITED}", stalled),
        _proxied("stalled-unbuffered", f"{_UNBUFFERED} {_STALLED}", stalled),
        _proxied("stalled-unbuffered-too-large", f"{_UNBUFFERED} {_STALLED} {_LIMITED}", stalled),
        _proxied("occupied", f"{_UNBUFFERED} {_STALLED}", occupied),
        _proxied("occupied-proxy-timeouts", f"{_UNBUFFERED} {_OTHER_TIMEOUTS}", occupied),
        _proxied("slow", _SOON_STALLED, slow),
        _proxied("paused", _SOON_STALLED, paused),
        _proxied("limit-length", _LIMITED, halted(whole(BODY_BYTES), sent_bytes=0)),
        _proxied("limit-chunked", _LIMITED, halted(chunked(BODY_BYTES), sent_bytes=0)),
        _proxied("limit-unbuffered", f"{_UNBUFFERED} {_LIMITED}", too_large, to=_SILENT),
        _proxied("limit-buffered", f"{_BUFFERED} {_LIMITED}", too_large, to=_SILENT),
        _proxied("expect-unbuffered", _UNBUFFERED, _ASKS_FIRST),
        _proxied(
            "expect-auth",
            f"{_UNBUFFERED} auth_request /auth;",
            _ASKS_FIRST,
            server="location = /auth { internal; return 401; }",
        ),
    ]
)

CLAIMS: Final = claims_of("uploads", CLIENTS=CLIENTS, UPLOADS=UPLOADS)
SCENARIO: Final = Scenario(name="uploads", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("unbuffered_uploads_hold_backend_connections", "expect_is_answered_before_the_backend"),
)
