"""Requests that fail at once, with one cause per trial, and their diagnosis from files that include an error log."""

from collections.abc import Mapping
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.differential_diagnosis import (
    FILES_BACKEND,
    HEALTHY_LOAD,
    NINE_IN_TEN,
    SLOW_BACKEND,
    arm,
    is_right,
)
from tuneproof.catalogue.recorded import RecordedObservation
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.lab.load.counted import Counted, Figures
from tuneproof.lab.load.http_load import HttpLoad
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow, Step
from tuneproof.lab.protocol.scripted import Reply
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.backends import SCRIPTED, Backend
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

CLIENTS: Final = 20
LEVEL: Final = "notice"
DYING_BACKEND: Final = Backend(name="dying", kind=SCRIPTED)


def reload(rig: Rig) -> Figures:
    """Reload nginx while connections are idle, and send another request on each, which crosses the close."""
    old = {worker.pid for worker in rig.workers()}
    with rig.standing(Flow(connections=CLIENTS, requests=2, then=(Step.STAY, Step.ASK))):
        rig.rest()
        rig.signal("HUP")
        rig.until_they_leave(old)
    return {}


def ask_twice(rig: Rig) -> Figures:
    """Let the backend close each connection at its second request."""
    rig.backend(DYING_BACKEND.name).play((Reply(body="ok", answers=1),))
    rig.flow(Flow(connections=4 * CLIENTS, at_once=4, method="POST", body_bytes=10))
    return {}


HEALTHY: Final = arm(
    "healthy",
    Subject(name="files", config=SubjectConfig(upstream=FILES_BACKEND.upstream, error_log_level=LEVEL)),
    HEALTHY_LOAD,
)
NO_PORT: Final = arm(
    "no-port",
    Subject(
        name="four-ports",
        config=SubjectConfig(upstream=SLOW_BACKEND.upstream, error_log_level=LEVEL),
        sysctls={"net.ipv4.ip_local_port_range": "61000 61003"},
    ),
    HttpLoad(concurrency=20, requests=200, path="/wait/50"),
)
KEPT_CONNECTION_CLOSED: Final = arm(
    "kept-connection-closed",
    Subject(
        name="keeps-connections",
        config=SubjectConfig(
            upstream=DYING_BACKEND.upstream,
            upstream_block=("keepalive 8",),
            location=("proxy_http_version 1.1", 'proxy_set_header Connection ""'),
            error_log_level=LEVEL,
        ),
    ),
    Counted(script=ask_twice, starts=False),
    look_after_s=None,
)
RELOAD: Final = arm("reload", HEALTHY.subject, Counted(script=reload, starts=False), look_after_s=None)
NO_LIVE_UPSTREAM: Final = arm(
    "no-live-upstream",
    Subject(
        name="server-down",
        config=SubjectConfig(upstream=f"{FILES_BACKEND.upstream} down", upstream_block=(), error_log_level=LEVEL),
    ),
    HEALTHY_LOAD,
)

DIAGNOSES: Final[Mapping[str, tuple[Cause, ...]]] = {
    HEALTHY.name: (),
    NO_PORT.name: (Cause.NO_PORT,),
    KEPT_CONNECTION_CLOSED.name: (Cause.KEPT_CONNECTION_CLOSED,),
    RELOAD.name: (Cause.RELOAD,),
    NO_LIVE_UPSTREAM.name: (Cause.NO_LIVE_UPSTREAM,),
}


def _claim(built: Arm[RecordedObservation], sentence: str, source: str) -> Claim[RecordedObservation]:
    name = built.name
    return Claim(
        name=f"diagnoses_{name.replace('-', '_')}",
        sentence=sentence,
        source=source,
        arms=(name,),
        effect=lambda block: is_right(block[name], DIAGNOSES[name]),
        effect_name="right diagnoses",
        scale=Scale.SHARE,
        threshold=NINE_IN_TEN.right_share,
        why=NINE_IN_TEN.why,
        own_looks=NINE_IN_TEN.looks,
        turned_by={name: HEALTHY.name},
    )


SCENARIO: Final = Scenario(
    name="diagnosis_of_failures",
    arms=(HEALTHY, NO_PORT, KEPT_CONNECTION_CLOSED, RELOAD, NO_LIVE_UPSTREAM),
    claims=(
        _claim(
            NO_PORT,
            'explain diagnoses "Cannot assign requested address" as a lack of local ports',
            "engintron/engintron#938",
        ),
        _claim(
            KEPT_CONNECTION_CLOSED,
            'explain diagnoses "upstream prematurely closed connection" as a stale keepalive connection',
            "jetty/jetty.project#2306",
        ),
        _claim(RELOAD, "explain attributes requests that a reload resets to the reload", "nginx/nginx#437"),
        _claim(
            NO_LIVE_UPSTREAM,
            'explain diagnoses "no live upstreams" when every server is marked down',
            "nginx-proxy/nginx-proxy#1495",
        ),
    ),
    backends=(FILES_BACKEND, SLOW_BACKEND, DYING_BACKEND),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    # These claims are about explain, not about nginx.
    full_depth=tuple(claim.name for claim in SCENARIO.claims),
)
