"""Accepting and holding connections, as tuning lists recommend: multi_accept, worker_processes auto, and limits.

Directives: https://nginx.org/en/docs/ngx_core_module.html.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of, statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Connection, Flow, Step
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=ASYNCIO)
BURST: Final = 200
VISITORS: Final = 100
NEARLY_ALL: Final = 0.9
SLOTS: Final = 64
NEWCOMERS: Final = 40
OPEN_FILES: Final = 60
READERS: Final = 50

_OK: Final = 'location / { return 200 "ok"; }'


def _spread(connections: Sequence[Connection]) -> Figures:
    workers = Counter(answer.worker for answer in answers_of(connections) if answer.status)
    share = max(workers.values()) / workers.total()
    return {"busiest_share": share, "nearly_all": float(share > NEARLY_ALL)}


def _burst(rig: Rig) -> Figures:
    """Let many silent clients wait in the accept queue; count the accepted connections per epoll_wait."""
    calls = rig.behind_stopped_workers(BURST)
    accepts = calls["accept4"]
    return {
        "accepts_per_wait": (accepts.made - accepts.failed) / max(calls["epoll_wait"].made, 1),
        "accepts_in_vain": accepts.failed,
    }


def _slow_trickle(rig: Rig) -> Figures:
    """Let clients connect one after the other, so that no worker is busy when the next one connects."""
    return _spread(rig.flow(Flow(connections=VISITORS, at_once=1, close=True)))


def _one_client(rig: Rig) -> Figures:
    """Let one client send all requests on one connection, so that one worker gets them: a control for the share."""
    return _spread(rig.flow(Flow(requests=VISITORS)))


def _workers_on_one_cpu(rig: Rig) -> Figures:
    return _workers(rig, allowed_cpus=1)


def _workers_on_all_cpus(rig: Rig) -> Figures:
    return _workers(rig, allowed_cpus=rig.online_cpus())


def _workers(rig: Rig, *, allowed_cpus: int) -> Figures:
    rig.until_master_waits()
    # The last forked worker may not have its title yet.
    workers = rig.steady(lambda: len(rig.workers()))
    return {"workers": workers, "workers_per_cpu": workers / allowed_cpus, "online_cpus": rig.online_cpus()}


def _hold_many(rig: Rig) -> Figures:
    """Let more clients than worker_connections request a response that outlasts the trial; count those that get one."""
    held = rig.flow(Flow(connections=2 * SLOTS, path="/hold", read_bytes_per_s=400, then=(Step.STAY,)))
    return {"clients_served": statuses(held, 200)}


def _beside_idle(rig: Rig) -> Figures:
    """Let clients keep more idle connections than worker_connections, and let others connect."""
    return _beside(rig, Flow(connections=2 * SLOTS, path="/ok", then=(Step.STAY,)))


def _beside_busy(rig: Rig) -> Figures:
    """Let more clients than worker_connections download slowly, as far as nginx accepts them, and others connect."""
    reading = Flow(
        connections=2 * SLOTS,
        # A client that has not sent a request is not busy: nginx 1.18 closes some of those when connections run out.
        at_once=1,
        path="/4000000.bin",
        read_bytes_per_s=4000,
        receive_buffer_bytes=4096,
        then=(Step.STAY,),
    )
    return _beside(rig, reading)


def _beside(rig: Rig, first: Flow) -> Figures:
    # The other clients connect once the first connections are open.
    done = rig.flows(first, Flow(connections=NEWCOMERS, path="/ok", close=True))
    refused = NEWCOMERS - statuses(done[1], 200)
    return {"refused_share": refused / NEWCOMERS, "first_ended": sum(one.closed_by_server for one in done[0])}


def _read_files(rig: Rig) -> Figures:
    """Let clients read large files slowly; each client needs a socket and an open file."""
    readers = rig.flow(
        Flow(
            connections=READERS,
            path="/4000000.bin",
            read_bytes_per_s=20_000,
            receive_buffer_bytes=4096,
            then=(Step.STAY,),
        )
    )
    return {"served": statuses(readers, 200), "failed": READERS - statuses(readers, 200)}


def _two_workers(events: str, listen: str = "") -> str:
    return written_config(_OK, events=f"worker_connections 1024; {events}", listen=listen, workers="2")


_HELD: Final = f"location / {{ proxy_pass http://{BACKEND.upstream}; proxy_buffering off; }}"
_FILES_AND_OK: Final = 'sendfile on; location /ok { return 200 "ok"; }'
_FEW_SLOTS: Final = f"worker_connections {SLOTS};"


def _files_limit(limit: int) -> str:
    return written_config(
        "sendfile on;", main=f"worker_rlimit_nofile {limit};", events=f"worker_connections {OPEN_FILES};"
    )


ARMS: Final = arms_of(
    [
        Setting(
            name="multi-accept-on",
            config=_two_workers("multi_accept on;"),
            script=_burst,
            workers=2,
            counts_calls=True,
        ),
        Setting(
            name="multi-accept-off",
            config=_two_workers(""),
            script=_burst,
            workers=2,
            counts_calls=True,
        ),
        Setting(name="one-queue", config=_two_workers(""), script=_slow_trickle, workers=2),
        Setting(name="queue-per-worker", config=_two_workers("", "reuseport"), script=_slow_trickle, workers=2),
        Setting(name="one-client", config=_two_workers(""), script=_one_client, workers=2),
        Setting(name="auto-on-one-cpu", config=written_config(_OK, workers="auto"), script=_workers_on_one_cpu),
        Setting(
            name="auto-on-all-cpus",
            config=written_config(_OK, workers="auto"),
            script=_workers_on_all_cpus,
            every_cpu=True,
        ),
        Setting(
            name="proxied",
            config=written_config(_HELD, events=_FEW_SLOTS),
            script=_hold_many,
        ),
        Setting(
            name="static",
            config=written_config("sendfile on; location /hold { alias /srv/www/4000000.bin; }", events=_FEW_SLOTS),
            script=_hold_many,
        ),
        Setting(name="idle-clients", config=written_config(_FILES_AND_OK, events=_FEW_SLOTS), script=_beside_idle),
        Setting(name="busy-clients", config=written_config(_FILES_AND_OK, events=_FEW_SLOTS), script=_beside_busy),
        Setting(name="files-as-many-as-connections", config=_files_limit(OPEN_FILES), script=_read_files),
        Setting(name="files-three-times-as-many", config=_files_limit(3 * OPEN_FILES), script=_read_files),
    ]
)

CLAIMS: Final = claims_of("accepting", BURST=BURST, SLOTS=SLOTS)
SCENARIO: Final = Scenario(name="accepting", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
