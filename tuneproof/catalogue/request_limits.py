"""Limits, buffers and timeouts of requests, as tuning lists and "DDoS defences" set them.

Directives: https://nginx.org/en/docs/http/ngx_http_core_module.html, ngx_http_limit_conn_module and
ngx_http_limit_req_module beside it.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import COPIED, Count, Setting, arms_of, both_ways, more, usual
from tuneproof.catalogue.request_limits_scripts import (
    BODY_BYTES,
    COOKIE_BYTES,
    HTTP2_PORT,
    OBJECTS,
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
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=ASYNCIO)

_OK: Final = 'location / { return 200 "ok"; }'


def _limited(http: str, server: str) -> str:
    return written_config(server, http=http)


_CONNECTIONS_LIMIT: Final = "limit_conn_zone $binary_remote_addr zone=address:1m;"
_HELD: Final = f"location / {{ proxy_pass http://{BACKEND.upstream}; }}"


def _http2(limit: str) -> str:
    server = f"server {{ listen {HTTP2_PORT} http2; {limit} {_HELD} }}"
    return written_config(_OK, http=f"{_CONNECTIONS_LIMIT} {server}")


ARMS: Final = arms_of(
    [
        Setting(
            name="rate-5-burst-10",
            config=_limited(
                "limit_req_zone $binary_remote_addr zone=address:1m rate=5r/s;",
                f"limit_req zone=address burst=10 nodelay; {_HELD}",
            ),
            script=page,
        ),
        Setting(name="no-rate", config=written_config(_HELD), script=page),
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
        Setting(name="body-buffer-default", config=written_config(_HELD), script=uploads),
        Setting(
            name="body-buffer-128k", config=written_config(f"client_body_buffer_size 128k; {_HELD}"), script=uploads
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

CLAIMS: Final = (
    *both_ways(
        "rate_limit_breaks_pages",
        f"limit_req rate=5r/s burst=10 nodelay rejects more than half of a page of {OBJECTS} objects",
        control=(
            "pages_break_without_rate_limit",
            f"Without limit_req more than half of a page of {OBJECTS} objects is rejected, too",
        ),
        source=f"{COPIED}: limit_req zone=… burst=10 nodelay, as a defence against floods",
        arm="rate-5-burst-10",
        turned_by="no-rate",
        figure="rejected_share",
        what="trials in which more than half of a page's objects are answered by 503",
        line="limit_req zone=… burst=10 nodelay;",
    ),
    usual(
        "limit_conn_stops_half_headers",
        "limit_conn 10 per address ends connections that never finish their header",
        source=f"{COPIED}: limit_conn addr 10, as a defence against floods from one address",
        arm="limit-10-half-headers",
        turned_by="limit-10-downloads",
        figure="ended_share",
        what="trials in which nginx ends or rejects more than half of such connections",
        expected=Verdict.REFUTED,
        line="limit_conn addr 10;",
    ),
    usual(
        "limit_conn_stops_downloads",
        "limit_conn 10 per address rejects most of many downloads",
        source="control of the one above: it counts connections whose header has been read",
        arm="limit-10-downloads",
        turned_by="limit-10-half-headers",
        figure="ended_share",
        what="trials in which more than half of the downloads are answered by 503",
    ),
    *both_ways(
        "limit_conn_counts_http2_requests",
        f"limit_conn 10 rejects most of {STREAMS} requests on one connection of HTTP/2",
        control=(
            "http2_requests_are_rejected_without_limit",
            f"Without limit_conn most of {STREAMS} requests on one connection of HTTP/2 are rejected, too",
        ),
        source="nginx: in HTTP/2 each concurrent request is considered a separate connection",
        arm="limit-10-http2",
        turned_by="no-limit-http2",
        figure="rejected_share",
        what="trials in which more than half of the requests on a connection are answered by 503",
        line="limit_conn addr 10; with HTTP/2",
    ),
    more(
        "large_header_buffers_feed_attackers",
        "client_header_buffer_size 3m lets clients that never finish a header hold several times as much memory",
        source=f"{COPIED}: client_header_buffer_size 3m; large_client_header_buffers 4 256k",
        arms=("header-buffer-3m", "header-buffer-default"),
        count=Count(
            figure="kept_bytes",
            what="memory of the workers beside unfinished headers",
        ),
        threshold=2.0,
        why="twice the memory for each unfinished header halves the number of attackers that a machine survives",
        at_least=4096,
        line="client_header_buffer_size 3m;",
    ),
    *both_ways(
        "header_buffers_of_1k_reject_cookies",
        f"large_client_header_buffers 2 1k rejects requests with a cookie of {COOKIE_BYTES} bytes",
        control=(
            "default_header_buffers_reject_cookies",
            f"nginx's default header buffers reject requests with a cookie of {COOKIE_BYTES} bytes",
        ),
        source='often copied as "buffer overflow protection": large_client_header_buffers 2 1k',
        arm="header-buffers-2-1k",
        turned_by="header-buffers-default",
        figure="rejected_share",
        what="trials in which more than half of such requests are rejected",
        line="large_client_header_buffers 2 1k;",
    ),
    more(
        "body_buffer_128k_saves_files",
        f"client_body_buffer_size 128k spares the temporary files of bodies of {BODY_BYTES} bytes",
        source=f"{COPIED}: client_body_buffer_size 128k",
        arms=("body-buffer-default", "body-buffer-128k"),
        count=Count(figure="temporary_files", what="temporary files of request bodies"),
        threshold=5.0,
        why="the line is copied to have no temporary files; a fifth of them is the most that could pass for none",
        line="client_body_buffer_size 128k;",
    ),
    *both_ways(
        "send_timeout_2_ends_steady_downloads",
        f"send_timeout 2 ends downloads that go on steadily at {STEADY_BYTES_PER_S / 1000:g} kB/s",
        control=(
            "send_timeout_60_ends_steady_downloads",
            "nginx's default send_timeout of 60 s ends such downloads within the same time",
        ),
        source=f"{COPIED}: send_timeout 2, because it cuts only clients that have stopped responding",
        arm="send-timeout-2",
        turned_by="send-timeout-60",
        figure="ended_share",
        what="trials in which nginx ends more than half of the downloads",
        line="send_timeout 2;",
    ),
    more(
        "reset_frees_sockets_of_silent_clients",
        "reset_timedout_connection immediately frees the sockets of clients that stopped reading",
        source=f"{COPIED}: reset_timedout_connection on",
        arms=("reset-off", "reset-on"),
        count=Count(figure="orphans", what="sockets in FIN-WAIT-1 with data for clients given up"),
        threshold=3.0,
        why="the sockets are promised back at once; a third of them left is the most that would still relieve a server",
        line="reset_timedout_connection on;",
    ),
)
SCENARIO: Final = Scenario(name="request_limits", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
