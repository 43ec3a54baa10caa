"""Keepalive connections that the backend closes while a request is on its way: who gets a 502, and what prevents it.

Directives: https://nginx.org/en/docs/http/ngx_http_upstream_module.html, and proxy_next_upstream in
https://nginx.org/en/docs/http/ngx_http_proxy_module.html.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.catalogue.dying_connections_scripts import (
    ASKED,
    AT_ONCE,
    BACKENDS,
    PEER_PORT,
    ROUNDS,
    SERVERS,
    TRIES,
    asked_after_pauses,
    asked_in_turn,
    ended_before,
    one_request_for_all,
    requests_of_one_client,
    streams_at_once,
)
from tuneproof.lab.protocol.scripted import Reply
from tuneproof.lab.subject.written_config import LOG, written_config
from tuneproof.proof.scenario.backends import PORT, SCRIPTED, Backend
from tuneproof.proof.scenario.scenarios import Scenario

REUSE: Final = 'proxy_http_version 1.1; proxy_set_header Connection "";'
NO_REUSE: Final = "proxy_http_version 1.0; proxy_set_header Connection close;"
KEEPALIVE: Final = "keepalive 16;"


def _kept(
    location: str = "",
    *,
    block: str = KEEPALIVE,
    server: str = "",
    reuse: str = REUSE,
    listen: str = "",
    events: str = "worker_connections 1024;",
) -> str:
    """Return a configuration with a location and an upstream block for each kind of request."""
    blocks = [
        f"upstream {kind} {{ {''.join(f'server {name}:{PORT} {server};' for name in names)} {block} }}"
        for kind, names in SERVERS.items()
    ]
    locations = [f"location /{kind} {{ proxy_pass http://{kind}; {reuse} {location} }}" for kind in SERVERS]
    return written_config("\n".join(locations), http="\n".join(blocks), listen=listen, events=events)


def _raced(location: str = "", *, server: str = "", reuse: str = REUSE) -> str:
    """Return a configuration in which a worker accepts all waiting connections before it handles any other event."""
    events = "worker_connections 1024; multi_accept on;"
    return _kept(location, server=server, reuse=reuse, listen="deferred", events=events)


def _to_peer(version: str) -> str:
    """Return a configuration that proxies to its own second server, which speaks HTTP/1.1 and HTTP/2."""
    peer = (
        f"server {{ listen {PEER_PORT}; http2 on; {LOG} "
        f"location / {{ proxy_pass http://{BACKENDS[0]}:{PORT}; proxy_buffering off; }} }}"
    )
    return written_config(
        f'location / {{ proxy_pass http://peer; proxy_http_version {version}; proxy_set_header Connection ""; '
        "proxy_buffering off; }",
        http=f"upstream peer {{ server 127.0.0.1:{PEER_PORT}; {KEEPALIVE} }} {peer}",
    )


# More than the socket buffers hold, so that part of the body has not arrived when the connection ends.
BODY_BYTES: Final = 1_000_000
_FOURTH: Final = (Reply(answers=3),)
ARMS: Final = arms_of(
    [
        Setting(name="defaults", config=_kept(), script=asked_in_turn()),
        Setting(name="no-retry", config=_kept("proxy_next_upstream off;"), script=asked_in_turn()),
        Setting(
            name="non-idempotent",
            config=_kept("proxy_next_upstream error timeout non_idempotent;"),
            script=asked_in_turn(),
        ),
        Setting(name="max-fails-0", config=_kept(server="max_fails=0"), script=asked_in_turn()),
        Setting(
            name="non-idempotent-max-fails-0",
            config=_kept("proxy_next_upstream error timeout non_idempotent;", server="max_fails=0"),
            script=asked_in_turn(),
        ),
        Setting(
            name="keepalive-timeout-below",
            config=_kept(block=f"{KEEPALIVE} keepalive_timeout 1ms;"),
            script=asked_after_pauses,
        ),
        Setting(name="no-keepalive", config=_kept(block="", reuse=NO_REUSE), script=asked_in_turn()),
        Setting(name="block-alone", config=_kept(block="", reuse=""), script=asked_in_turn()),
        Setting(
            name="longer-timeouts",
            config=_kept("proxy_connect_timeout 300s; proxy_send_timeout 300s; proxy_read_timeout 300s;"),
            script=asked_in_turn(),
        ),
        Setting(name="reset", config=_kept(), script=asked_in_turn((Reply(answers=1, resets=True),))),
        Setting(
            name="closed-at-the-head",
            config=_kept(),
            script=asked_in_turn((Reply(answers=1, reads_body=False),), body_bytes=BODY_BYTES),
        ),
        Setting(name="fourth-request-ends", config=_kept(), script=asked_in_turn(_FOURTH)),
        Setting(
            name="keepalive-requests-below",
            config=_kept(block=f"{KEEPALIVE} keepalive_requests 3;"),
            script=asked_in_turn(_FOURTH),
        ),
        Setting(name="closed-before", config=_raced(server="max_fails=0"), script=ended_before(resets=False)),
        Setting(name="reset-before", config=_raced(server="max_fails=0"), script=ended_before(resets=True)),
        Setting(
            name="three-tries",
            config=_raced(f"proxy_next_upstream_tries {TRIES};"),
            script=one_request_for_all,
        ),
        Setting(
            name="three-tries-no-keepalive",
            config=_raced(f"proxy_next_upstream_tries {TRIES};", reuse=NO_REUSE),
            script=one_request_for_all,
        ),
        Setting(name="http1-to-upstream", config=_to_peer("1.1"), script=streams_at_once),
        Setting(name="http2-to-upstream", config=_to_peer("2"), script=streams_at_once),
        Setting(name="http2-of-one-client", config=_to_peer("1.1"), script=requests_of_one_client),
    ]
)

CLAIMS: Final = claims_of(
    "dying_connections", ASKED=ASKED, POSTS=2 * ASKED, ROUNDS=ROUNDS, AT_ONCE=AT_ONCE, TRIES=TRIES
)
SCENARIO: Final = Scenario(
    name="dying_connections",
    arms=ARMS,
    claims=CLAIMS,
    backends=tuple(Backend(name=name, kind=SCRIPTED) for name in BACKENDS),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("gets_are_retried", "keepalive_timeout_below_spares_posts"),
)
