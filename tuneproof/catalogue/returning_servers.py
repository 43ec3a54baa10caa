"""The requests that a server gets right after it returns: with and without a zone, by method, and with weights.

That server is one of two in the same nginx. While it is down, it answers with 500, which counts as a failure.
Directives: https://nginx.org/en/docs/http/ngx_http_upstream_module.html.
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.catalogue.load_balancing import addresses, servers, upstream
from tuneproof.catalogue.returning_servers_scripts import (
    BACK,
    DOWN,
    FAIL_TIMEOUT_S,
    KEYS,
    LONG,
    REQUESTS,
    WORKERS,
    beside_long_requests,
    keys,
    long_requests,
    short_requests,
)
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.subject.config import ACCESS_LOG_PATH
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=ASYNCIO)
WEIGHT: Final = 100

_FOLDER: Final = "/var/lib/subject/changing"
_PASSED_ON: Final = f"proxy_pass http://{BACKEND.upstream}; proxy_buffering off;"
_SOMETIMES_DOWN: Final = (
    f"set $state up; if (-f {_FOLDER}/{DOWN}) {{ set $state down; }} if (-f {_FOLDER}/{BACK}) {{ set $state up; }} "
    f"if ($state = down) {{ return 500; }} {_PASSED_ON}"
)
_LOG_FORMAT: Final = (
    """log_format returning escape=json '{"uri":"$uri","key":"$arg_k","pid":"$pid","upstream":"$upstream_addr"}';"""
)
_ZONE: Final = "zone peers 64k;"


def _returning(
    name: str, script: Callable[[Rig], Figures], method: str = "", *, weight: int = 1, workers: int = 1
) -> Setting:
    one, other = (f"{address} weight={weight} fail_timeout={FAIL_TIMEOUT_S}s" for address in addresses(2))
    http = servers(_PASSED_ON, _SOMETIMES_DOWN) + upstream(method, one, other) + _LOG_FORMAT
    location = (
        "location / { proxy_pass http://peers; proxy_buffering off; proxy_next_upstream error timeout http_500; "
        f"access_log {ACCESS_LOG_PATH} returning; }}"
    )
    listen = "reuseport" if workers > 1 else ""
    config = written_config(location, http=http, listen=listen, workers=str(workers))
    return Setting(name=name, config=config, script=script, workers=workers)


ARMS: Final = arms_of(
    [
        _returning("long-zone", long_requests(1), _ZONE, workers=WORKERS),
        _returning("long-no-zone", long_requests(WORKERS), workers=WORKERS),
        _returning("short-zone", short_requests(1), _ZONE, workers=WORKERS),
        _returning("least-conn", beside_long_requests, "least_conn;"),
        _returning("round-robin", beside_long_requests),
        _returning("hash-returned", keys(comes_back=True), "hash $arg_k consistent;"),
        _returning("hash-down", keys(comes_back=False), "hash $arg_k consistent;"),
        _returning("weight-1", short_requests(1)),
        _returning("weight-100", short_requests(1), weight=WEIGHT),
    ]
)

CLAIMS: Final = claims_of("returning_servers", WORKERS=WORKERS, REQUESTS=REQUESTS, LONG=LONG, KEYS=KEYS, WEIGHT=WEIGHT)
SCENARIO: Final = Scenario(name="returning_servers", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO)
