"""Serving files as tuning lists recommend: sendfile, tcp_nopush, open_file_cache, threads, logs and compression.

Directives: https://nginx.org/en/docs/http/ngx_http_core_module.html.
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.catalogue.serving_files_scripts import (
    LARGE,
    REQUESTS,
    SMALL,
    VALID_S,
    calls_of,
    compressed,
    grow,
    not_found,
    segments,
)
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.config import ACCESS_LOG_PATH
from tuneproof.lab.subject.written_config import CERTIFICATE, TLS_PORT, written_config
from tuneproof.proof.scenario.scenarios import Scenario

LOGGED: Final = 100

_SENDFILE: Final = "sendfile on; tcp_nopush on;"
_PLAIN: Final = calls_of(Flow(path=SMALL, requests=REQUESTS))
_LARGE: Final = calls_of(Flow(path=LARGE, requests=REQUESTS))
_LOGGED: Final = calls_of(Flow(path=SMALL, requests=LOGGED))
_GZIPPED: Final = calls_of(Flow(path="/text.txt", requests=REQUESTS, headers={"Accept-Encoding": "gzip"}))
_ALIAS: Final = "location /changing/ { alias /var/lib/subject/changing/; }"
_TLS: Final = f"server {{ listen {TLS_PORT} ssl; {CERTIFICATE} }}"
_ITSELF: Final = "server { listen 127.0.0.1:9001; sendfile off; }"
_CACHE: Final = f"open_file_cache max=1000 inactive=20s; open_file_cache_valid {VALID_S}s;"


def _counting(name: str, config: str, script: Callable[[Rig], Figures] = _PLAIN) -> Setting:
    return Setting(name=name, config=config, script=script, counts_calls=True)


def _gzip(level: int) -> Setting:
    config = written_config(f"gzip on; gzip_types *; gzip_comp_level {level};")
    return Setting(name=f"gzip-{level}", config=config, script=compressed)


def _log(name: str, log: str) -> Setting:
    return _counting(name, written_config(f"sendfile on; access_log {log};"), _LOGGED)


ARMS: Final = arms_of(
    [
        _counting("plain-file", written_config(_SENDFILE)),
        _counting(
            "tls",
            written_config("", http=f"{_SENDFILE} {_TLS}"),
            calls_of(Flow(path=SMALL, requests=REQUESTS, tls=True), port=TLS_PORT),
        ),
        _counting("gzip", written_config(f"{_SENDFILE} gzip on; gzip_types *;"), _GZIPPED),
        _counting(
            "proxied",
            written_config(f"{_SENDFILE} location / {{ proxy_pass http://127.0.0.1:9001; }}", http=_ITSELF),
        ),
        _counting("sendfile-alone", written_config("sendfile on;")),
        _counting("sendfile-off", written_config("")),
        Setting(name="segments-sendfile", config=written_config("sendfile on;"), script=segments),
        Setting(name="segments-nopush", config=written_config(_SENDFILE), script=segments),
        Setting(name="segments-off", config=written_config(""), script=segments),
        _counting("file-cache", written_config(f"{_SENDFILE} {_CACHE}")),
        Setting(name="grown-cached", config=written_config(f"{_ALIAS} {_CACHE}"), script=grow),
        Setting(name="grown", config=written_config(_ALIAS), script=grow),
        _counting("threads", written_config("aio threads; output_buffers 2 64k;"), _LARGE),
        _counting("no-threads", written_config("output_buffers 2 64k;"), _LARGE),
        _counting("gzip-static", written_config(f"{_SENDFILE} gzip_static on;"), _GZIPPED),
        _counting("no-gzip-static", written_config(_SENDFILE), _GZIPPED),
        _log("log-each", ACCESS_LOG_PATH),
        _log("log-buffered", f"{ACCESS_LOG_PATH} combined buffer=32k flush=1m"),
        _log("log-by-host", "/var/log/subject/$host.log"),
        _log("log-off", "off"),
        Setting(name="not-found", config=written_config(""), script=not_found),
        Setting(name="not-found-off", config=written_config("log_not_found off;"), script=not_found),
        Setting(name="gzip-html-only", config=written_config("gzip on;"), script=compressed),
        _gzip(1),
        _gzip(5),
        _gzip(9),
    ]
)


CLAIMS: Final = claims_of("serving_files", REQUESTS=REQUESTS)
SCENARIO: Final = Scenario(name="serving_files", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("sendfile_serves_https", "open_file_cache_cuts_grown_files"),
)
