"""How proxy_cache_lock protects an upstream, and what microcaching saves.

Directives: https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_lock; the advice: "The Benefits of
Microcaching with NGINX" (2016).
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.config import ACCESS_LOG_PATH
from tuneproof.lab.subject.written_config import LOG, written_config
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

ARTICLE: Final = '"The Benefits of Microcaching with NGINX" (2016)'
BACKEND: Final = Backend(kind=ASYNCIO)
CLIENTS: Final = 30
REQUESTS: Final = 200
# Shorter than the 500 ms after which a waiting request checks again.
ANSWER_MS: Final = 150
# A request that waits for another's response takes longer than this, and the upstream does not.
LATE_S: Final = 0.45
VALID_S: Final = 1.0
AT_ONCE: Final = 4
# In less time, at most a tenth of all requests reach the upstream: up to AT_ONCE each time the page has expired.
_SOON_S: Final = VALID_S * REQUESTS / AT_ONCE / 10

_CACHE: Final = (
    "proxy_cache_path /var/lib/subject/cache keys_zone=cache:1m; "
    """log_format asked escape=json '{"uri":"$uri","upstream":"$upstream_addr","took_s":"$request_time"}';"""
)


def _cached(directives: str) -> str:
    location = (
        f"location / {{ proxy_pass http://{BACKEND.upstream}; proxy_cache cache; proxy_cache_valid 200 {VALID_S:g}s; "
        f"{directives} access_log {ACCESS_LOG_PATH} asked; }}"
    )
    # A worker accepts all waiting connections, and reads their requests, before it handles any other event.
    return written_config(location, http=_CACHE, listen="deferred", events="worker_connections 1024; multi_accept on;")


def _asked(rig: Rig, path: str) -> list[dict[str, str]]:
    # nginx logs a request only after the response.
    rig.rest()
    return [line for line in rig.access_log() if line["uri"] == path]


def _upstream_requests(rig: Rig, path: str) -> int:
    return sum(bool(line["upstream"]) for line in _asked(rig, path))


def _stampede(rig: Rig) -> Figures:
    """Let all clients at once request a page that is not cached yet."""
    path = f"/wait/{ANSWER_MS}"
    answered = rig.ok(rig.flows_behind_stopped_workers(Flow(connections=CLIENTS, path=path))[0], requests=CLIENTS)
    asked = _asked(rig, path)
    late = [line for line in asked if float(line["took_s"]) > LATE_S]
    slow = sum(bool(line["upstream"]) for line in late)
    rig.must(not slow, f"the upstream took longer than {LATE_S:g} s for {slow} of its answers")
    upstream = sum(bool(line["upstream"]) for line in asked)
    return {"upstream_requests": upstream, "late_share": len(late) / CLIENTS, "ok": answered}


def _stampede_on_expired(rig: Rig) -> Figures:
    """Let all clients at once request an expired page."""
    path = f"/wait/{ANSWER_MS}"
    rig.ok(rig.flow(Flow(path=path)), requests=1)
    # The log lines of the first request do not count.
    before = _upstream_requests(rig, path)
    rig.wait(VALID_S + 1.0)
    answered = rig.ok(rig.flows_behind_stopped_workers(Flow(connections=CLIENTS, path=path))[0], requests=CLIENTS)
    return {"upstream_requests": _upstream_requests(rig, path) - before, "ok": answered}


def _visitors(rig: Rig) -> Figures:
    flow = Flow(connections=REQUESTS, at_once=AT_ONCE, path="/", close=True)
    with rig.before(_SOON_S, "a tenth of them may have found the page expired"):
        answered = rig.ok(rig.flow(flow), requests=REQUESTS)
    return {"upstream_requests": _upstream_requests(rig, "/"), "ok": answered}


def _arm(name: str, config: str, script: Callable[[Rig], Figures]) -> Setting:
    return Setting(name=name, config=config, script=script)


ARMS: Final = arms_of(
    [
        _arm("new-key", _cached(""), _stampede),
        _arm("new-key-locked", _cached("proxy_cache_lock on;"), _stampede),
        _arm("expired", _cached(""), _stampede_on_expired),
        _arm("expired-locked", _cached("proxy_cache_lock on;"), _stampede_on_expired),
        _arm("expired-updating", _cached("proxy_cache_use_stale updating;"), _stampede_on_expired),
        _arm("microcache", _cached(""), _visitors),
        _arm("unbuffered-microcache", _cached("proxy_buffering off;"), _visitors),
        _arm("no-cache", written_config(f"location / {{ proxy_pass http://{BACKEND.upstream}; {LOG} }}"), _visitors),
    ]
)

CLAIMS: Final = claims_of("proxy_cache", REQUESTS=REQUESTS, CLIENTS=CLIENTS, LATE_S=LATE_S, ANSWER_S=ANSWER_MS / 1000)
SCENARIO: Final = Scenario(name="proxy_cache", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
