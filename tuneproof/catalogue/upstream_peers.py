"""Upstreams as in tuning lists: retries, the size of the keepalive cache, names in variables, shared state.

Directives: https://nginx.org/en/docs/http/ngx_http_upstream_module.html, and proxy_next_upstream in
https://nginx.org/en/docs/http/ngx_http_proxy_module.html.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import LOG, written_config
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=ASYNCIO)
REUSE: Final = 'proxy_http_version 1.1; proxy_set_header Connection "";'

# Two peers that are servers of the same nginx, each healthy except for one path.
_PEERS: Final = """
server { listen 127.0.0.1:9001; location /bad { return 500; } location / { return 200 "ok"; } }
server { listen 127.0.0.1:9002; location /bad { return 500; } location / { return 200 "ok"; } }
"""
ASKED_AFTERWARDS: Final = 20
AT_ONCE: Final = 32
REQUESTS_EACH: Final = 20
VISITORS: Final = 80
WORKERS: Final = 4
# The default (https://nginx.org/en/docs/http/ngx_http_upstream_module.html#fail_timeout).
FAIL_TIMEOUT_S: Final = 10
RETRIED: Final = "nginx tries a failed server again"
_DEAD_S: Final = 60


def _two_peers(options: str, location: str) -> str:
    block = f"upstream peers {{ server 127.0.0.1:9001 {options}; server 127.0.0.1:9002 {options}; }}"
    return written_config(f"location / {{ proxy_pass http://peers; {location} }}", http=_PEERS + block)


_LIST: Final = "proxy_next_upstream error timeout http_500 http_502 http_503 http_504;"


def _two_bad_requests(rig: Rig) -> Figures:
    with rig.before(FAIL_TIMEOUT_S, RETRIED):
        rig.flow(Flow(requests=2, path="/bad"))
        after = rig.flow(Flow(requests=ASKED_AFTERWARDS, path="/ok"))
    return {"bad_gateways": statuses(after, 502), "ok": statuses(after, 200)}


def _kept(connections: int) -> str:
    return written_config(
        f"location / {{ proxy_pass http://kept; {REUSE} }}",
        http=f"upstream kept {{ server {BACKEND.upstream}; keepalive {connections}; }}",
    )


def _requests_at_once(rig: Rig) -> Figures:
    before = rig.counters()["Tcp.ActiveOpens"]
    answered = rig.ok(rig.flow(Flow(connections=AT_ONCE, requests=REQUESTS_EACH)), requests=AT_ONCE * REQUESTS_EACH)
    return {"upstream_connects": rig.counters()["Tcp.ActiveOpens"] - before, "ok": answered}


def _one_after_another(rig: Rig) -> Figures:
    before = rig.counters()["Tcp.ActiveOpens"]
    answered = rig.ok(rig.flow(Flow(requests=AT_ONCE)), requests=AT_ONCE)
    return {"upstream_connects": rig.counters()["Tcp.ActiveOpens"] - before, "ok": answered}


def _by_name(server: str) -> str:
    block = f"upstream named {{ server {BACKEND.upstream}; keepalive 16; }}"
    return written_config(f"location / {{ {server} {REUSE} }}", http=f"resolver 127.0.0.11;\n{block}")


def _one_dead_peer(zone: str) -> str:
    # Nothing listens on the first peer's port.
    block = (
        f"upstream peers {{ {zone} server 127.0.0.1:9 max_fails=3 fail_timeout={_DEAD_S}s; server 127.0.0.1:9001; }}"
    )
    return written_config(
        f"location / {{ proxy_pass http://peers; {LOG} }}",
        http=_PEERS + block,
        listen="reuseport",
        workers=str(WORKERS),
    )


def _visits(rig: Rig) -> Figures:
    with rig.before(_DEAD_S, RETRIED):
        answered = rig.ok(rig.flow(Flow(connections=VISITORS, at_once=1, close=True)), requests=VISITORS)
    rig.rest()
    tried = sum("127.0.0.1:9," in line["upstream"] for line in rig.access_log())
    return {"tries_of_the_dead_peer": tried, "ok": answered}


ARMS: Final = arms_of(
    [
        Setting(name="5xx-listed", config=_two_peers("", _LIST), script=_two_bad_requests),
        Setting(name="5xx-not-listed", config=_two_peers("", ""), script=_two_bad_requests),
        Setting(name="5xx-listed-max-fails-0", config=_two_peers("max_fails=0", _LIST), script=_two_bad_requests),
        Setting(name="keepalive-2", config=_kept(2), script=_requests_at_once),
        Setting(name="keepalive-64", config=_kept(64), script=_requests_at_once),
        Setting(
            name="variable",
            config=_by_name(f"set $backend {BACKEND.upstream}; proxy_pass http://$backend;"),
            script=_one_after_another,
        ),
        Setting(
            name="variable-names-upstream",
            config=_by_name("set $backend named; proxy_pass http://$backend;"),
            script=_one_after_another,
        ),
        Setting(name="upstream-block", config=_by_name("proxy_pass http://named;"), script=_one_after_another),
        Setting(name="without-zone", config=_one_dead_peer(""), script=_visits, workers=WORKERS),
        Setting(name="with-zone", config=_one_dead_peer("zone peers 64k;"), script=_visits, workers=WORKERS),
    ]
)

CLAIMS: Final = claims_of("upstream_peers", AT_ONCE=AT_ONCE, WORKERS=WORKERS)
SCENARIO: Final = Scenario(name="upstream_peers", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("listed_5xx_take_the_service_down",),
)
