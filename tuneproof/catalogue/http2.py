"""HTTP/2 from clients: concurrent streams, early uploads and flow-control windows; and HTTP/2 to upstreams.

Directives: https://nginx.org/en/docs/http/ngx_http_v2_module.html.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.catalogue.http2_scripts import (
    CLIENTS,
    EARLY_BYTES,
    HTTP2_PORT,
    IN_FLIGHT_BYTES,
    LIMIT,
    REQUESTS,
    STREAMS,
    Script,
    beyond_the_limit,
    early_uploads,
    in_flight,
    requests,
    to_upstream,
)
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.backends import ASYNCIO, SCRIPTED, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=SCRIPTED)
SLOW: Final = Backend(name="slow", kind=ASYNCIO)

_UNBUFFERED: Final = "proxy_request_buffering off; proxy_http_version 1.1;"
_LIMITED: Final = f"http2_max_concurrent_streams {LIMIT};"


def _setting(name: str, directives: str, script: Script, *, to: Backend = BACKEND) -> Setting:
    # The kernel must have room for what arrives before nginx reads.
    listen = f"listen {HTTP2_PORT} http2 rcvbuf=512k;"
    server = f"server {{ {listen} {directives} location / {{ proxy_pass http://{to.upstream}; }} }}"
    return Setting(name=name, config=written_config("", http=server), script=script)


def _upstream(name: str, listen: str) -> Setting:
    server = f'server {{ listen 127.0.0.1:9001 {listen}; location / {{ return 200 "ok"; }} }}'
    location = "location / { proxy_http_version 2; proxy_pass http://127.0.0.1:9001; }"
    return Setting(name=name, config=written_config(location, http=server), script=to_upstream)


ARMS: Final = arms_of(
    [
        _setting("streams-reset", _LIMITED, requests(resets=True)),
        _setting("streams-kept", _LIMITED, requests(resets=False)),
        _setting("limit-10", _LIMITED, beyond_the_limit, to=SLOW),
        _setting("limit-default", "", beyond_the_limit, to=SLOW),
        _setting("preread-16k", "http2_body_preread_size 16k;", early_uploads),
        _setting("preread-default", "", early_uploads),
        _setting("window-unbuffered", _UNBUFFERED, in_flight),
        _setting("window-buffered", "", in_flight),
        _setting("window-unbuffered-1m", f"{_UNBUFFERED} client_body_buffer_size 1m;", in_flight),
        _upstream("to-http1", ""),
        _upstream("to-http2", "http2"),
    ]
)

CLAIMS: Final = claims_of(
    "http2",
    CLIENTS=CLIENTS,
    EARLY_BYTES=EARLY_BYTES,
    IN_FLIGHT_KB=IN_FLIGHT_BYTES / 1000,
    LIMIT=LIMIT,
    REQUESTS=REQUESTS,
    STREAMS=STREAMS,
)
SCENARIO: Final = Scenario(name="http2", arms=ARMS, claims=CLAIMS, backends=(BACKEND, SLOW))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("unbuffered_uploads_get_64k_per_round_trip", "small_preread_size_refuses_early_uploads"),
)
