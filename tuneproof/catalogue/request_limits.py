"""Limits, buffers and timeouts of requests, as tuning lists and "DDoS defences" set them.

Directives: https://nginx.org/en/docs/http/ngx_http_core_module.html, ngx_http_limit_conn_module and
ngx_http_limit_req_module beside it.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import COPIED, Setting, arms_of, more, usual
from tuneproof.lab.load.counted import Figures, Rig
from tuneproof.lab.load.exchanges import Flow, answers_of, statuses
from tuneproof.lab.load.observer import SocketFigures
from tuneproof.lab.subject.written_config import LOG, written_config
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=ASYNCIO)
OBJECTS: Final = 30
CONNECTIONS: Final = 60
STREAMS: Final = 30
ATTACKERS: Final = 20
# More than nginx's own buffers for headers hold, 4 of 8 KiB, and less than a socket's receive buffer.
HEADER_BYTES: Final = 60_000
COOKIE_BYTES: Final = 2000
BODY_BYTES: Final = 100_000
BODIES: Final = 10
DOWNLOADS: Final = 5
# nginx hears of room again once a third of what it has written is gone: at this rate that takes longer than 2 s.
STEADY_BYTES_PER_S: Final = 4000
STEADY_S: Final = 4.2
SILENT_S: Final = 2.5
ATTACK_S: Final = 1.0
HTTP2_PORT: Final = 8002

_OK: Final = 'location / { return 200 "ok"; }'


def _page(rig: Rig) -> Figures:
    """Ask for all objects of a page at once."""
    rejected = statuses(rig.flow(Flow(connections=OBJECTS, path="/object-{c}")), 503)
    return {"rejected_share": rejected / OBJECTS}


def _half_headers(rig: Rig) -> Figures:
    """Open connections that never finish their header."""
    held = rig.flow(Flow(connections=CONNECTIONS, head_bytes=20, hold_s=0.5))
    return {"ended_share": sum(one.closed_by_server for one in held) / CONNECTIONS}


def _slow_downloads(rig: Rig) -> Figures:
    """Open connections that download slowly."""
    done = rig.flow(
        Flow(
            connections=CONNECTIONS,
            path="/1000000.bin",
            read_bytes_per_s=50_000,
            receive_buffer_bytes=4096,
            timeout_s=1.0,
        )
    )
    return {"ended_share": statuses(done, 503) / CONNECTIONS}


def _streams(rig: Rig) -> Figures:
    """Ask for many objects at once on one connection of HTTP/2."""
    seen = rig.http2(STREAMS, port=HTTP2_PORT, path="/wait/300")
    return {"rejected_share": seen.count(503) / STREAMS}


def _endless_headers(rig: Rig) -> Figures:
    """Let connections send as much of a header as they can, and never its end."""
    before = _memory_bytes(rig)
    path = f"/{'x' * HEADER_BYTES}"
    attack = Flow(connections=ATTACKERS, path=path, head_bytes=HEADER_BYTES, hold_s=ATTACK_S)

    def held() -> int:
        rig.wait(ATTACK_S - 0.4)
        return _memory_bytes(rig)

    meanwhile = rig.during(attack, read=held)
    return {"kept_bytes": max(meanwhile - before, 0)}


def _memory_bytes(rig: Rig) -> int:
    return sum(worker.rss_anon_bytes for worker in rig.workers())


def _cookies(rig: Rig) -> Figures:
    """Ask with a cookie as large as those of ordinary sites."""
    done = rig.flow(Flow(connections=5, requests=2, headers={"Cookie": f"session={'x' * COOKIE_BYTES}"}))
    asked = 10
    return {"rejected_share": (asked - statuses(done, 200)) / asked}


def _uploads(rig: Rig) -> Figures:
    """Send bodies; count the temporary files that nginx made of them."""
    done = rig.flow(Flow(connections=1, requests=BODIES, method="POST", body_bytes=BODY_BYTES))
    buffered = rig.error_log().count("a client request body is buffered to a temporary file")
    return {"temporary_files": buffered, "answered": len(list(answers_of(done)))}


def _steady_downloads(rig: Rig) -> Figures:
    """Download steadily, but slowly; count the downloads that nginx has ended by then.

    The client hears of it later: what the kernel has taken from nginx still goes out.
    """
    steady = Flow(
        connections=DOWNLOADS,
        path="/4000000.bin",
        read_bytes_per_s=STEADY_BYTES_PER_S,
        receive_buffer_bytes=4096,
        timeout_s=STEADY_S,
    )

    def ended() -> int:
        rig.wait(STEADY_S - 0.5)
        return len(rig.access_log())

    return {"ended_share": rig.during(steady, read=ended) / DOWNLOADS}


def _gone_silent(rig: Rig) -> Figures:
    """Let clients stop reading; count the sockets that still hold data for them after nginx has given them up."""
    silent = Flow(
        connections=DOWNLOADS,
        path="/4000000.bin",
        read_bytes_per_s=40,
        receive_buffer_bytes=4096,
        timeout_s=SILENT_S,
    )

    def established() -> int:
        return rig.sockets().local.get("ESTAB", 0)

    def given_up() -> SocketFigures:
        # They stand before nginx gives them up, and only the kernel has them after that.
        rig.wait_until(lambda: established() == DOWNLOADS, "did not take all clients")
        rig.wait_until(lambda: established() == 0, "kept silent clients")
        return rig.sockets()

    left = rig.during(silent, read=given_up)
    return {"orphans": left.local.get("FIN-WAIT-1", 0)}


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
            script=_page,
        ),
        Setting(name="no-rate", config=written_config(_HELD), script=_page),
        Setting(
            name="limit-10-half-headers",
            config=_limited(_CONNECTIONS_LIMIT, "limit_conn address 10;"),
            script=_half_headers,
        ),
        Setting(
            name="limit-10-downloads",
            config=_limited(_CONNECTIONS_LIMIT, "limit_conn address 10;"),
            script=_slow_downloads,
        ),
        Setting(name="limit-10-http2", config=_http2("limit_conn address 10;"), script=_streams),
        Setting(name="no-limit-http2", config=_http2(""), script=_streams),
        Setting(
            name="header-buffer-3m",
            config=_limited("client_header_buffer_size 3m; large_client_header_buffers 4 3m;", _OK),
            script=_endless_headers,
        ),
        Setting(name="header-buffer-default", config=written_config(_OK), script=_endless_headers),
        Setting(
            name="header-buffers-2-1k",
            config=_limited("client_header_buffer_size 1k; large_client_header_buffers 2 1k;", _OK),
            script=_cookies,
        ),
        Setting(name="header-buffers-default", config=written_config(_OK), script=_cookies),
        Setting(name="body-buffer-default", config=written_config(_HELD), script=_uploads),
        Setting(
            name="body-buffer-128k", config=written_config(f"client_body_buffer_size 128k; {_HELD}"), script=_uploads
        ),
        Setting(name="send-timeout-2", config=written_config(f"send_timeout 2s; {LOG}"), script=_steady_downloads),
        Setting(name="send-timeout-60", config=written_config(f"send_timeout 60s; {LOG}"), script=_steady_downloads),
        Setting(
            name="reset-on",
            config=written_config("send_timeout 1s; reset_timedout_connection on;"),
            script=_gone_silent,
        ),
        Setting(name="reset-off", config=written_config("send_timeout 1s;"), script=_gone_silent),
    ]
)

CLAIMS: Final = (
    usual(
        "rate_limit_breaks_pages",
        f"limit_req rate=5r/s burst=10 nodelay rejects more than half of a page of {OBJECTS} objects",
        source=f"{COPIED}: limit_req zone=… burst=10 nodelay, as a defence against floods",
        arm="rate-5-burst-10",
        turned_by="no-rate",
        figure="rejected_share",
        what="trials in which more than half of a page's objects are answered by 503",
        line="limit_req zone=… burst=10 nodelay;",
    ),
    usual(
        "pages_break_without_rate_limit",
        f"Without limit_req more than half of a page of {OBJECTS} objects is rejected, too",
        source="control of the one above",
        arm="no-rate",
        turned_by="rate-5-burst-10",
        figure="rejected_share",
        what="trials in which more than half of a page's objects are answered by 503",
        expected=Verdict.REFUTED,
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
    usual(
        "limit_conn_counts_http2_requests",
        f"limit_conn 10 rejects most of {STREAMS} requests on one connection of HTTP/2",
        source="nginx: in HTTP/2 each concurrent request is considered a separate connection",
        arm="limit-10-http2",
        turned_by="no-limit-http2",
        figure="rejected_share",
        what="trials in which more than half of the requests on a connection are answered by 503",
        line="limit_conn addr 10; with HTTP/2",
    ),
    usual(
        "http2_requests_are_rejected_without_limit",
        f"Without limit_conn most of {STREAMS} requests on one connection of HTTP/2 are rejected, too",
        source="control of the one above",
        arm="no-limit-http2",
        turned_by="limit-10-http2",
        figure="rejected_share",
        what="trials in which more than half of the requests on a connection are answered by 503",
        expected=Verdict.REFUTED,
    ),
    more(
        "large_header_buffers_feed_attackers",
        "client_header_buffer_size 3m lets clients that never finish a header hold several times as much memory",
        source=f"{COPIED}: client_header_buffer_size 3m; large_client_header_buffers 4 256k",
        arms=("header-buffer-3m", "header-buffer-default"),
        figure="kept_bytes",
        what="memory of the workers beside unfinished headers",
        of=ATTACKERS * HEADER_BYTES // 4096,
        threshold=2.0,
        at_least=4096,
        line="client_header_buffer_size 3m;",
    ),
    usual(
        "header_buffers_of_1k_reject_cookies",
        f"large_client_header_buffers 2 1k rejects requests with a cookie of {COOKIE_BYTES} bytes",
        source='often copied as "buffer overflow protection": large_client_header_buffers 2 1k',
        arm="header-buffers-2-1k",
        turned_by="header-buffers-default",
        figure="rejected_share",
        what="trials in which more than half of such requests are rejected",
        line="large_client_header_buffers 2 1k;",
    ),
    usual(
        "default_header_buffers_reject_cookies",
        f"nginx's default header buffers reject requests with a cookie of {COOKIE_BYTES} bytes",
        source="control of the one above",
        arm="header-buffers-default",
        turned_by="header-buffers-2-1k",
        figure="rejected_share",
        what="trials in which more than half of such requests are rejected",
        expected=Verdict.REFUTED,
    ),
    more(
        "body_buffer_128k_saves_files",
        f"client_body_buffer_size 128k spares the temporary files of bodies of {BODY_BYTES} bytes",
        source=f"{COPIED}: client_body_buffer_size 128k",
        arms=("body-buffer-default", "body-buffer-128k"),
        figure="temporary_files",
        what="temporary files of request bodies",
        of=BODIES,
        threshold=5.0,
        line="client_body_buffer_size 128k;",
    ),
    usual(
        "send_timeout_2_ends_steady_downloads",
        f"send_timeout 2 ends downloads that go on steadily at {STEADY_BYTES_PER_S / 1000:g} kB/s",
        source=f"{COPIED}: send_timeout 2, because it cuts only clients that have stopped responding",
        arm="send-timeout-2",
        turned_by="send-timeout-60",
        figure="ended_share",
        what="trials in which nginx ends more than half of the downloads",
        line="send_timeout 2;",
    ),
    usual(
        "send_timeout_60_ends_steady_downloads",
        "nginx's default send_timeout of 60 s ends such downloads within the same time",
        source="control of the one above",
        arm="send-timeout-60",
        turned_by="send-timeout-2",
        figure="ended_share",
        what="trials in which nginx ends more than half of the downloads",
        expected=Verdict.REFUTED,
    ),
    more(
        "reset_frees_sockets_of_silent_clients",
        "reset_timedout_connection immediately frees the sockets of clients that stopped reading",
        source=f"{COPIED}: reset_timedout_connection on",
        arms=("reset-off", "reset-on"),
        figure="orphans",
        what="sockets in FIN-WAIT-1 with data for clients given up",
        of=DOWNLOADS,
        threshold=3.0,
        line="reset_timedout_connection on;",
    ),
)
SCENARIO: Final = Scenario(name="request_limits", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
