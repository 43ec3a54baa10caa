"""How nginx treats the cached files that it finds when it starts.

Directives: https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_path.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.cache_loader_scripts import (
    CACHE,
    FILES,
    FIRST_FILES,
    PAGES,
    SURPLUS,
    Script,
    all_files,
    beyond_the_zone,
    few_files,
    too_large,
    unread,
)
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.subject.written_config import LOG, written_config
from tuneproof.proof.scenario.scenarios import Scenario

# The loader reads loader_files files without a pause, then sleeps for longer than a trial takes.
_AT_ONCE: Final = "loader_threshold=1h loader_sleep=10m loader_files="


def _cached(name: str, script: Script, *, keys: str = "20m", path: str = "", valid: str = "1d") -> Setting:
    cache = f"proxy_cache_path {CACHE} keys_zone=cache:{keys} inactive=1d {path};"
    origin = 'server { listen 127.0.0.1:9001; access_log off; location / { return 200 "ok"; } }'
    directives = f"proxy_cache cache; proxy_cache_valid 200 {valid};"
    location = f"location / {{ proxy_pass http://127.0.0.1:9001; {directives} {LOG} }}"
    return Setting(name=name, config=written_config(location, http=f"{cache} {origin}"), script=script)


ARMS: Final = arms_of(
    [
        _cached("all-files", all_files, path=f"{_AT_ONCE}{FILES}"),
        _cached("few-files", few_files, path=f"{_AT_ONCE}{PAGES}"),
        _cached("unread", unread, path=f"{_AT_ONCE}{FIRST_FILES}"),
        _cached("unread-expired", unread, path=f"{_AT_ONCE}{FIRST_FILES}", valid="1s"),
        _cached("keys-32k", beyond_the_zone, keys="32k"),
        _cached("keys-20m", beyond_the_zone),
        _cached("max-size", too_large(loads=False), path="max_size=1m"),
        _cached("max-size-loaded", too_large(loads=True), path="max_size=1m"),
    ]
)

CLAIMS: Final = claims_of("cache_loader", FILES=FILES, PAGES=PAGES, SURPLUS=SURPLUS)
SCENARIO: Final = Scenario(name="cache_loader", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO)
