"""An upstream's name with a changing address: which configurations follow it without a reload, and at what cost.

Directives: https://nginx.org/en/docs/http/ngx_http_core_module.html#resolver, and ``resolve`` in
https://nginx.org/en/docs/http/ngx_http_upstream_module.html#server.
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import HALF, Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Counted, Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.protocol.scripted import Reply, Seen
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.backends import PORT, SCRIPTED, Backend
from tuneproof.proof.scenario.scenarios import Scenario

NAME: Final = "app.test"
# The first backend is also the DNS server.
OLD: Final = "backend"
NEW: Final = "second"
ASKED: Final = 20
# Docker's own resolver answers with this TTL for every container (https://github.com/moby/moby/issues/30029).
TTL_S: Final = 600
# nginx counts in whole seconds: with valid=1s, it queries again after two seconds at the latest.
LATER_S: Final = 2.1

_REUSE: Final = 'proxy_http_version 1.1; proxy_set_header Connection "";'
_RESOLVER: Final = f"resolver {OLD} ipv6=off"


def _named(rig: Rig, owner: str) -> None:
    rig.backend().name({NAME: rig.address(owner), OLD: rig.address(OLD)}, TTL_S)


def _resolve_by_backend(rig: Rig) -> Figures:
    """Let the system's resolver query the backend for the name that nginx resolves when it starts."""
    _named(rig, OLD)
    rig.resolve_by(OLD)
    return {}


def moved(*, asks_by_itself: bool = False, later_s: float = LATER_S) -> Callable[[Rig], Figures]:
    """Return the script: the name gets another address; count later requests by address, and DNS queries."""

    def script(rig: Rig) -> Figures:
        for name in (OLD, NEW):
            rig.backend(name).play((Reply(),))
        rig.ok(rig.flow(Flow()), requests=1)
        rig.must(len(_seen(rig, OLD).requests) == 1, "the first request did not go to the first address")
        _named(rig, NEW)
        try:
            return _asked_later(rig, asks_by_itself=asks_by_itself, later_s=later_s)
        finally:
            # The next trial's nginx resolves the name when it starts.
            _named(rig, OLD)

    return script


def _asked_later(rig: Rig, *, asks_by_itself: bool, later_s: float) -> Figures:
    before = _seen(rig, OLD)
    if asks_by_itself:
        rig.wait_until(lambda: len(_seen(rig, OLD).names) > len(before.names), "did not ask for the name again")
        rig.rest()
    else:
        rig.wait(later_s)
    before = _seen(rig, OLD)
    with rig.before(HALF * ASKED, "one query per second would add up to one for every two requests"):
        rig.ok(rig.flow(Flow(requests=ASKED)), requests=ASKED)
    old, new = _seen(rig, OLD), _seen(rig, NEW)
    followed = len(new.requests)
    rig.must(followed + len(old.requests) - len(before.requests) == ASKED, "requests went elsewhere")
    rig.fresh_workers()
    rig.ok(rig.flow(Flow(requests=ASKED)), requests=ASKED)
    return {
        "followed_share": followed / ASKED,
        "stale_share": 1 - followed / ASKED,
        "followed_after_reload_share": (len(_seen(rig, NEW).requests) - followed) / ASKED,
        "connections": new.connections + old.connections - before.connections,
        "queries_per_request": (len(old.names) - len(before.names)) / ASKED,
    }


def _seen(rig: Rig, name: str) -> Seen:
    return rig.backend(name).seen()


def _variable(resolver: str, name: str = NAME) -> str:
    return written_config(f"location / {{ {resolver}; set $app {name}; proxy_pass http://$app:{PORT}; {_REUSE} }}")


def _block(server: str, location: str = "") -> str:
    upstream = f"upstream app {{ {server} keepalive 16; }}"
    return written_config(f"location / {{ {location} proxy_pass http://app; {_REUSE} }}", http=upstream)


ARMS: Final = arms_of(
    [
        Setting(
            name="name",
            config=written_config(f"location / {{ proxy_pass http://{NAME}:{PORT}; {_REUSE} }}"),
            script=moved(),
        ),
        Setting(
            name="resolver-beside-block",
            config=_block(f"server {NAME}:{PORT};", f"{_RESOLVER} valid=1s;"),
            script=moved(),
        ),
        Setting(name="variable", config=_variable(f"{_RESOLVER} valid=1s"), script=moved()),
        Setting(name="variable-without-valid", config=_variable(_RESOLVER), script=moved()),
        Setting(
            name="resolve",
            config=_block(f"zone app 64k; {_RESOLVER} valid=1s; server {NAME}:{PORT} resolve;"),
            script=moved(asks_by_itself=True),
        ),
        Setting(
            name="name-of-each-request",
            config=_variable(f"{_RESOLVER} valid=1s", f"$request_id.{NAME}"),
            script=moved(later_s=0),
        ),
    ]
)

CLAIMS: Final = claims_of("upstream_names", TTL_S=TTL_S, ASKED=ASKED)
SCENARIO: Final = Scenario(
    name="upstream_names",
    arms=ARMS,
    claims=CLAIMS,
    backends=(Backend(name=OLD, kind=SCRIPTED), Backend(name=NEW, kind=SCRIPTED)),
    # This does not start an nginx, but lets every later one resolve the name.
    warm_up=Counted(script=_resolve_by_backend, starts=False),
)

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO, headlines=("names_are_resolved_once",))
