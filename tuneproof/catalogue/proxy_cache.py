"""What proxy_cache_lock protects an upstream from, and what microcaching saves it.

Directives: https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_lock; the advice: "The Benefits of
Microcaching with NGINX" (2016).
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import LOG, written_config
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

ARTICLE: Final = '"The Benefits of Microcaching with NGINX" (2016)'
BACKEND: Final = Backend(kind=ASYNCIO)
CLIENTS: Final = 30
REQUESTS: Final = 200
# Shorter than the half second after which a waiting request looks again, and longer than all clients take to ask.
ANSWER_MS: Final = 150
# A request that waited for another's answer, and not for its own: longer than the upstream takes by itself.
LATE_S: Final = 0.45
VALID_S: Final = 1.0

_CACHE: Final = "proxy_cache_path /var/lib/subject/cache keys_zone=cache:1m;"


def _cached(directives: str, valid: str = "1s") -> str:
    location = (
        f"location / {{ proxy_pass http://{BACKEND.upstream}; proxy_cache cache; proxy_cache_valid 200 {valid}; "
        f"{directives} {LOG} }}"
    )
    return written_config(location, http=_CACHE)


def _upstream_requests(rig: Rig, path: str) -> int:
    # nginx logs a request after its answer.
    rig.rest()
    return sum(bool(line["upstream"]) for line in rig.access_log() if line["uri"] == path)


def _stampede(rig: Rig) -> Figures:
    """Let all clients ask at once for what is not in the cache yet."""
    path = f"/wait/{ANSWER_MS}"
    done = rig.flow(Flow(connections=CLIENTS, path=path))
    answered = rig.ok(done, requests=CLIENTS)
    late = sum(answer.total_s > LATE_S for answer in answers_of(done))
    return {"upstream_requests": _upstream_requests(rig, path), "late_share": late / CLIENTS, "ok": answered}


def _stampede_on_expired(rig: Rig) -> Figures:
    """Let all clients ask at once for what has expired in the cache."""
    path = f"/wait/{ANSWER_MS}"
    rig.ok(rig.flow(Flow(path=path)), requests=1)
    # The log's lines of the first request stay out of the count.
    before = _upstream_requests(rig, path)
    rig.wait(VALID_S + 1.0)
    answered = rig.ok(rig.flow(Flow(connections=CLIENTS, path=path)), requests=CLIENTS)
    return {"upstream_requests": _upstream_requests(rig, path) - before, "ok": answered}


def _visitors(rig: Rig) -> Figures:
    """Let many clients ask for the same page, a few at a time."""
    answered = rig.ok(rig.flow(Flow(connections=REQUESTS, at_once=4, path="/", close=True)), requests=REQUESTS)
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
        _arm("microcache", _cached("", valid="1s"), _visitors),
        _arm("no-cache", written_config(f"location / {{ proxy_pass http://{BACKEND.upstream}; {LOG} }}"), _visitors),
    ]
)

CLAIMS: Final = claims_of("proxy_cache", REQUESTS=REQUESTS, CLIENTS=CLIENTS, LATE_S=LATE_S, ANSWER_S=ANSWER_MS / 1000)
SCENARIO: Final = Scenario(name="proxy_cache", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
