"""Limits, buffers and timeouts for requests, as tuning lists and "DDoS defences" set them.

Directives: https://nginx.org/en/docs/http/ngx_http_core_module.html, and the pages of ngx_http_limit_conn_module and
    ngx_http_limit_req_module.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.catalogue.request_limits_scripts import (
    BODY_BYTES,
    BURST,
    COOKIE_BYTES,
    HTTP2_PORT,
    OBJECTS,
    RATE_PER_S,
    STEADY_BYTES_PER_S,
    STREAMS,
    cookies,
    endless_headers,
    gone_silent,
    half_headers,
    page,
    slow_downloads,
    steady_downloads,
    streams,
    uploads,
)
from tuneproof.lab.subject.written_config import LOG, written_config
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=ASYNCIO)

_OK: Final = 'location / { return 200 "ok"; }'


def _limited(http: str, server: str) -> str:
    return written_config(server, http=http)


_CONNECTIONS_LIMIT: Final = "limit_conn_zone $binary_remote_addr zone=address:1m;"
_PROXIED: Final = f"location / {{ proxy_pass http://{BACKEND.upstream}; }}"


def _http2(limit: str) -> str:
    server = f"server {{ listen {HTTP2_PORT} http2; {limit} {_PROXIED} }}"
    return written_config(_OK, http=f"{_CONNECTIONS_LIMIT} {server}")


ARMS: Final = arms_of(
    [
        Setting(
            name="rate-5-burst-10",
            config=_limited(
                f"limit_req_zone $binary_remote_addr zone=address:1m rate={RATE_PER_S}r/s;",
                f"limit_req zone=address burst={BURST} nodelay; {_PROXIED}",
            ),
            script=page,
        ),
        Setting(name="no-rate", config=written_config(_PROXIED), script=page),
        Setting(
            name="limit-10-half-headers",
            config=_limited(_CONNECTIONS_LIMIT, "limit_conn address 10;"),
            script=half_headers,
        ),
        Setting(
            name="limit-10-downloads",
            config=_limited(_CONNECTIONS_LIMIT, "limit_conn address 10;"),
            script=slow_downloads,
        ),
        Setting(name="limit-10-http2", config=_http2("limit_conn address 10;"), script=streams),
        Setting(name="no-limit-http2", config=_http2(""), script=streams),
        Setting(
            name="header-buffer-3m",
            config=_limited("client_header_buffer_size 3m; large_client_header_buffers 4 3m;", _OK),
            script=endless_headers,
        ),
        Setting(name="header-buffer-default", config=written_config(_OK), script=endless_headers),
        Setting(
            name="header-buffers-2-1k",
            config=_limited("client_header_buffer_size 1k; large_client_header_buffers 2 1k;", _OK),
            script=cookies,
        ),
        Setting(name="header-buffers-default", config=written_config(_OK), script=cookies),
        Setting(name="body-buffer-default", config=written_config(_PROXIED), script=uploads),
        Setting(
            name="body-buffer-128k", config=written_config(f"client_body_buffer_size 128k; {_PROXIED}"), script=uploads
        ),
        Setting(name="send-timeout-2", config=written_config(f"send_timeout 2s; {LOG}"), script=steady_downloads),
        Setting(name="send-timeout-60", config=written_config(f"send_timeout 60s; {LOG}"), script=steady_downloads),
        Setting(
            name="reset-on",
            config=written_config("send_timeout 1s; reset_timedout_connection on;"),
            script=gone_silent,
        ),
        Setting(name="reset-off", config=written_config("send_timeout 1s;"), script=gone_silent),
    ]
)

CLAIMS: Final = claims_of(
    "request_limits",
    OBJECTS=OBJECTS,
    STREAMS=STREAMS,
    COOKIE_BYTES=COOKIE_BYTES,
    BODY_BYTES=BODY_BYTES,
    STEADY_KB_PER_S=STEADY_BYTES_PER_S / 1000,
)
SCENARIO: Final = Scenario(name="request_limits", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
