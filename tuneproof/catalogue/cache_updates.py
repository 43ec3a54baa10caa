"""Clients that wait while nginx renews a cached page or an upstream is slow, and pages that a full key zone forgets.

The origin is a server of the same nginx. In trials of expired pages, it sends X-Accel-Expires: @1, so that a page has
expired as soon as it is cached. Directives: https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.cache_updates_scripts import (
    ANOTHER_CONNECTION,
    CLIENTS,
    PAGES,
    RENEW_MS,
    RENEW_SLOWLY_MS,
    SAME_CONNECTION,
    SLOW_MS,
    asked_twice,
    renewed_first,
    restarted,
    stampede,
    waiting_on_expired,
)
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.subject.config import ACCESS_LOG_PATH
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=ASYNCIO)

_LOG: Final = f"access_log {ACCESS_LOG_PATH} asked;"
# X-Accel-Expires: @1 is in 1970; this many seconds later, it is 2038.
_REVALIDATE: Final = "stale-while-revalidate=2147483647"
_VALID: Final = "proxy_cache cache; proxy_cache_valid 200 1h;"
_PAGE: Final = 'return 200 "ok";'
_UPDATING: Final = "proxy_cache_use_stale updating;"
_BACKGROUND: Final = "proxy_cache_background_update on;"


def _cached(directives: str, origin: str, keys: str = "1m") -> str:
    path = f"proxy_cache_path /var/lib/subject/cache keys_zone=cache:{keys};"
    asked = """log_format asked escape=json '{"uri":"$uri","upstream":"$upstream_addr"}';"""
    server = f"server {{ listen 127.0.0.1:9001; access_log off; location / {{ {origin} }} }}"
    cached = f"location / {{ proxy_pass http://127.0.0.1:9001; {directives} {_LOG} }}"
    # deferred, multi_accept: a worker accepts all waiting connections and reads their requests before any other event.
    return written_config(
        f'location = /1 {{ return 200 "ok"; {_LOG} }} {cached}',
        http=f"{path} {asked} {server}",
        listen="deferred",
        events="worker_connections 1024; multi_accept on;",
    )


def _slow_origin(wait_ms: int, headers: str = "") -> str:
    return f"{headers} rewrite ^ /wait/{wait_ms} break; proxy_pass http://{BACKEND.upstream};"


def _expired(directives: str, cache_control: str = "") -> str:
    headers = f'add_header Cache-Control "{cache_control}"; add_header X-Accel-Expires @1;'
    return _cached(f"proxy_cache cache; {directives}", _slow_origin(RENEW_MS, headers))


def _renewed_slowly() -> str:
    headers = f"{_LOG} add_header X-Accel-Expires @1;"
    return _cached(f"proxy_cache cache; {_UPDATING} {_BACKGROUND}", _slow_origin(RENEW_SLOWLY_MS, headers))


def _slow(directives: str) -> str:
    return _cached(f"{_VALID} {directives}", _slow_origin(SLOW_MS))


ARMS: Final = arms_of(
    [
        Setting(name="updating", config=_expired(_UPDATING), script=waiting_on_expired),
        Setting(name="updating-background", config=_expired(f"{_UPDATING} {_BACKGROUND}"), script=waiting_on_expired),
        Setting(name="expired", config=_expired(""), script=waiting_on_expired),
        Setting(name="revalidate", config=_expired("", _REVALIDATE), script=waiting_on_expired),
        Setting(name="revalidate-background", config=_expired(_BACKGROUND, _REVALIDATE), script=waiting_on_expired),
        Setting(name="same-connection", config=_renewed_slowly(), script=renewed_first(SAME_CONNECTION)),
        Setting(name="another-connection", config=_renewed_slowly(), script=renewed_first(ANOTHER_CONNECTION)),
        Setting(name="slow", config=_slow(""), script=stampede),
        Setting(
            name="slow-lock-timeout",
            config=_slow("proxy_cache_lock on; proxy_cache_lock_timeout 200ms; proxy_cache_lock_age 10s;"),
            script=stampede,
        ),
        Setting(
            name="slow-lock-age",
            config=_slow("proxy_cache_lock on; proxy_cache_lock_timeout 10s; proxy_cache_lock_age 200ms;"),
            script=stampede,
        ),
        Setting(name="keys-32k", config=_cached(_VALID, _PAGE, keys="32k"), script=asked_twice),
        Setting(name="keys-1m", config=_cached(_VALID, _PAGE), script=asked_twice),
        Setting(name="restart", config=_cached(_VALID, _PAGE), script=restarted),
        Setting(name="restart-uncached", config=_cached("", _PAGE), script=restarted),
    ]
)

CLAIMS: Final = claims_of(
    "cache_updates",
    CLIENTS=CLIENTS,
    PAGES=PAGES,
)
SCENARIO: Final = Scenario(name="cache_updates", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO)
