"""The distribution of requests among servers: with and without a zone, and with slow, broken, full and dead servers.

The servers belong to the same nginx, each on its own port; slow or endless responses come from a backend.
Directives: https://nginx.org/en/docs/http/ngx_http_upstream_module.html.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.catalogue.load_balancing_scripts import (
    AT_ONCE,
    CLIENTS,
    FAIL_TIMEOUT_S,
    HELD,
    KEYS,
    MAX_CONNS,
    SERVERS,
    WAIT_MS,
    WORKERS,
    at_once,
    busiest,
    held,
    in_turn,
    moved_keys,
    network,
    tried_again,
)
from tuneproof.lab.subject.config import ACCESS_LOG_PATH
from tuneproof.lab.subject.written_config import LOG, written_config
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=ASYNCIO)

# Responses begin at once, even endless ones.
_PASSED_ON: Final = f"proxy_pass http://{BACKEND.upstream}; proxy_buffering off;"
_AT_ONCE: Final = 'return 200 "ok";'
_BROKEN: Final = "return 500;"
_SLOWLY: Final = f"proxy_pass http://{BACKEND.upstream}/wait/{WAIT_MS};"
_FIRST_PORT: Final = 9001
_DEAD: Final = "127.0.0.1:9"  # no listener there
_KEYED: Final = """log_format keyed escape=json '{"uri":"$uri","key":"$arg_k","upstream":"$upstream_addr"}';"""


def servers(*answers: str) -> str:
    """Return servers with these responses, each on its own port."""
    return " ".join(
        f"server {{ listen 127.0.0.1:{port}; access_log off; location / {{ {answer} }} }}"
        for port, answer in enumerate(answers, _FIRST_PORT)
    )


def upstream(method: str, *peers: str, name: str = "peers") -> str:
    """Return an upstream block with these servers, and with a method unless ``method`` is empty."""
    return f"upstream {name} {{ {method} {' '.join(f'server {peer};' for peer in peers)} }}"


def addresses(number: int) -> list[str]:
    """Return the addresses of the first ``number`` servers that :func:`servers` returns."""
    return [f"127.0.0.1:{port}" for port in range(_FIRST_PORT, _FIRST_PORT + number)]


_TO_PEERS: Final = f"location / {{ proxy_pass http://peers; proxy_buffering off; {LOG} }}"


def _spread(name: str, method: str) -> Setting:
    http = servers(*[_PASSED_ON] * SERVERS) + upstream(method, *addresses(SERVERS))
    config = written_config(_TO_PEERS, http=http, listen="reuseport", workers=str(WORKERS))
    return Setting(name=name, config=config, script=busiest, workers=WORKERS)


def _full(name: str, zone: str) -> Setting:
    http = servers(_PASSED_ON) + upstream(zone, f"{addresses(1)[0]} max_conns={MAX_CONNS}")
    config = written_config(_TO_PEERS, http=http, listen="reuseport", workers=str(WORKERS))
    return Setting(name=name, config=config, script=held, workers=WORKERS)


def _overflowing(name: str, first: str = "", second: str = "") -> Setting:
    one, other = addresses(2)
    peers = [f"{one} {first}", *([f"{other} {second}"] if second else [])]
    http = servers(_SLOWLY, _SLOWLY) + upstream("", *peers)
    return Setting(name=name, config=written_config(_TO_PEERS, http=http, listen="deferred"), script=at_once)


def _unequal(name: str, method: str, *answers: str) -> Setting:
    http = servers(*answers) + upstream(method, *addresses(2))
    return Setting(name=name, config=written_config(_TO_PEERS, http=http), script=in_turn)


def _changed(name: str, method: str, before: list[str], after: list[str]) -> Setting:
    http = (
        servers(*[_AT_ONCE] * 5)
        + upstream(method, *before, name="before")
        + upstream(method, *after, name="after")
        + _KEYED
    )
    locations = "".join(
        f"location /{each} {{ proxy_pass http://{each}; access_log {ACCESS_LOG_PATH} keyed; }}"
        for each in ("before", "after")
    )
    return Setting(name=name, config=written_config(locations, http=http), script=moved_keys)


def _of_network(name: str, method: str) -> Setting:
    balancer = (
        "server { listen 127.0.0.1:9000; set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For; "
        f"location / {{ proxy_pass http://peers; {LOG} }} }}"
    )
    http = servers(_AT_ONCE, _AT_ONCE) + upstream(method, *addresses(2)) + balancer
    proxy = "location / { proxy_set_header X-Forwarded-For 192.0.2.$arg_c; proxy_pass http://127.0.0.1:9000; }"
    return Setting(name=name, config=written_config(proxy, http=http), script=network)


def _dead(name: str, max_fails: int) -> Setting:
    dead = f"{_DEAD} max_fails={max_fails} fail_timeout={FAIL_TIMEOUT_S}s"
    http = servers(_AT_ONCE) + upstream("", dead, *addresses(1))
    return Setting(name=name, config=written_config(_TO_PEERS, http=http), script=tried_again)


_ZONE: Final = "zone peers 64k;"
_KEY: Final = "hash $arg_k;"

ARMS: Final = arms_of(
    [
        _spread("round-robin", ""),
        _spread("round-robin-zone", _ZONE),
        _spread("least-conn", "least_conn;"),
        _spread("least-conn-zone", f"{_ZONE} least_conn;"),
        _spread("random-two-zone", f"{_ZONE} random two least_conn;"),
        _full("max-conns", ""),
        _full("max-conns-zone", _ZONE),
        _overflowing("above-max-conns", f"max_conns={MAX_CONNS}"),
        _overflowing("no-max-conns"),
        _overflowing("max-conns-backup", f"max_conns={MAX_CONNS}", "backup"),
        _overflowing("backup", "", "backup"),
        _unequal("round-robin-broken", "", _SLOWLY, _BROKEN),
        _unequal("least-conn-broken", "least_conn;", _SLOWLY, _BROKEN),
        _unequal("round-robin-slow", "", _AT_ONCE, _SLOWLY),
        _unequal("least-conn-slow", "least_conn;", _AT_ONCE, _SLOWLY),
        _changed("hash-added", _KEY, addresses(4), addresses(5)),
        _changed("hash-consistent-added", "hash $arg_k consistent;", addresses(4), addresses(5)),
        _changed("hash-failed", _KEY, addresses(4), [*addresses(3), f"{_DEAD} fail_timeout=60s"]),
        _changed("hash-removed", _KEY, addresses(4), addresses(3)),
        _of_network("ip-hash", "ip_hash;"),
        _of_network("hash-address", "hash $remote_addr;"),
        _dead("max-fails-3", 3),
        _dead("max-fails-0", 0),
    ]
)

CLAIMS: Final = claims_of(
    "load_balancing",
    WORKERS=WORKERS,
    SERVERS=SERVERS,
    HELD=HELD,
    AT_ONCE=AT_ONCE,
    MAX_CONNS=MAX_CONNS,
    KEYS=KEYS,
    CLIENTS=CLIENTS,
)
SCENARIO: Final = Scenario(name="load_balancing", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO, headlines=("least_conn_needs_a_zone",))
