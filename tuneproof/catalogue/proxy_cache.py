"""What proxy_cache_lock protects an upstream from, and what microcaching saves it.

Directives: https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_lock; the advice: "The Benefits of
Microcaching with NGINX" (2016).
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Count, Setting, arms_of, more
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import LOG, written_config
from tuneproof.proof.inference.verdicts import Verdict
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


UPSTREAM_REQUESTS: Final = Count(figure="upstream_requests", what="upstream requests")
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

CLAIMS: Final = (
    more(
        "cache_lock_protects_new_keys",
        "With proxy_cache_lock, only one of many simultaneous requests for an uncached key reaches the upstream",
        source=ARTICLE,
        arms=("new-key", "new-key-locked"),
        count=UPSTREAM_REQUESTS,
        threshold=5.0,
        why="one request instead of thirty is promised; a fifth of a stampede is the most that an upstream sized "
        "for its usual load would take",
        line="proxy_cache_lock on;",
    ),
    more(
        "cache_lock_protects_expired_keys",
        "proxy_cache_lock also protects the upstream once the cached entry has expired",
        source=f"{ARTICLE}: proxy_cache_lock on, one request per stampede",
        arms=("expired", "expired-locked"),
        count=UPSTREAM_REQUESTS,
        threshold=5.0,
        why="as for a new key: a fifth of a stampede is the most that an upstream sized for its usual load would take",
        expected=Verdict.REFUTED,
        turned_by={"expired-locked": "expired-updating"},
        line="proxy_cache_lock on; for expired pages",
    ),
    more(
        "stale_while_updating_protects_expired_keys",
        "proxy_cache_use_stale updating lets one request through when a popular entry has expired",
        source=f"{ARTICLE}: proxy_cache_use_stale updating",
        arms=("expired", "expired-updating"),
        count=UPSTREAM_REQUESTS,
        threshold=5.0,
        why="as for a new key: a fifth of a stampede is the most that an upstream sized for its usual load would take",
        line="proxy_cache_use_stale updating;",
    ),
    more(
        "cache_lock_makes_waiters_late",
        "Requests waiting on proxy_cache_lock poll every 500 ms, so they are answered later than the upstream responds",
        source="nginx: src/http/ngx_http_file_cache.c looks every 500 ms",
        arms=("new-key-locked", "new-key"),
        count=Count(
            figure="late_share",
            what=f"share of answers that take longer than {LATE_S:g} s, "
            f"of an upstream that takes {ANSWER_MS / 1000:g} s",
        ),
        threshold=3.0,
        why="three times as many late answers make a tail that users report, of an upstream that would have "
        "answered in a third of that time",
        at_least=1 / CLIENTS,
        line="proxy_cache_lock on; for who waits",
    ),
    more(
        "microcaching_saves_upstream_requests",
        f"A cache of one second spares the upstream nearly all of {REQUESTS} requests for one page",
        source=f"{ARTICLE}: 5.53 requests/s become 2185",
        arms=("no-cache", "microcache"),
        count=Count(figure="upstream_requests", what="upstream requests"),
        threshold=10.0,
        why="the article's requests per second become 395 times as many; a tenth of the upstream's load is the "
        "least that changes how many backends somebody pays for",
        line="proxy_cache_valid 1s;",
    ),
)
SCENARIO: Final = Scenario(name="proxy_cache", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
